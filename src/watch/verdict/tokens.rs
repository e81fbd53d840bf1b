//! Values as parts: runs of letters and digits, with times recognised.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chrono::{DateTime, NaiveDateTime};
use percent_encoding::percent_decode_str;

/// Times between 2001 and 2065 in seconds.
const TIMES: std::ops::Range<f64> = 1e9..3e9;

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A run of letters and digits.
    Text(String),
    /// A time, in seconds since 1970, with the number of its units per second.
    Time { seconds: f64, precision: f64 },
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
        if let Some((time, length)) = date(rest) {
            found.push(time);
            rest = &rest[length..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        found.push(number_as_time(&rest[..end]).unwrap_or_else(|| Token::Text(rest[..end].into())));
        rest = &rest[end..];
    }
    found
}

/// An ISO 8601 date with time at the start of a text, and its length.
fn date(text: &str) -> Option<(Token, usize)> {
    let is_date = text.len() >= 19
        && text.is_char_boundary(19)
        && text[..4].bytes().all(|byte| byte.is_ascii_digit())
        && text.as_bytes()[4] == b'-'
        && matches!(text.as_bytes()[10], b'T' | b' ');
    if !is_date {
        return None;
    }
    let digits = text[19..]
        .strip_prefix('.')
        .map_or(0, |fraction| 1 + fraction.bytes().take_while(u8::is_ascii_digit).count());
    let end = 19 + digits;
    let time = text[..end].replace(' ', "T");
    let time = NaiveDateTime::parse_from_str(&time, "%Y-%m-%dT%H:%M:%S%.f").ok()?.and_utc();
    let zone = text[end..].bytes().take_while(|byte| b"Z+:0123456789".contains(byte)).count();
    let precision = 10_f64.powi(i32::try_from(digits.saturating_sub(1)).unwrap_or(0));
    Some((Token::Time { seconds: seconds(time), precision }, end + zone))
}

#[allow(clippy::cast_precision_loss, reason = "times of this century are exact")]
fn seconds(time: DateTime<chrono::Utc>) -> f64 {
    time.timestamp_micros() as f64 / 1e6
}

/// Numbers of seconds, milliseconds or microseconds that are times of this century.
fn number_as_time(text: &str) -> Option<Token> {
    let precision = match text.len() {
        10 => 1.0,
        13 => 1e3,
        16 => 1e6,
        _ => return None,
    };
    let seconds = text.parse::<u64>().ok()?;
    #[allow(clippy::cast_precision_loss, reason = "at most 16 digits")]
    let seconds = seconds as f64 / precision;
    TIMES.contains(&seconds).then_some(Token::Time { seconds, precision })
}
