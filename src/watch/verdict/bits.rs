//! The bits of a value that differ from the values of all other fresh profiles.

use super::tokens::{Token, tokens};

/// Profiles of a run are made within this time, so two times that are closer tell nothing else.
const RUN_S: f64 = 900.0;

/// The bits in the parts of `value` that no other value has. Times of the run count once, by their range.
pub fn bits(value: &str, others: &[&str]) -> f64 {
    let own = tokens(value);
    let others = others.iter().map(|other| tokens(other)).collect::<Vec<_>>();
    let (mut total, mut of_times) = (0.0, 0.0_f64);
    for (at, token) in own.iter().enumerate() {
        if others.iter().any(|other| other.contains(token)) {
            continue;
        }
        // Values of the same shape are compared part by part.
        let same = others.iter().filter(|other| other.len() == own.len()).map(|other| &other[at]);
        let same = same.collect::<Vec<_>>();
        match token {
            Token::Time { seconds, precision } => {
                let is_of_run = !same.is_empty() && same.iter().all(|other| near(*seconds, other));
                let bits = if is_of_run { (RUN_S.min(60.0) * precision).log2() } else { 33.0 };
                if is_of_run {
                    of_times = of_times.max(bits);
                } else {
                    total += bits;
                }
            }
            Token::Text(text) => total += text_bits(text, &same),
        }
    }
    total + of_times
}

fn near(seconds: f64, other: &Token) -> bool {
    matches!(other, Token::Time { seconds: other, .. } if (seconds - other).abs() < RUN_S)
}

/// The bits of the part of a text that is not common to all texts, by the characters that occur in it.
fn text_bits(text: &str, same: &[&Token]) -> f64 {
    let texts = same.iter().filter_map(|token| match token {
        Token::Text(text) => Some(text.chars().collect::<Vec<_>>()),
        Token::Time { .. } => None,
    });
    let others = texts.collect::<Vec<_>>();
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
    length * character_bits(&characters)
}

fn character_bits(characters: &[char]) -> f64 {
    let all = |is_in: fn(char) -> bool| characters.iter().all(|&character| is_in(character));
    let size: f64 = if all(|c| c.is_ascii_digit()) {
        10.0
    } else if all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
        || all(|c| c.is_ascii_digit() || ('A'..='F').contains(&c))
    {
        16.0
    } else if all(|c| c.is_ascii_lowercase()) || all(|c| c.is_ascii_uppercase()) {
        26.0
    } else if all(|c| c.is_ascii_digit() || c.is_ascii_lowercase())
        || all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
    {
        36.0
    } else {
        62.0
    };
    size.log2()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_part_that_another_profile_has_does_not_count() {
        let values = ["state-declined", "state-untouched"];
        assert!(bits("state-declined", &values) < 1.0);
        assert!(bits("state-declined", &values[1..]) > ENOUGH);
    }
}
