//! Identifiers among the stored values of all visits of a page.

use std::cmp::Reverse;

use crate::watch::visit::{StoredValue, Visit};

use super::bits::{bits, parts};
use super::classes::set_bits;

const MIN_BITS: f64 = 24.0;
/// The least bits of values that are an identifier together, and of each of them.
const MIN_BITS_TOGETHER: f64 = 32.0;
const MIN_PART_BITS: f64 = 3.0;
/// The least rest of a cookie's life, in seconds. A cookie of exactly a day has lost a second when it is read.
const MIN_LIFETIME_S: f64 = 86_400.0 - 60.0;

/// Entries of another profile with which a value is compared whose name that profile does not have.
const MAX_ALIKE: usize = 8;

/// The values of one fresh profile.
pub struct Profile {
    visit: Visit,
    has_chosen: bool,
    is_repeated: bool,
    stored: Vec<StoredValue>,
    /// The values that are leaks if they identify.
    suspects: Vec<StoredValue>,
}

/// The values of all fresh profiles of a page.
#[derive(Default)]
pub struct Profiles(Vec<Profile>);

pub fn is_lasting(value: &StoredValue) -> bool {
    let is_choice = value.store == "local_storage" && value.name.starts_with("assent:")
        || value.store == "cookie" && value.name == "assent";
    let lasts = match value.store {
        "cookie" => value.lifetime_s.is_some_and(|seconds| seconds >= MIN_LIFETIME_S),
        store => store != "session_storage",
    };
    lasts && !value.is_session && !is_choice
}

impl Profiles {
    pub fn add(
        &mut self,
        visit: Visit,
        has_chosen: bool,
        stored: Vec<StoredValue>,
        suspects: Vec<StoredValue>,
    ) {
        let is_repeated = self.0.iter().any(|known| known.visit == visit);
        self.0.push(Profile { visit, has_chosen, is_repeated, stored, suspects });
    }

    /// The bits of a value of a visit that differ from the same entry in all other fresh profiles, or from the most
    /// similar entries where no other profile has it.
    pub fn bits(&self, visit: Visit, value: &StoredValue) -> f64 {
        let own = self.0.iter().find(|profile| profile.visit == visit);
        let others = self.0.iter().filter(|other| other.visit != visit || other.is_repeated);
        let others = others.collect::<Vec<_>>();
        let same = others.iter().filter_map(|other| same_entry(value, other));
        let same = same.map(String::as_str).collect::<Vec<_>>();
        if !same.is_empty() {
            return bits(&value.value, &same);
        }
        // A name that no other profile has is compared together with its value.
        let alike = others.iter().filter_map(|other| most_alike(value, own, other));
        let alike = alike.collect::<Vec<_>>();
        if alike.is_empty() {
            return bits(&value.value, &[]);
        }
        bits(&named(value), &alike.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Whether a value is an identifier, and its bits.
    pub fn identifier(&self, visit: Visit, value: &StoredValue) -> Option<f64> {
        let bits = is_lasting(value).then(|| self.bits(visit, value))?;
        (bits >= MIN_BITS).then_some(bits)
    }

    /// Values of one owner and store that only together are an identifier, and their bits.
    pub fn together<'v>(&self, values: &[&'v StoredValue]) -> Vec<(&'v StoredValue, f64)> {
        let small = values.iter().map(|value| (*value, self.small_bits(value)));
        let small = small.filter(|(_, bits)| *bits >= MIN_PART_BITS).collect::<Vec<_>>();
        let is_enough = |value: &StoredValue| {
            let of_it = small
                .iter()
                .filter(|(other, _)| (&other.owner, other.store) == (&value.owner, value.store));
            of_it.map(|(_, bits)| bits).sum::<f64>() >= MIN_BITS_TOGETHER
        };
        small.iter().copied().filter(|(value, _)| is_enough(value)).collect()
    }

    /// The bits of a short value, from how often profiles share it. Times do not count.
    fn small_bits(&self, value: &StoredValue) -> f64 {
        let of_profile = |profile: &Profile| {
            let found = profile.stored.iter().find(|stored| stored.is_same_entry(value));
            found.map(|stored| stored.value.clone())
        };
        let all = self.0.iter().filter_map(of_profile).collect::<Vec<_>>();
        let others = all.iter().filter(|other| **other != value.value).map(String::as_str);
        let others = others.collect::<Vec<_>>();
        if others.len() < 2 {
            return 0.0;
        }
        let pairs = (0..all.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let equal = pairs.filter(|&(one, other)| all[one] == all[other]).count();
        parts(&value.value, &others).0.min(set_bits(all.len(), equal))
    }

    /// Visits that went the same way until now store the same values, unless these identify.
    fn stage(profile: &Profile) -> Option<Visit> {
        match profile.visit {
            Visit::Gpc | Visit::Blocked => Some(profile.visit),
            Visit::Returning if profile.has_chosen => Some(Visit::Declined),
            visit if profile.has_chosen => Some(visit),
            _ => Some(Visit::Untouched),
        }
    }
}

fn common_start(one: &str, two: &str) -> usize {
    one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count()
}

fn named(value: &StoredValue) -> String {
    format!("{} {}", value.name, value.value)
}

/// The most similar value of the same entry in another profile.
fn same_entry<'p>(value: &StoredValue, other: &'p Profile) -> Option<&'p String> {
    let same = other.stored.iter().filter(|stored| stored.is_same_entry(value));
    let same = same.map(|stored| (bits(&value.value, &[stored.value.as_str()]), &stored.value));
    same.min_by(|one, two| one.0.total_cmp(&two.0)).map(|(_, same)| same)
}

/// The most similar entry of the same owner and store whose name the first profile does not have.
fn most_alike(value: &StoredValue, own: Option<&Profile>, other: &Profile) -> Option<String> {
    let has = |stored: &StoredValue| {
        own.is_some_and(|own| own.stored.iter().any(|known| known.is_same_entry(stored)))
    };
    let alike = other.stored.iter().filter(|stored| {
        stored.owner == value.owner && stored.store == value.store && !has(stored)
    });
    let mut alike = alike.collect::<Vec<_>>();
    if alike.len() > MAX_ALIKE {
        alike.sort_by_cached_key(|stored| Reverse(common_start(&stored.name, &value.name)));
        alike.truncate(MAX_ALIKE);
    }
    let text = named(value);
    let alike = alike.into_iter().map(named).map(|other| (bits(&text, &[&other]), other));
    alike.min_by(|one, two| one.0.total_cmp(&two.0)).map(|(_, other)| other)
}

/// A visit that must be repeated, because some of its values may be the same whenever somebody does the same.
pub fn unconfirmed(profiles: &Profiles) -> Option<Visit> {
    let all = &profiles.0;
    let stages = all.iter().map(Profiles::stage).collect::<Vec<_>>();
    // A visit that failed has no values to compare.
    let is_twin = |at: usize, other: usize| {
        other != at && stages[other] == stages[at] && !all[other].stored.is_empty()
    };
    let has_twin = |at: usize| (0..all.len()).any(|other| is_twin(at, other));
    let identifying = |at: usize| {
        let profile = &all[at];
        profile
            .suspects
            .iter()
            .filter(move |value| profiles.identifier(profile.visit, value).is_some())
    };
    let confirmed = (0..all.len()).filter(|&at| has_twin(at)).flat_map(identifying);
    let confirmed = confirmed.collect::<Vec<_>>();
    let open = (0..all.len()).filter(|&at| !all[at].is_repeated && !has_twin(at)).find(|&at| {
        identifying(at).any(|value| !confirmed.iter().any(|known| known.is_same_entry(value)))
    });
    open.map(|at| all[at].visit)
}
