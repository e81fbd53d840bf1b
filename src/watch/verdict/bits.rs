//! The bits of a value that differ from the values of all other fresh profiles.

use std::collections::HashSet;

use super::classes::{character_bits, most_bits};
use super::tokens::{Time, Token, tokens};

/// Profiles of a run are made within this time, so two times that are closer tell nothing else.
const RUN_S: f64 = 900.0;
/// The most bits of the times of a run, however exact: a time alone is nobody's own.
const MAX_TIME_BITS: f64 = 16.0;

/// The bits in the parts of `value` that no other value has. Times of the run count once, by their range.
pub fn bits(value: &str, others: &[&str]) -> f64 {
    let (of_texts, of_times) = parts(value, others);
    of_texts + of_times
}

pub fn parts(value: &str, others: &[&str]) -> (f64, f64) {
    if others.contains(&value) {
        return (0.0, 0.0);
    }
    let own = tokens(value);
    let others = others.iter().map(|other| tokens(other)).collect::<Vec<_>>();
    let known = others.iter().flatten().map(|token| token.text.as_str()).collect::<HashSet<_>>();
    let (mut of_texts, mut of_times) = (0.0, 0.0_f64);
    for (at, token) in own.iter().enumerate() {
        if known.contains(token.text.as_str()) {
            continue;
        }
        // Values of the same shape are compared part by part.
        let same = others.iter().filter(|other| other.len() == own.len()).map(|other| &other[at]);
        let same = same.collect::<Vec<_>>();
        match token.time {
            Some(time) if !same.is_empty() && same.iter().all(|other| is_near(time, other)) => {
                let bits = (RUN_S.min(60.0) * time.precision).log2();
                of_times = of_times.max(bits.min(MAX_TIME_BITS));
            }
            Some(_) => of_texts += 33.0,
            None => of_texts += text_bits(&token.text, &same),
        }
    }
    (of_texts, of_times)
}

fn is_near(time: Time, other: &Token) -> bool {
    other.time.is_some_and(|other| (time.seconds - other.seconds).abs() < RUN_S)
}

/// The bits of the part of a text that is not common to all texts, by the characters that occur in it.
fn text_bits(text: &str, same: &[&Token]) -> f64 {
    let texts = same.iter().filter(|token| token.time.is_none()).map(|token| token.text.as_str());
    let texts = texts.collect::<Vec<_>>();
    let others = texts.iter().map(|text| text.chars().collect::<Vec<_>>()).collect::<Vec<_>>();
    let own = text.chars().collect::<Vec<_>>();
    let is_common = |at: usize, from_end: bool| {
        let character = |characters: &Vec<char>| match from_end {
            true => characters.iter().rev().nth(at).copied(),
            false => characters.get(at).copied(),
        };
        !others.is_empty() && others.iter().all(|other| character(other) == character(&own))
    };
    let start = (0..own.len()).take_while(|&at| is_common(at, false)).count();
    let end = (0..own.len() - start).take_while(|&at| is_common(at, true)).count();
    let varying = &own[start..own.len() - end];
    let pooled = others.iter().filter(|other| other.len() == own.len());
    let pooled = pooled.flat_map(|other| &other[start..other.len() - end]);
    let characters = varying.iter().chain(pooled).copied().collect::<Vec<_>>();
    #[allow(clippy::cast_precision_loss, reason = "values are short")]
    let length = varying.len() as f64;
    (length * character_bits(&characters)).min(most_bits(text, &texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    const ENOUGH: f64 = 24.0;

    #[test]
    fn random_values_identify() {
        let pairs = [
            ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "0b5c1e36-91d7-4d4c-a8f7-53c4ad2e8d13"),
            ("GA1.1.1234567890.1764251234", "GA1.1.987654321.1764251261"),
            ("0.4826836557329146", "0.1093847561029384"),
            ("{\"id\":\"k3j9x0ab\",\"v\":1}", "{\"id\":\"p0q8w7zz\",\"v\":1}"),
            ("a1b2c3", "d4e5f6"),
            ("eyJpZCI6ImszajlieDBhYnEwIn0", "eyJpZCI6InAwcTh3N3p6bWM5In0"),
        ];
        for (one, two) in pairs {
            assert!(bits(one, &[two]) >= ENOUGH, "{one}: {}", bits(one, &[two]));
        }
    }

    #[test]
    fn times_buckets_and_preferences_do_not() {
        let pairs = [
            ("1764251234567", "1764251261871"),
            (
                "{\"first\":1764251234567,\"last\":1764251234999,\"n\":3}",
                "{\"first\":1764251261871,\"last\":1764251262412,\"n\":3}",
            ),
            (
                "2026-11-27T13:47:01.123Z/2026-11-27T13:47:02.456Z",
                "2026-11-27T13:48:31.001Z/2026-11-27T13:48:33.456Z",
            ),
            ("1764251234567123", "1764251261871456"),
            ("1764251234.5671234", "1764251261.8714561"),
            ("20261127134701123", "20261127140102456"),
            ("83.19999998807907", "1051.3000000715256"),
            ("variant-b", "variant-a"),
            ("bucket=42", "bucket=87"),
            ("en-GB", "en-GB"),
            ("{\"theme\":\"dark\",\"seen\":true}", "{\"theme\":\"dark\",\"seen\":true}"),
        ];
        for (one, two) in pairs {
            assert!(bits(one, &[two]) < ENOUGH, "{one}: {}", bits(one, &[two]));
        }
    }

    #[test]
    fn times_of_now_are_known_in_other_bases() {
        let now = u64::try_from(Clock::System.now().timestamp_millis()).unwrap();
        let values = [now, now + 70_123].map(|time| format!("{time:x}"));
        assert!(bits(&values[0], &[&values[1]]) < ENOUGH, "{values:?}");
        assert!(bits("original", &["headline"]) > ENOUGH, "these are no times");
    }

    #[test]
    fn groups_that_profiles_share_do_not_identify() {
        let others = ["treatment", "treatment", "treatment"];
        assert!(bits("control", &others) < 1.0);
        assert!(bits("{\"exp\":8472611234}", &["{\"exp\":8472619911}"; 3]) < 1.0);
    }

    #[test]
    fn a_part_that_another_profile_has_does_not_count() {
        let values = ["state-declined", "state-untouched"];
        assert!(bits("state-declined", &values) < 1.0);
        assert!(bits("state-declined", &values[1..]) > ENOUGH);
    }
}
