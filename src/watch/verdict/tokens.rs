//! Values as parts: runs of letters and digits, with times and measurements recognised.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chrono::{DateTime, NaiveDateTime, Utc};
use percent_encoding::percent_decode_str;

use crate::clock::Clock;

/// Times between 2001 and 2065 in seconds.
const TIMES: std::ops::Range<f64> = 1e9..3e9;
/// Numbers of other bases are times only within this time from now, in seconds, because many words are such
/// numbers.
const NEAR_NOW: f64 = 2.0 * 86_400.0;
const MAX_FRACTION: usize = 9;

#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub text: String,
    pub time: Option<Time>,
}

/// A time in seconds since 1970, with the number of its units per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    pub seconds: f64,
    pub precision: f64,
}

/// The value without percent encoding, and without base64 around a readable text.
fn decoded(value: &str) -> String {
    let value = percent_decode_str(value).decode_utf8().map_or(value.to_owned(), Into::into);
    if value.len() < 16 {
        return value;
    }
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    for alphabet in [&STANDARD, &URL_SAFE] {
        let engine = GeneralPurpose::new(alphabet, config);
        let text = engine.decode(&value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(text) = text.filter(|text| !text.chars().any(char::is_control)) {
            return text;
        }
    }
    value
}

pub fn tokens(value: &str) -> Vec<Token> {
    let value = decoded(value);
    let (mut found, mut rest) = (Vec::new(), value.as_str());
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric()) {
        rest = &rest[start..];
        let (token, length) = first(rest);
        found.push(token);
        rest = &rest[length..];
    }
    found
}

fn first(text: &str) -> (Token, usize) {
    if let Some((time, length)) = date(text) {
        return (Token { text: text[..length].to_owned(), time: Some(time) }, length);
    }
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let (run, fraction) = (&text[..end], fraction(&text[end..]));
    let whole = &text[..end + fraction];
    if let Some(mut time) = number_as_time(run).or_else(|| compact(run)).or_else(|| coded(run)) {
        let is_exact = run.len() == 10 && fraction > 0;
        if is_exact {
            time.precision *= power(fraction - 1);
        }
        let length = if is_exact { whole.len() } else { end };
        return (Token { text: text[..length].to_owned(), time: Some(time) }, length);
    }
    if let Some(measured) = measured(whole, fraction) {
        return (Token { text: measured, time: None }, whole.len());
    }
    (Token { text: run.to_owned(), time: None }, end)
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

/// A duration of the browser's clock, which counts tenths of a millisecond, without its error of rounding.
fn measured(text: &str, fraction: usize) -> Option<String> {
    let is_short = fraction >= 6 && text.len() - fraction <= 7;
    let number = text.parse::<f64>().ok().filter(|_| is_short)?;
    let tenths = (number * 10.0).round();
    ((number * 10.0 - tenths).abs() < 1e-4).then(|| format!("{tenths:.0}"))
}

/// An ISO 8601 date with time at the start of a text, and its length.
fn date(text: &str) -> Option<(Time, usize)> {
    let is_date = text.len() >= 19
        && text.is_char_boundary(19)
        && text[..4].bytes().all(|byte| byte.is_ascii_digit())
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

/// A date and time of digits only, perhaps with milliseconds.
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

/// Numbers of seconds, milliseconds or microseconds that are times of this century.
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

/// Seconds or milliseconds of about now, in base 16 or 36.
fn coded(text: &str) -> Option<Time> {
    let (base, precision) = match text.len() {
        8 => [(16, 1.0), (36, 1e3)],
        11 => [(16, 1e3), (16, 1e3)],
        6 => [(36, 1.0), (36, 1.0)],
        _ => return None,
    }
    .into_iter()
    .find(|&(base, precision)| is_near_now(text, base, precision))?;
    #[allow(clippy::cast_precision_loss, reason = "near the present time")]
    let seconds = u64::from_str_radix(text, base).ok()? as f64 / precision;
    Some(Time { seconds, precision })
}

#[allow(clippy::cast_precision_loss, reason = "an estimate")]
fn is_near_now(text: &str, base: u32, precision: f64) -> bool {
    let now = Clock::System.now().timestamp() as f64;
    let number = u64::from_str_radix(text, base);
    number.is_ok_and(|number| (number as f64 / precision - now).abs() < NEAR_NOW)
}
