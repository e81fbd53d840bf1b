//! Splits values into parts, which are runs of letters and digits, and recognises times and durations.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_PAD_INDIFFERENT, URL_SAFE_PAD_INDIFFERENT};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use percent_encoding::percent_decode_str;

use crate::clock::Clock;

use super::classes::{is_word, names_duration};
use super::durations::{Number, measured, number};

/// Times between 2001 and 2065 in seconds.
const TIMES: std::ops::Range<f64> = 1e9..3e9;
/// Numbers in base 16 or 36 are times only within this many seconds of now, because many words are such numbers.
const NEAR_NOW: f64 = 2.0 * DAY;
const DAY: f64 = 86_400.0;
/// The length of a date of the form `2026-11-30`.
const DATE: usize = 10;
const MAX_FRACTION: usize = 9;
/// Maximum decimal places of seconds and of milliseconds since 1970: numbers in JavaScript are not more precise.
const MAX_OF_SECONDS: usize = 7;
const MAX_OF_MS: usize = 4;

#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub text: String,
    pub time: Option<Time>,
    /// The number, if it may be a duration.
    pub number: Option<Number>,
}

/// A time in seconds since 1970, with the number of its units per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    pub seconds: f64,
    pub precision: f64,
}

/// Removes percent-encoding, and base64 if the decoded text is readable.
fn decoded(value: &str) -> String {
    let value = percent_decode_str(value).decode_utf8().map_or(value.to_owned(), Into::into);
    if value.len() < 16 {
        return value;
    }
    for engine in [&STANDARD_PAD_INDIFFERENT, &URL_SAFE_PAD_INDIFFERENT] {
        let text = engine.decode(&value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(text) = text.filter(|text| !text.chars().any(char::is_control)) {
            return text;
        }
    }
    value
}

/// Splits a value into parts. `name` counts as the word before the first part.
pub fn tokens(value: &str, name: &str) -> Vec<Token> {
    let value = decoded(value);
    let (mut found, mut rest) = (Vec::<Token>::new(), value.as_str());
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric()) {
        let is_chained = &rest[..start] == ".";
        rest = &rest[start..];
        let before = found.last().map_or(name, |token| token.text.as_str());
        let (token, length) = first(rest, before, is_chained);
        found.push(token);
        rest = &rest[length..];
    }
    found
}

/// The texts of the parts, with `None` for words, times, durations and parts that are not counted.
pub fn items(tokens: &[Token], is_counted: fn(&str) -> bool) -> Vec<Option<&str>> {
    let is_measured = |number: Number| number.is_named || number.step < 1.0;
    let is_item = |token: &Token| {
        let is_known = token.time.is_some() || token.number.is_some_and(is_measured);
        !is_known && !is_word(&token.text) && is_counted(&token.text)
    };
    tokens.iter().map(|token| is_item(token).then_some(token.text.as_str())).collect()
}

/// Returns the part at the start of a text, and its length.
fn first(text: &str, before: &str, is_chained: bool) -> (Token, usize) {
    let of_time = |time: Time, length: usize| {
        (Token { text: text[..length].to_owned(), time: Some(time), number: None }, length)
    };
    if let Some((time, length)) = date(text) {
        return of_time(time, length);
    }
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let (run, fraction) = (&text[..end], fraction(&text[end..]));
    let whole = &text[..end + fraction];
    if let Some(mut time) = number_as_time(run).or_else(|| compact(run)).or_else(|| coded(run)) {
        if !is_of_time(run, &whole[end..]) {
            return of_time(time, end);
        }
        time.precision *= power(fraction - 1);
        return of_time(time, whole.len());
    }
    let measured = measured(whole, fraction).map(|(digits, number)| (digits, number, whole.len()));
    let found = measured.or_else(|| number(text).filter(|_| !is_chained));
    let Some((text, mut number, length)) = found else {
        return (Token { text: run.to_owned(), time: None, number: None }, end);
    };
    number.is_named |= names_duration(before);
    (Token { text, time: None, number: Some(number) }, length)
}

/// Whether a point and digits belong to the time before them. More digits than the maximum are a separate number, and
/// so are those after milliseconds, unless they are tenths with a rounding error.
fn is_of_time(run: &str, fraction: &str) -> bool {
    let digits = fraction.len().saturating_sub(1);
    let is_tenth = |part: f64| (part * 10.0 - (part * 10.0).round()).abs() < 0.006;
    match run.len() {
        10 => (1..=MAX_OF_SECONDS).contains(&digits),
        13 => digits <= MAX_OF_MS && fraction.parse::<f64>().is_ok_and(is_tenth),
        _ => false,
    }
}

/// The length of a point and the digits after it.
fn fraction(text: &str) -> usize {
    let Some(digits) = text.strip_prefix('.') else { return 0 };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 { 0 } else { length + 1 }
}

fn power(digits: usize) -> f64 {
    10_f64.powi(i32::try_from(digits.min(MAX_FRACTION)).unwrap_or(0))
}

/// Whether a time is less than `most` seconds from now.
pub fn is_near_now(seconds_since_1970: f64, most: f64) -> bool {
    (seconds_since_1970 - seconds(Clock::System.now())).abs() < most
}

/// Parses an ISO 8601 date with time, or a date near the present, at the start of a text. Returns its length as well.
fn date(text: &str) -> Option<(Time, usize)> {
    date_and_time(text).or_else(|| {
        let (date, rest) = text.split_at_checked(DATE)?;
        let is_date = date.as_bytes()[4] == b'-'
            && date.as_bytes()[7] == b'-'
            && !rest.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let date = is_date.then(|| NaiveDate::parse_from_str(date, "%Y-%m-%d"))?.ok()?;
        let seconds = seconds(date.and_time(NaiveTime::MIN).and_utc());
        is_near_now(seconds, NEAR_NOW).then_some((Time { seconds, precision: 1.0 / DAY }, DATE))
    })
}

fn date_and_time(text: &str) -> Option<(Time, usize)> {
    let is_date = text.len() >= 19
        && text.is_char_boundary(19)
        && text.as_bytes()[..4].iter().all(u8::is_ascii_digit)
        && text.as_bytes()[4] == b'-'
        && matches!(text.as_bytes()[10], b'T' | b' ');
    if !is_date {
        return None;
    }
    let digits = fraction(&text[19..]);
    let end = 19 + digits;
    let time = text[..end].replace(' ', "T");
    let time = NaiveDateTime::parse_from_str(&time, "%Y-%m-%dT%H:%M:%S%.f").ok()?.and_utc();
    let zone = text[end..].bytes().take_while(|byte| b"Z+:0123456789".contains(byte)).count();
    let precision = power(digits.saturating_sub(1));
    Some((Time { seconds: seconds(time), precision }, end + zone))
}

/// Parses a date and time that consists only of digits, perhaps with milliseconds.
fn compact(text: &str) -> Option<Time> {
    let is_date = matches!(text.len(), 14 | 17) && text.bytes().all(|byte| byte.is_ascii_digit());
    let time = NaiveDateTime::parse_from_str(text.get(..14).filter(|_| is_date)?, "%Y%m%d%H%M%S");
    let seconds = seconds(time.ok()?.and_utc());
    TIMES.contains(&seconds).then(|| Time { seconds, precision: power(text.len() - 14) })
}

#[allow(clippy::cast_precision_loss, reason = "times of this century are exact")]
fn seconds(time: DateTime<Utc>) -> f64 {
    time.timestamp_micros() as f64 / 1e6
}

/// Parses seconds, milliseconds or microseconds since 1970, if the time is within `TIMES`.
fn number_as_time(text: &str) -> Option<Time> {
    let precision = match text.len() {
        10 => 1.0,
        13 => 1e3,
        16 => 1e6,
        _ => return None,
    };
    let seconds = text.parse::<u64>().ok()?;
    #[allow(clippy::cast_precision_loss, reason = "at most 16 digits")]
    let seconds = seconds as f64 / precision;
    TIMES.contains(&seconds).then_some(Time { seconds, precision })
}

/// Parses seconds or milliseconds since 1970 in base 16 or 36, if the time is near the present.
fn coded(text: &str) -> Option<Time> {
    let bases = match text.len() {
        8 => [(16, 1.0), (36, 1e3)],
        11 => [(16, 1e3), (16, 1e3)],
        6 => [(36, 1.0), (36, 1.0)],
        _ => return None,
    }
    .into_iter();
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    let time = |(base, precision)| {
        let seconds = u64::from_str_radix(text, base).ok()? as f64 / precision;
        is_near_now(seconds, NEAR_NOW).then_some(Time { seconds, precision })
    };
    bases.filter_map(time).next()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nix::time::{ClockId, clock_gettime};

    use super::*;
    use crate::verdict::bits::bits;

    #[test]
    fn any_text_has_tokens() {
        // Stored bytes become text with arbitrary characters, which must not be split.
        for character in ["é", "‘", "æ", "\u{fffd}", "😀"] {
            for before in 0..25 {
                let text = ["2", "-", "a", " "].map(|part| {
                    let text =
                        part.repeat(before) + character + "026-03-10T12:00:00.5Z" + character;
                    tokens(&text, "")
                });
                assert!(text.iter().all(|tokens| !tokens.is_empty()), "{character}, {before}");
            }
        }
    }

    #[test]
    fn decimal_numbers_are_one_part_and_addresses_are_several() {
        let texts = |value: &str| {
            let found = tokens(value, "").into_iter().map(|token| token.text);
            found.collect::<Vec<_>>()
        };
        assert_eq!(texts("lcp=1234.5|12ms"), ["lcp", "12345", "12", "ms"]);
        assert_eq!(texts("GA1.2.12345.67"), ["GA1", "2", "12345", "67"]);
        let is_named = |value: &str, name: &str| {
            tokens(value, name)[0].number.is_some_and(|number| number.is_named)
        };
        assert!(is_named("12", "loadTime") && is_named("12ms", "") && !is_named("12", "id"));
    }

    #[test]
    fn long_values_take_no_longer_than_their_length() {
        let used = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
        let before = used();
        let texts = ["1-", "ab ", "load=9.5,", "1.5ms ", "2026-11-", "a1b2c3."];
        let values = texts.map(|text| text.repeat(65_536 / text.len()));
        for (value, other) in values.iter().zip(values.iter().rev()) {
            bits(value, &[other.as_str(); 5]);
        }
        let took = used() - before;
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}
