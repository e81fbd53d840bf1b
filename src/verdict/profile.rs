//! The stored values of fresh profiles, and the selection of those with which another profile's value is compared.

use std::cmp::Reverse;

use crate::visit::{StoredValue, Visit};

/// Maximum number of entries of another profile with which a value is compared if that profile lacks the value's name.
const MAX_ALIKE: usize = 8;
/// Maximum number of such comparisons for all values together: on pages that store very many, each has fewer.
const MAX_COMPARED: usize = 512;
/// Like `MAX_COMPARED`, for entries with several values.
const MAX_REPLACED: usize = 4096;

/// The values of one fresh profile.
pub struct Profile {
    pub visit: Visit,
    pub has_chosen: bool,
    pub is_repeated: bool,
    stored: Vec<StoredValue>,
    /// The indexes of `stored`, sorted by entry, for binary search.
    by_entry: Vec<usize>,
    /// The values that are leaks if they are identifiers.
    pub suspects: Vec<StoredValue>,
}

impl Profile {
    pub fn new(
        visit: Visit,
        has_chosen: bool,
        is_repeated: bool,
        stored: Vec<StoredValue>,
        suspects: Vec<StoredValue>,
    ) -> Self {
        let mut by_entry = (0..stored.len()).collect::<Vec<_>>();
        by_entry.sort_by_key(|&at| stored[at].entry());
        Self { visit, has_chosen, is_repeated, stored, by_entry, suspects }
    }

    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// All values of the entry of a value, in the order in which they were read.
    pub fn of_entry<'p>(&'p self, value: &StoredValue) -> impl Iterator<Item = &'p StoredValue> {
        let start = self.by_entry.partition_point(|&at| self.stored[at].entry() < value.entry());
        let following = self.by_entry[start..].iter().map(move |&at| &self.stored[at]);
        following.take_while(move |stored| stored.is_same_entry(value))
    }

    /// The values of the same entry with which a value is compared: only the most similar ones if the page stores very
    /// many.
    pub fn same_entry<'p>(&'p self, value: &StoredValue) -> Vec<&'p StoredValue> {
        let most = (MAX_REPLACED / self.stored.len().max(1)).max(MAX_ALIKE);
        let found = self.of_entry(value).collect();
        most_similar(found, most, |other| common_start(&other.value, &value.value))
    }
}

/// The values of a profile whose entries another profile lacks, sorted by entry, with their indexes.
pub struct UnmatchedEntries<'p>(Vec<(usize, &'p StoredValue)>);

impl<'p> UnmatchedEntries<'p> {
    pub fn of(profile: &'p Profile, own: Option<&Profile>) -> Self {
        let has = |value: &StoredValue| own.is_some_and(|own| own.of_entry(value).next().is_some());
        let all = profile.by_entry.iter().map(|&at| (at, &profile.stored[at]));
        Self(all.filter(|(_, value)| !has(value)).collect())
    }

    /// The values with the same owner and store as `value`; if there are more than are compared, those with the most
    /// similar names.
    pub fn similar_to(&self, value: &StoredValue) -> Vec<&'p StoredValue> {
        let most = (MAX_COMPARED / self.0.len().max(1)).clamp(1, MAX_ALIKE);
        let (owner, store, name) = value.entry();
        let beside = |other: &StoredValue| (&*other.owner, other.store).cmp(&(owner, store));
        let start = self.0.partition_point(|(_, other)| beside(other).is_lt());
        let end = self.0.partition_point(|(_, other)| beside(other).is_le());
        let mut found = &self.0[start..end];
        if most < MAX_ALIKE {
            // In this order, the names with the longest common start are next to the name itself.
            let at = found.partition_point(|(_, other)| other.name.as_str() < name);
            found = &found[at.saturating_sub(most)..found.len().min(at + most)];
        }
        let mut found = found.to_vec();
        found.sort_unstable_by_key(|(at, _)| *at);
        let found = found.into_iter().map(|(_, other)| other).collect();
        most_similar(found, most, |other| common_start(&other.name, name))
    }
}

fn most_similar(
    mut values: Vec<&StoredValue>,
    most: usize,
    common: impl Fn(&StoredValue) -> usize,
) -> Vec<&StoredValue> {
    if values.len() > most {
        values.sort_by_cached_key(|value| Reverse(common(value)));
        values.truncate(most);
    }
    values
}

fn common_start(one: &str, two: &str) -> usize {
    one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, value: &str) -> StoredValue {
        StoredValue {
            owner: "shop.test".to_owned(),
            store: "local_storage",
            name: name.to_owned(),
            value: value.to_owned(),
            lifetime_s: None,
            is_session: false,
            digest: None,
        }
    }

    fn profile(stored: Vec<StoredValue>) -> Profile {
        Profile::new(Visit::Untouched, false, false, stored, Vec::new())
    }

    /// The names of entries that only `other` has, with which the entry `name` is compared.
    fn alike<'p>(other: &'p Profile, own: &Profile, name: &str) -> Vec<&'p str> {
        let found = UnmatchedEntries::of(other, Some(own)).similar_to(&value(name, "1"));
        found.into_iter().map(|other| other.name.as_str()).collect()
    }

    #[test]
    fn the_values_of_an_entry_are_found_in_the_order_in_which_they_were_read() {
        let stored = [("b", "2"), ("a", "9"), ("b", "1"), ("c", "0"), ("b", "3")];
        let profile = profile(stored.map(|(name, text)| value(name, text)).to_vec());
        let own = value("b", "");
        let found = profile.of_entry(&own).map(|stored| stored.value.as_str());
        assert_eq!(found.collect::<Vec<_>>(), ["2", "1", "3"]);
        assert!(profile.of_entry(&value("ab", "")).next().is_none());
        let cookie = StoredValue { store: "cookie", ..value("b", "") };
        assert!(profile.of_entry(&cookie).next().is_none());
    }

    #[test]
    fn entries_that_both_profiles_have_are_not_alike() {
        let own = profile(vec![value("theme", "dark"), value("id-5", "1")]);
        let other = ["id-9", "theme", "id-1", "at"].map(|name| value(name, "1"));
        let frame = StoredValue { owner: "cdn.test".to_owned(), ..value("id-5", "1") };
        let other = profile([other.to_vec(), vec![frame]].concat());
        assert_eq!(alike(&other, &own, "id-5"), ["id-9", "id-1", "at"]);
    }

    #[test]
    fn of_very_many_entries_only_those_with_similar_names_are_compared() {
        let own = profile(vec![value("n-500", "1")]);
        let numbers = |count: usize| (0..count).map(|number| value(&format!("n-{number:04}"), "1"));
        let few = profile(numbers(MAX_COMPARED / MAX_ALIKE).collect());
        assert_eq!(alike(&few, &own, "n-005").len(), MAX_ALIKE);
        let more = [value("other", "1"), value("n-50", "1")];
        let many = profile(numbers(1000).chain(more).collect());
        assert_eq!(alike(&many, &own, "n-500"), ["n-50"]);
    }

    #[test]
    fn of_very_many_values_of_an_entry_the_most_similar_ones_are_compared() {
        let stored = (0..1000).map(|number| value("n", &format!("{number:04}"))).collect();
        let found = profile(stored).same_entry(&value("n", "0777")).len();
        assert_eq!(found, MAX_ALIKE);
        let stored = (0..40).map(|number| value("n", &number.to_string())).collect();
        assert_eq!(profile(stored).same_entry(&value("n", "39")).len(), 40);
    }
}
