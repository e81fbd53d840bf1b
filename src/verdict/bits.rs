//! Estimates the bits of a value that differ from the values of all other fresh profiles.

use std::collections::HashSet;

use super::classes::{is_wording, of_phrases, text_bits};
use super::durations::{Duration, total};
use super::order::{MIN_PARTS, order_bits};
use super::tokens::{Time, Token, is_near_now, items, tokens};

/// Seconds within which all profiles of a run are created: times that are closer do not distinguish visitors.
const RUN_S: f64 = 900.0;
/// Maximum bits for times of a run, however precise, and for durations: a time alone does not identify a visitor.
const MAX_TIME_BITS: f64 = 16.0;
/// Minimum bits of texts that are added to those of a time, such as random characters after it. Texts with fewer bits
/// are usually a group or a duration.
const MIN_BESIDE_TIME: f64 = 12.0;

/// The bits of the parts of `value` that no other value has. Of all times of the run and durations, only the one with
/// the most bits counts.
pub fn bits(value: &str, others: &[&str]) -> f64 {
    sum(parts("", value, others))
}

/// The bits of an entry that no other profile has, compared with the most similar entries. Words do not count, because
/// they probably name an A/B test with few visitors.
pub fn bits_alone(value: &str, similar: &[&str]) -> f64 {
    sum(compared("", value, similar, |text: &str| !is_wording(text)))
}

fn sum((of_texts, of_times): (f64, f64)) -> f64 {
    if of_texts < MIN_BESIDE_TIME { of_texts.max(of_times) } else { of_texts + of_times }
}

/// Returns the bits of texts, and those of times and durations, for the value of an entry with this name.
pub fn parts(name: &str, value: &str, others: &[&str]) -> (f64, f64) {
    compared(name, value, others, |_: &str| true)
}

fn compared(name: &str, value: &str, others: &[&str], is_counted: fn(&str) -> bool) -> (f64, f64) {
    if others.contains(&value) {
        return (0.0, 0.0);
    }
    let own = tokens(value, name);
    let texts = others;
    let others = others.iter().map(|other| tokens(other, name)).collect::<Vec<_>>();
    let known = others.iter().flatten().map(|token| token.text.as_str()).collect::<HashSet<_>>();
    let (mut of_texts, mut of_times) = (0.0_f64, 0.0_f64);
    let mut durations = Vec::new();
    for (at, token) in own.iter().enumerate() {
        if known.contains(token.text.as_str()) {
            continue;
        }
        // Values with the same number of parts are compared part by part.
        let same = others.iter().filter(|other| other.len() == own.len()).map(|other| &other[at]);
        let same = same.collect::<Vec<_>>();
        match token.time {
            Some(time) if is_of_run(time, &same) => {
                let bits = (RUN_S.min(60.0) * time.precision).log2().max(0.0);
                of_times = of_times.max(bits.min(MAX_TIME_BITS));
            }
            Some(_) => of_texts += 33.0,
            None if !is_counted(&token.text) => {}
            None => {
                let texts = same.iter().filter(|token| token.time.is_none());
                let texts = texts.map(|token| token.text.as_str()).collect::<Vec<_>>();
                let bits = text_bits(&token.text, &texts);
                match duration(token, &same, bits) {
                    Some(duration) => durations.push(duration),
                    None => of_texts += bits,
                }
            }
        }
    }
    let (of_others, of_durations) = total(&durations);
    of_times = of_times.max(of_durations.min(MAX_TIME_BITS));
    of_texts += of_others;
    of_texts = of_texts.min(most_of_phrase(&own, &others, &known, texts));
    (of_texts.max(of_order(&own, &others, texts, is_counted)), of_times)
}

fn duration(token: &Token, same: &[&Token], bits: f64) -> Option<Duration> {
    let own = token.number?;
    let others = same.iter().map(|other| other.number).collect::<Option<Vec<_>>>()?;
    Duration::of(own, &others, bits)
}

/// The bits in the order of the parts, compared with values that have equally many parts.
fn of_order(
    own: &[Token],
    others: &[Vec<Token>],
    texts: &[&str],
    is_counted: fn(&str) -> bool,
) -> f64 {
    if own.len() < MIN_PARTS {
        return 0.0;
    }
    let others = others.iter().filter(|other| other.len() == own.len());
    let others = others.map(|other| items(other, is_counted)).collect::<Vec<_>>();
    order_bits(&items(own, is_counted), &others, texts)
}

/// Upper bound on the bits of a value that differs from other values in words and times only. `others` are the tokens
/// of the other values, `known` the texts of these tokens, and `texts` the other values.
fn most_of_phrase(
    own: &[Token],
    others: &[Vec<Token>],
    known: &HashSet<&str>,
    texts: &[&str],
) -> f64 {
    let own_texts = own.iter().map(|token| token.text.as_str()).collect::<HashSet<_>>();
    let of_others = others.iter().map(|other| new_texts(other, &own_texts)).collect::<Vec<_>>();
    of_phrases(&new_texts(own, known), &of_others, texts)
}

/// The texts of tokens that are neither times nor in `known`.
fn new_texts<'t>(tokens: &'t [Token], known: &HashSet<&str>) -> Vec<&'t str> {
    let texts = tokens.iter().filter(|token| token.time.is_none()).map(|token| token.text.as_str());
    texts.filter(|text| !known.contains(text)).collect()
}

/// Whether a time is near the times of all comparable values or, if there are no such values, near the present.
fn is_of_run(time: Time, same: &[&Token]) -> bool {
    if same.is_empty() {
        return is_near_now(time.seconds, RUN_S.max(2.0 / time.precision));
    }
    let is_near = |other: Time| (time.seconds - other.seconds).abs() < RUN_S;
    same.iter().all(|other| other.time.is_some_and(is_near))
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
            ("%7B%22id%22%3A%22k3j9x0ab%22%7D", "%7B%22id%22%3A%22p0q8w7zz%22%7D"),
            ("01JDXYZK3M9Q7V2B8N4T6R5W0C", "01JDXYZK9F1H6S3D7G2J8K4P5A"),
            ("9F86D081", "3B5D5C37"),
            ("48219347", "90817263"),
            ("quiet-otter-tango-42", "brave-tiger-polka-87"),
            ("1764251234.1234567890", "1764251261.987654321"),
            ("1764251234.48219347", "1764251261.90817263"),
            ("{\"t\":1764251234567,\"r\":48213}", "{\"t\":1764251261871,\"r\":90127}"),
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
            ("1764251234567.0999", "1764251261871.8"),
            ("20261127134701123", "20261127140102456"),
            ("83.19999998807907", "1051.3000000715256"),
            ("variant-b", "variant-a"),
            ("control", "treatment"),
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
        assert!(tokens("original", "")[0].time.is_none(), "a word is no time");
    }

    #[test]
    fn what_only_a_later_visit_has_is_no_identifier_if_it_is_a_time() {
        let now = Clock::System.now();
        let ms = now.timestamp_millis();
        let values = [
            (ms.to_string(), vec![]),
            (now.format("%Y-%m-%d").to_string(), vec![]),
            (now.to_rfc3339(), vec![]),
            (format!("[{}, {ms}]", ms - 5000), vec![format!("[{}]", ms - 9000); 5]),
            (format!("{{\"seen\":{ms}}}"), vec!["{}".to_owned(); 5]),
        ];
        for (value, others) in values {
            let others = others.iter().map(String::as_str).collect::<Vec<_>>();
            assert!(bits(&value, &others) < ENOUGH, "{value}: {}", bits(&value, &others));
        }
        let other_time = (ms - 90_000_000).to_string();
        assert!(bits(&other_time, &[]) >= ENOUGH, "a time of another day is a number");
    }

    #[test]
    fn a_time_beside_a_small_number_is_no_identifier_and_beside_random_characters_it_is() {
        let loads = ["600", "741", "822", "903", "990"]
            .map(|load| format!("{{\"ts\":1764251261871,\"load\":{load}}}"));
        let others = loads.each_ref().map(String::as_str);
        assert!(bits("{\"ts\":1764251234567,\"load\":843}", &others) < ENOUGH);
        assert!(bits("1764251234567.k3j9", &["1764251261871.p0q8"; 1]) >= ENOUGH);
    }

    #[test]
    fn groups_that_profiles_share_do_not_identify() {
        let others = ["treatment", "treatment", "treatment"];
        assert!(bits("control", &others) < 1.0);
        assert!(bits("{\"exp\":8472611234}", &["{\"exp\":8472619911}"; 3]) < 1.0);
    }

    /// All ways to assign one of the values to each of `count` profiles.
    fn choices<'v>(values: &[&'v str], count: usize) -> Vec<Vec<&'v str>> {
        let longer = |chosen: Vec<Vec<&'v str>>| {
            let each = chosen.into_iter().flat_map(|all| {
                values.iter().map(move |value| all.iter().copied().chain([*value]).collect())
            });
            each.collect()
        };
        (0..count).fold(vec![Vec::new()], |chosen, _| longer(chosen))
    }

    #[test]
    fn no_distribution_of_groups_over_profiles_identifies() {
        let groups: &[&[&str]] = &[
            &["original", "headline-large", "headline-small"],
            &["control", "new-checkout-flow"],
            &["off", "treatment_b"],
            &["8472611234", "8472619911"],
            &["en-GB", "de", "fr-CA"],
            &["Variant A", "Variant B", "Control"],
            &["exp7:control", "exp7:image-wide", "exp7:image-tall-2"],
            &["control", "variantB"],
            &["standard", "newCheckout2", "50off-banner"],
            &["{\"price\":\"monthly\"}", "{\"price\":\"yearly\",\"offer\":\"summer sale\"}"],
        ];
        for (group, others) in groups.iter().flat_map(|group| (3..=5).map(move |n| (group, n))) {
            for chosen in choices(group, others + 1) {
                let bits = bits(chosen[0], &chosen[1..]);
                assert!(bits < ENOUGH, "{chosen:?}: {bits}");
            }
        }
    }

    #[test]
    fn an_identifier_that_others_lack_is_no_group() {
        let pairs = [
            ("id=f81d4fae", "id=none"),
            ("a1:b2:c3:d4:e5:f6", "00:00:00:00:00:00"),
            ("k3j9x0abp0q8", "new visitor"),
            ("7:19:23:88:41:67:12:90", "off"),
        ];
        for (one, other) in pairs {
            assert!(bits(one, &[other; 5]) >= ENOUGH, "{one}: {}", bits(one, &[other; 5]));
        }
        let names = ["brave-purple-otter", "quiet-yellow-tiger", "happy-orange-camel"];
        assert!(bits(names[0], &names[1..]) >= ENOUGH, "names of three words");
        let some = [&names[1..], &["anonymous", "anonymous"]].concat();
        assert!(bits(names[0], &some) >= ENOUGH, "names that two profiles lack");
    }

    #[test]
    fn an_identifier_that_two_profiles_share_is_one_in_the_others() {
        let ids = ["f81d4fae7dec11d0", "0b5c1e3691d74d4c", "93ac77d1e02b4f58", "5e6f70a1b2c3d4e5"];
        let others = [ids[1], ids[1], ids[2], ids[3]];
        assert!(bits(ids[0], &others) >= ENOUGH, "{}", bits(ids[0], &others));
        let uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
        let other = "0b5c1e36-91d7-4d4c-a8f7-53c4ad2e8d13";
        let third = "93ac77d1-e02b-4f58-9a01-7e6f5d4c3b2a";
        let fourth = "5e6f70a1-b2c3-4e5f-8a9b-0c1d2e3f4a5b";
        assert!(bits(uuid, &[other, other, third, fourth]) >= ENOUGH);
    }

    #[test]
    fn a_part_that_another_profile_has_does_not_count() {
        let values = ["state-declined", "state-untouched"];
        assert!(bits("state-declined", &values) < 1.0);
        assert!(bits("state-declined", &values[1..]) > 10.0);
    }
}
