//! Estimates the bits in the order of parts from a small set, such as digits. All profiles have such parts, so only
//! their order can identify a visitor.

use std::collections::HashSet;

use super::classes::{shared_bits, text_bits};

/// The order of fewer parts is not examined: the permutations of ten parts have only 22 bits.
pub const MIN_PARTS: usize = 11;

/// The bits in the order of the items of a value, compared with values of equally many parts: the minimum of the bits
/// of the items, of the differences between profiles, and of all permutations. `texts` are all other values.
pub fn order_bits<'t>(
    own: &[Option<&'t str>],
    others: &[Vec<Option<&'t str>>],
    texts: &[&str],
) -> f64 {
    let all = || others.iter().map(Vec::as_slice).chain([own]);
    let set = all().flat_map(repeated).collect::<HashSet<_>>();
    let own_set = sorted(own, &set);
    // The same contents in another order, such as shuffled cards, are not an identifier.
    if others.iter().all(|other| sorted(other, &set) == own_set) {
        return 0.0;
    }
    // Unless most items are repeated, the other items, such as article numbers, are selected contents and do not count.
    let of_set = all().map(|items| sorted(items, &set).len()).sum::<usize>();
    let of_all = all().map(|items| items.iter().flatten().count()).sum::<usize>();
    let is_sequence = of_set * 4 >= of_all * 3;
    let counted = own.iter().enumerate().filter_map(|(at, item)| Some((at, (*item)?)));
    let counted = counted.filter(|(_, text)| is_sequence || set.contains(text)).collect::<Vec<_>>();
    let (mut equal, mut of_texts, mut varying) = (0, 0.0_f64, Vec::new());
    for &(at, text) in &counted {
        let same = others.iter().map(|other| other[at]).collect::<Vec<_>>();
        equal += equal_pairs(&same) + same.iter().filter(|other| **other == Some(text)).count();
        if same.iter().any(|other| *other != Some(text)) {
            of_texts += text_bits(text, &same.into_iter().flatten().collect::<Vec<_>>());
            varying.push(text);
        }
    }
    let pairs = counted.len() * others.len() * (others.len() + 1) / 2;
    #[allow(clippy::cast_precision_loss, reason = "values are short")]
    let of_differences = counted.len() as f64 * ((pairs + 1) as f64 / (equal + 1) as f64).log2();
    of_texts.min(of_differences).min(arrangement_bits(varying)).min(shared_bits(texts))
}

/// The items that a value has more than once.
fn repeated<'t>(items: &[Option<&'t str>]) -> HashSet<&'t str> {
    let mut known = HashSet::new();
    items.iter().copied().flatten().filter(|text| !known.insert(*text)).collect()
}

/// The items that are in `set`, sorted, with repetitions.
fn sorted<'t>(items: &[Option<&'t str>], set: &HashSet<&str>) -> Vec<&'t str> {
    let found = items.iter().copied().flatten().filter(|text| set.contains(text));
    let mut found = found.collect::<Vec<_>>();
    found.sort_unstable();
    found
}

fn equal_pairs(items: &[Option<&str>]) -> usize {
    let equal = |at: usize| items[..at].iter().filter(|other| **other == items[at]).count();
    (0..items.len()).map(equal).sum()
}

/// The bits of the number of distinct permutations of these items.
fn arrangement_bits(mut items: Vec<&str>) -> f64 {
    items.sort_unstable();
    let (mut bits, mut before, mut count, mut of_same) = (0.0_f64, None, 0.0_f64, 0.0_f64);
    for item in items {
        count += 1.0;
        of_same = if before == Some(item) { of_same + 1.0 } else { 1.0 };
        bits += (count / of_same).log2();
        before = Some(item);
    }
    bits
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use crate::verdict::bits::bits;

    const ENOUGH: f64 = 24.0;
    const PROFILES: usize = 6;

    /// A pseudo-random byte for each position in each profile.
    fn random(profile: usize, at: usize) -> u8 {
        Sha256::digest(format!("{profile} {at}"))[0]
    }

    /// The items in a pseudo-random order that differs between profiles.
    fn shuffled(items: &[String], profile: usize) -> Vec<&str> {
        let mut order = (0..items.len()).collect::<Vec<_>>();
        order.sort_by_key(|at| random(profile, *at));
        order.into_iter().map(|at| items[at].as_str()).collect()
    }

    /// The bits of the value of each profile, compared with the values of all others.
    fn compared(value_of: impl Fn(usize) -> String) -> Vec<f64> {
        let values = (0..PROFILES).map(value_of).collect::<Vec<_>>();
        let found = (0..PROFILES).map(|profile| {
            let others = values.iter().enumerate().filter(|(other, _)| *other != profile);
            let others = others.map(|(_, value)| value.as_str()).collect::<Vec<_>>();
            bits(&values[profile], &others)
        });
        found.collect()
    }

    fn identify_nobody(value_of: impl Fn(usize) -> String) {
        let found = compared(&value_of);
        assert!(found.iter().all(|bits| *bits < ENOUGH), "{}: {found:?}", value_of(0));
    }

    #[test]
    fn a_random_sequence_of_a_small_set_identifies() {
        let sequences =
            [(32, 16, "-"), (16, 16, "-"), (32, 10, "-"), (128, 2, ","), (512, 256, ",")];
        for (count, size, separator) in sequences {
            let item = |profile: usize, at: usize| match u16::from(random(profile, at)) % size {
                digit if size == 16 => format!("{digit:x}"),
                number => number.to_string(),
            };
            let list = |profile: usize| {
                let items = (0..count).map(|at| item(profile, at));
                items.collect::<Vec<_>>().join(separator)
            };
            for start in ["", "{\"v\":[1],\"list\":\""] {
                let found = compared(|profile| format!("{start}{}", list(profile)));
                assert!(found.iter().all(|bits| *bits >= ENOUGH), "{}: {found:?}", list(0));
            }
        }
    }

    #[test]
    fn the_same_contents_in_another_order_do_not() {
        let words = "red green blue yellow purple orange silver golden coral olive ivory amber";
        let numbers =
            |from: usize, to: usize| (from..to).map(|item| item.to_string()).collect::<Vec<_>>();
        let contents = [
            numbers(1, 6),
            numbers(1, 11),
            numbers(1, 13),
            numbers(100, 130),
            // Cards, each of them twice.
            [numbers(1, 9), numbers(1, 9)].concat(),
            words.split(' ').map(str::to_owned).collect(),
        ];
        for items in &contents {
            identify_nobody(|profile| shuffled(items, profile).join(","));
            identify_nobody(|profile| {
                let order = shuffled(items, profile).join(",");
                format!("{{\"order\":[{order}],\"load\":6{profile}1}}")
            });
        }
    }

    #[test]
    fn articles_with_repeated_prices_do_not() {
        let articles = (0..12).map(|item| format!("id={},price={}", 700 + item, item / 4));
        let articles = articles.collect::<Vec<_>>();
        identify_nobody(|profile| shuffled(&articles, profile)[..10].join(","));
    }

    #[test]
    fn what_pages_note_in_many_parts_does_not() {
        let counters = "view click scroll hover focus resize error retry open close copy print";
        let times = "dns tcp tls ttfb fcp lcp load ready render response connect start";
        let numbers = |names: &str, below: u8, profile: usize| {
            let number = |at: usize| random(profile, at) % below;
            let named = names.split(' ').enumerate();
            let named = named.map(|(at, name)| format!("{name}={}", number(at)));
            named.collect::<Vec<_>>().join(";")
        };
        identify_nobody(|profile| numbers(counters, 3, profile));
        identify_nobody(|profile| numbers(times, 100, profile));
        identify_nobody(|profile| {
            let times = (0..12).map(|at| format!("2026-11-27T13:4{profile}:{at:02}.123Z"));
            times.collect::<Vec<_>>().join(",")
        });
        let versions = "react 18.2.0, vue 3.4.1, jquery 3.7.1, lodash 4.17.21, swiper 11.0";
        identify_nobody(|profile| format!("{versions}.{profile}"));
        let groups = ["1,0,1,1,0,0,1,0,1,1,1,0,1,0", "0,1,0,0,1,1,0,1,0,0,0,1,0,1"];
        identify_nobody(|profile| groups[usize::from(profile > 0)].to_owned());
    }
}
