//! The time in a time-stamp token (a GeneralizedTime, RFC 3161, section 2.4.2). The type of the crate `der`
//! refuses fractions of a second, which RFC 3161 permits.

use std::fmt;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

/// `YYYYMMDDhhmmss`
const WHOLE: usize = 14;
/// Maximum number of fraction digits.
const MOST_DIGITS: usize = 9;

/// Accepted difference between two clocks.
const LEEWAY: TimeDelta = TimeDelta::minutes(1);

/// A time in UTC on a valid date, possibly with a fraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampTime {
    second: DateTime<Utc>,
    /// `.25`, or empty.
    fraction: String,
}

impl StampTime {
    /// Parses `20260310120000Z` or `20260310120000.25Z`; rejects everything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, rest) = text.split_at_checked(WHOLE)?;
        let fraction = rest.strip_suffix('Z')?;
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_fraction = fraction.is_empty()
            || fraction.strip_prefix('.').is_some_and(|digits| {
                (1..=MOST_DIGITS).contains(&digits.len()) && is_digits(digits)
            });
        let second = NaiveDateTime::parse_from_str(whole, "%Y%m%d%H%M%S").ok()?.and_utc();
        // Chrono parses a second 60 as a second with more than 999,999,999 nanoseconds.
        let is_plain = second.timestamp_subsec_nanos() == 0;
        let fraction = fraction.to_owned();
        (is_digits(whole) && is_fraction && is_plain).then_some(Self { second, fraction })
    }

    /// Whether the time is earlier than another one by more than clocks may differ.
    pub fn is_before(&self, other: DateTime<Utc>) -> bool {
        self.second < other - LEEWAY
    }
}

/// Formatted like all other times.
impl fmt::Display for StampTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}Z", self.second.format("%Y-%m-%dT%H:%M:%S"), self.fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_everywhere_else() {
        let written = |text: &str| StampTime::parse(text).unwrap().to_string();
        assert_eq!(written("20260310120001Z"), "2026-03-10T12:00:01Z");
        assert_eq!(written("20260310120001.25Z"), "2026-03-10T12:00:01.25Z");
        assert_eq!(written("20240229000000Z"), "2024-02-29T00:00:00Z");
    }

    #[test]
    fn a_time_may_precede_another_by_the_clock_difference() {
        let time = StampTime::parse("20260310120000.9Z").unwrap();
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        assert!(!time.is_before(at("2026-03-10T12:01:00Z")));
        assert!(time.is_before(at("2026-03-10T12:01:01Z")));
    }

    #[test]
    fn invalid_dates_and_seconds_are_refused() {
        let odd = [
            "",
            "Z",
            "20260310Z",
            "202603101200Z",
            "2026031012000éZ",
            "202603101200011Z",
            "20269999999999Z",
            "20260230120000Z",
            "20250229120000Z",
            "20260310240000Z",
            "20260310126000Z",
            "20260310120060Z",
            "20260310120000",
            "20260310120000z",
            "20260310120000+0100",
            "20260310120000.Z",
            "20260310120000,5Z",
            "20260310120000.1234567890Z",
            "20260310120000. 5Z",
            "+2026031012000Z",
            " 2026031012000Z",
            "20260310120000Z\n",
            "1999-01-01, which openssl has found genuine. No time stamp",
        ];
        for text in odd {
            assert_eq!(StampTime::parse(text), None, "{text}");
        }
    }
}
