//! Values that pages write to local storage, including those that they replace later.

use std::collections::BTreeMap;

/// Maximum number of values in total, and per key. Comparing them takes quadratic time.
const MAX_ITEMS: usize = 500;
const MAX_OF_KEY: usize = 50;
/// Steps of a clock or counter are dropped, except among the first and the latest values of a key.
const FIRST: usize = 20;
const LATEST: usize = 20;
/// A number with at most this many digits, or in a smaller range, has fewer than 24 bits and is not an identifier.
const FEW_DIGITS: usize = 7;
const SMALL_RANGE: u64 = 1 << 24;
/// A value that is removed sooner does not count: many libraries test the storage with a randomly named entry.
const MIN_STORED_MS: f64 = 100.0;

/// A value that was written to local storage. Times are milliseconds of the monotonic clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemWritten {
    pub host: String,
    pub key: String,
    pub value: String,
    pub at_ms: f64,
}

#[derive(Debug)]
struct Write {
    item: ItemWritten,
    /// The earlier time of a value that was written again.
    before_ms: Option<f64>,
    is_step: bool,
}

impl Write {
    /// Whether the value was stored long enough before it was removed at this time. If it was written again just
    /// before, the earlier time counts.
    fn was_stored(&mut self, removed_ms: f64) -> bool {
        let is_momentary = removed_ms - self.item.at_ms < MIN_STORED_MS;
        let earlier = self.before_ms.take().filter(|_| is_momentary);
        self.item.at_ms = earlier.unwrap_or(self.item.at_ms);
        !is_momentary || earlier.is_some()
    }
}

/// The values of all keys, those of one key in the order in which they were written.
#[derive(Debug, Default)]
pub struct Items {
    by_key: BTreeMap<(String, String), Vec<Write>>,
    count: usize,
}

impl Items {
    pub fn iter(&self) -> impl Iterator<Item = &ItemWritten> + Clone {
        self.by_key.values().flatten().map(|write| &write.item)
    }

    /// Records a value. If it is written repeatedly, only the first and the latest time are kept. Returns `false` if a
    /// value that may be an identifier was dropped.
    pub fn record(&mut self, item: ItemWritten) -> bool {
        let key = (item.host.clone(), item.key.clone());
        let is_full = self.count >= MAX_ITEMS;
        if is_full && !self.by_key.contains_key(&key) {
            return false;
        }
        let writes = self.by_key.entry(key).or_default();
        let mut same = writes.iter_mut().rev().filter(|known| known.item.value == item.value);
        if let (Some(latest), Some(_)) = (same.next(), same.next()) {
            latest.before_ms = Some(latest.item.at_ms);
            latest.item.at_ms = item.at_ms;
            return true;
        }
        if let [.., before, last] = writes.as_mut_slice() {
            last.is_step = is_step([&before.item.value, &last.item.value, &item.value]);
        }
        writes.push(Write { item, before_ms: None, is_step: false });
        let mut middle = FIRST..writes.len().saturating_sub(LATEST);
        if let Some(step) = middle.find(|&at| writes[at].is_step) {
            writes.remove(step);
            return true;
        }
        if is_full || writes.len() > MAX_OF_KEY {
            writes.pop();
            return false;
        }
        self.count += 1;
        true
    }

    /// Drops values that were written just before their removal: of one key, or of all keys of a host.
    pub fn drop_removed(&mut self, host: &str, key: Option<&str>, at_ms: f64) {
        let is_of = |(of, name): &(String, String)| of == host && key.is_none_or(|key| key == name);
        for (_, writes) in self.by_key.iter_mut().filter(|(entry, _)| is_of(entry)) {
            let before = writes.len();
            writes.retain_mut(|write| write.was_stored(at_ms));
            self.count -= before - writes.len();
        }
        self.by_key.retain(|_, writes| !writes.is_empty());
    }
}

/// Whether the second of three values is a step of a clock or counter, or a small measurement: a number as long as its
/// neighbours that cannot be an identifier.
fn is_step(values: [&str; 3]) -> bool {
    let [Some(before), Some(own), Some(after)] = values.map(number) else { return false };
    let length = values[1].len();
    let is_between = (before.min(after)..=before.max(after)).contains(&own);
    let is_small = length <= FEW_DIGITS || is_between && before.abs_diff(after) < SMALL_RANGE;
    is_small && values.iter().all(|value| value.len() == length)
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str, at_ms: f64) -> ItemWritten {
        let (host, key) = ("shop.test".to_owned(), "key".to_owned());
        ItemWritten { host, key, value: value.to_owned(), at_ms }
    }

    /// The values of one key that are kept, and whether no other value may be an identifier.
    fn kept(values: &[String]) -> (Vec<String>, bool) {
        let (mut items, mut is_whole) = (Items::default(), true);
        for value in values {
            is_whole &= items.record(written(value, 1.0));
        }
        (items.iter().map(|item| item.value.clone()).collect(), is_whole)
    }

    fn clock(steps: u64) -> Vec<String> {
        (0..steps).map(|step| (1_764_251_234_567 + step * 100).to_string()).collect()
    }

    #[test]
    fn of_a_value_that_is_written_again_the_first_and_the_latest_time_are_kept() {
        let mut items = Items::default();
        let is_whole = (0..100_u8).all(|at| items.record(written("same", at.into())));
        let expected = [written("same", 0.0), written("same", 99.0)];
        assert!(is_whole && items.iter().eq(&expected), "{items:?}");
    }

    #[test]
    fn of_a_clock_or_counter_the_first_and_the_latest_steps_are_kept() {
        let steps = clock(1000);
        let ends = [&steps[..FIRST], &steps[steps.len() - LATEST..]].concat();
        assert_eq!(kept(&steps), (ends, true));
        let counts = (0..20_000).map(|count| count.to_string()).collect::<Vec<_>>();
        let (values, is_whole) = kept(&counts);
        assert!(is_whole && values.len() <= MAX_OF_KEY, "{values:?}");
        assert_eq!(values.last(), counts.last());
    }

    #[test]
    fn a_value_that_may_be_an_identifier_is_kept_among_the_steps_of_a_clock() {
        for id in ["f81d4fae7dec", "4821934790817", "1764261299999", "7", "-1764251234567"] {
            let mut values = clock(1000);
            values.insert(500, id.to_owned());
            let (values, is_whole) = kept(&values);
            assert!(is_whole && values.iter().any(|value| value == id), "{id}: {values:?}");
        }
    }

    #[test]
    fn a_value_that_is_removed_at_once_is_forgotten() {
        let of_key = |key: &str, at_ms| ItemWritten { key: key.to_owned(), ..written("v", at_ms) };
        let mut items = Items::default();
        for at in 0..2 * MAX_ITEMS {
            let key = at.to_string();
            assert!(items.record(of_key(&key, 1000.0)));
            items.drop_removed("shop.test", Some(&key), 1000.0 + MIN_STORED_MS / 2.0);
        }
        assert_eq!(items.iter().count(), 0);
        let (early, late) = (of_key("early", 0.0), of_key("late", 1000.0));
        assert!(items.record(early.clone()) && items.record(late.clone()));
        items.drop_removed("other.test", None, 1001.0);
        items.drop_removed("shop.test", Some("early"), 1001.0);
        assert!(items.iter().eq([&early, &late]));
        items.drop_removed("shop.test", None, 1001.0);
        assert!(items.iter().eq([&early]));
        assert!([100.0, 500.0, 1000.0].into_iter().all(|at| items.record(of_key("early", at))));
        items.drop_removed("shop.test", Some("early"), 1001.0);
        assert!(items.iter().eq([&early, &of_key("early", 500.0)]), "{items:?}");
    }

    #[test]
    fn more_values_than_are_kept_are_noticed() {
        let values = (0..=MAX_OF_KEY).map(|at| format!("v{at}")).collect::<Vec<_>>();
        let most = values[..MAX_OF_KEY].to_vec();
        assert_eq!(kept(&most), (most.clone(), true));
        assert_eq!(kept(&values), (most, false));
        let mut items = Items::default();
        let of_key = |at: usize| ItemWritten { key: at.to_string(), ..written("v", 1.0) };
        assert!((0..MAX_ITEMS).all(|at| items.record(of_key(at))));
        assert!(!items.record(of_key(MAX_ITEMS)) && items.iter().count() == MAX_ITEMS);
    }
}
