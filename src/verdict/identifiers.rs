//! Identifiers among the stored values of all visits of a page.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::visit::{StoredValue, Visit};

use super::bits::{bits, bits_alone, parts};
use super::classes::{is_bucket, set_bits};
use super::profile::{Profile, UnmatchedEntries};
use super::tokens::tokens;

pub const MIN_BITS: f64 = 24.0;
/// Minimum bits of values that are an identifier only together: of all of them, and of each.
const MIN_BITS_TOGETHER: f64 = 32.0;
const MIN_PART_BITS: f64 = 3.0;
/// Minimum remaining lifetime of a cookie, in seconds. A cookie for exactly a day has lost a second when it is read.
const MIN_LIFETIME_S: f64 = 86_400.0 - 60.0;

/// The values of all fresh profiles of a page.
#[derive(Default)]
pub struct Profiles(Vec<Profile>);

/// A visit, and the other fresh profiles with which it is compared.
pub struct Compared<'p> {
    own: Option<&'p Profile>,
    others: Vec<&'p Profile>,
    /// The values of the other profiles whose entries the visit lacks. Computed lazily: most pages never need them.
    unmatched: OnceCell<Vec<UnmatchedEntries<'p>>>,
}

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
        self.0.push(Profile::new(visit, has_chosen, is_repeated, stored, suspects));
    }

    pub fn compared(&self, visit: Visit) -> Compared<'_> {
        let own = self.0.iter().find(|profile| profile.visit == visit);
        let others = self.0.iter().filter(|other| other.visit != visit || other.is_repeated);
        Compared { own, others: others.collect(), unmatched: OnceCell::new() }
    }

    /// Values that are an identifier only together with others of the same owner and store, and their bits.
    pub fn together<'v>(&self, values: &[&'v StoredValue]) -> Vec<(&'v StoredValue, f64)> {
        let small = values.iter().map(|value| (*value, self.small_bits(value)));
        let mut small = small.filter(|(_, bits)| *bits >= MIN_PART_BITS).collect::<Vec<_>>();
        let mut sums = HashMap::new();
        for (value, bits) in &small {
            *sums.entry((value.owner.as_str(), value.store)).or_insert(0.0_f64) += bits;
        }
        small.retain(|(value, _)| sums[&(value.owner.as_str(), value.store)] >= MIN_BITS_TOGETHER);
        small
    }

    /// The bits of a short value, from how often profiles share it. Times, durations and small buckets do not count.
    fn small_bits(&self, value: &StoredValue) -> f64 {
        let all = self.0.iter().filter_map(|profile| profile.of_entry(value).next());
        let all = all.map(|stored| stored.value.as_str()).collect::<Vec<_>>();
        let others = all.iter().filter(|other| **other != value.value).copied();
        let others = others.collect::<Vec<_>>();
        if others.len() < 2 {
            return 0.0;
        }
        let bits = parts(&value.name, &value.value, &others).0.min(set_bits(&all));
        if bits >= MIN_PART_BITS && are_buckets(&all) { 0.0 } else { bits }
    }

    /// The stage of a visit. Visits at the same stage took the same steps, and store equal values except identifiers.
    fn stage(profile: &Profile) -> Option<Visit> {
        match profile.visit {
            Visit::Gpc | Visit::Blocked => Some(profile.visit),
            Visit::Returning if profile.has_chosen => Some(Visit::Declined),
            visit if profile.has_chosen => Some(visit),
            _ => Some(Visit::Untouched),
        }
    }
}

impl Compared<'_> {
    /// The bits of a value that differ from the same entry in all other fresh profiles, or from the most similar entries
    /// where no other profile has it.
    pub fn bits(&self, value: &StoredValue) -> f64 {
        self.bits_or(value, bits_alone)
    }

    /// Like `bits`; `alone` returns the bits of an entry that no other profile has.
    fn bits_or(&self, value: &StoredValue, alone: fn(&str, &[&str]) -> f64) -> f64 {
        let same = self.others.iter().filter_map(|other| {
            let texts = other.same_entry(value).into_iter().map(|stored| stored.value.as_str());
            most_alike(&value.value, texts.collect())
        });
        let same = same.collect::<Vec<_>>();
        if !same.is_empty() {
            return bits(&value.value, &same);
        }
        // A name that no other profile has is compared together with its value.
        let text = named(value);
        let alike = self.unmatched().iter().filter_map(|unmatched| {
            most_alike(&text, unmatched.similar_to(value).into_iter().map(named).collect())
        });
        let alike = alike.collect::<Vec<_>>();
        if alike.is_empty() {
            return alone(&value.value, &[]);
        }
        alone(&text, &alike.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn unmatched(&self) -> &[UnmatchedEntries<'_>] {
        self.unmatched.get_or_init(|| {
            self.others.iter().map(|&other| UnmatchedEntries::of(other, self.own)).collect()
        })
    }

    /// Whether a value may be an identifier. The words of an entry that no other profile has count, because they may be
    /// unique, but they may also be the same for all visitors who take the same steps.
    fn may_identify(&self, value: &StoredValue) -> bool {
        is_lasting(value) && self.bits_or(value, bits) >= MIN_BITS
    }

    /// Whether a value is an identifier, and its bits.
    pub fn identifier(&self, value: &StoredValue) -> Option<f64> {
        let bits = is_lasting(value).then(|| self.bits(value))?;
        (bits >= MIN_BITS).then_some(bits)
    }

    /// Whether the unread part of a value may be an identifier, because its digest differs from that of this entry in
    /// all other profiles.
    pub fn is_unread(&self, value: &StoredValue) -> bool {
        let Some(digest) = &value.digest else { return false };
        let is_same = |stored: &StoredValue| stored.digest.as_ref() == Some(digest);
        is_lasting(value) && !self.others.iter().any(|other| other.of_entry(value).any(is_same))
    }
}

fn named(value: &StoredValue) -> String {
    format!("{} {}", value.name, value.value)
}

/// The one of these texts that is most similar to `text`.
fn most_alike<T: AsRef<str>>(text: &str, mut texts: Vec<T>) -> Option<T> {
    if texts.len() < 2 {
        return texts.pop();
    }
    let compared = texts.into_iter().map(|other| (bits(text, &[other.as_ref()]), other));
    compared.min_by(|one, two| one.0.total_cmp(&two.0)).map(|(_, alike)| alike)
}

/// Whether values differ only in small buckets, group names and times, which are not parts of an identifier.
fn are_buckets(values: &[&str]) -> bool {
    let all = values.iter().map(|value| tokens(value, "")).collect::<Vec<_>>();
    let sets = all.iter().map(|tokens| {
        let texts = tokens.iter().filter(|token| token.time.is_none());
        texts.map(|token| token.text.as_str()).collect::<HashSet<_>>()
    });
    let sets = sets.collect::<Vec<_>>();
    let is_common = |text: &str| sets.iter().all(|set| set.contains(text));
    sets.iter().flatten().all(|text| is_common(text) || is_bucket(text))
}

/// A visit that must be repeated, because some of its values may be the same for all visitors who take the same steps.
pub fn unconfirmed(profiles: &Profiles) -> Option<Visit> {
    let all = &profiles.0;
    let stages = all.iter().map(Profiles::stage).collect::<Vec<_>>();
    // A visit that failed has no values to compare.
    let is_twin = |at: usize, other: usize| {
        other != at && stages[other] == stages[at] && !all[other].is_empty()
    };
    let has_twin = |at: usize| (0..all.len()).any(|other| is_twin(at, other));
    // The second view of a returning visitor may store what the first one does not.
    let is_of_second_view = |at: usize, value: &StoredValue| {
        let mut twins = (0..all.len()).filter(|&other| is_twin(at, other));
        all[at].visit == Visit::Returning
            && !twins.any(|it| all[it].of_entry(value).next().is_some())
    };
    let compared = all.iter().map(|profile| profiles.compared(profile.visit)).collect::<Vec<_>>();
    let mut of_twins = HashMap::<_, Vec<_>>::new();
    for at in (0..all.len()).filter(|&at| has_twin(at)) {
        for value in all[at].suspects.iter().filter(|value| !is_of_second_view(at, value)) {
            of_twins.entry(value.entry()).or_default().push((at, value));
        }
    }
    let is_confirmed = |value: &StoredValue| {
        let mut same = of_twins.get(&value.entry()).into_iter().flatten();
        same.any(|&(at, value)| compared[at].identifier(value).is_some())
    };
    let mut confirmed = HashMap::new();
    let was_repeated =
        |visit: Visit| all.iter().any(|profile| profile.visit == visit && profile.is_repeated);
    for at in (0..all.len()).filter(|&at| !was_repeated(all[at].visit)) {
        let has_twin = has_twin(at);
        let open = all[at].suspects.iter().filter(|&value| {
            (!has_twin || is_of_second_view(at, value)) && compared[at].may_identify(value)
        });
        for value in open {
            if !*confirmed.entry(value.entry()).or_insert_with(|| is_confirmed(value)) {
                return Some(all[at].visit);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
