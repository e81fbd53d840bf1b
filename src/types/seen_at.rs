//! ISO 8601 times in the documented formats. `jiff` and `chrono` accept others, so a regular expression defines them.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};
use regex::Regex;

use crate::error::{Error, Result};

const YEARS: RangeInclusive<i32> = 1..=9999;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenAt {
    /// `YYYY-MM-DDTHH:MM:SSZ`, with a fraction of a second if one was given.
    pub text: String,
    /// Its day in UTC.
    pub day: NaiveDate,
}

impl SeenAt {
    /// Reads an ISO 8601 time. Without an offset it is UTC, a date alone is its midnight, and
    /// an empty text is `now`.
    pub fn parse(text: &str, now: DateTime<Utc>) -> Result<Self> {
        match text.trim() {
            "" => Ok(Self::new(now.naive_utc(), "")),
            text => {
                let (time, fraction) = instant(text).ok_or(Error::SeenAtMalformed)?;
                Ok(Self::new(time, fraction))
            }
        }
    }

    fn new(time: NaiveDateTime, fraction: &str) -> Self {
        let point = if fraction.is_empty() { "" } else { "." };
        let text = format!("{}{point}{fraction}Z", time.format("%Y-%m-%dT%H:%M:%S"));
        Self { text, day: time.date() }
    }
}

/// The whole second in UTC, and the digits of the fraction.
fn instant(text: &str) -> Option<(NaiveDateTime, &str)> {
    // Chrono alone would also accept signs, blanks, missing zeros and a second 60.
    static ISO_TIME: LazyLock<Regex> = LazyLock::new(|| {
        let form = r"(?x)^
            (?<date> [0-9]{4}-[0-9]{2}-[0-9]{2} | [0-9]{8})
            (?: [Tt\ ]
                (?<time> [0-9]{2}:[0-9]{2} (?: :[0-5][0-9])? | [0-9]{4} (?: [0-5][0-9])?)
                (?: [.,] (?<fraction> [0-9]{1,9}))?
                (?: [Zz] | (?<offset> [+-][0-9]{2} (?: :?[0-9]{2})?))?
            )?$";
        Regex::new(form).expect("a regular expression")
    });
    let found = ISO_TIME.captures(text)?;
    let part = |name| found.name(name).map(|part| part.as_str());
    let (time, fraction) = (part("time").unwrap_or_default(), part("fraction").unwrap_or_default());
    let offset = part("offset").unwrap_or("+").replace(':', "");
    let digits = [&found["date"], time].concat().replace(['-', ':'], "");
    // A fraction is permitted only after a second.
    if !fraction.is_empty() && digits.len() < "YYYYMMDDhhmmss".len() {
        return None;
    }
    let plain = format!("{digits:0<14}{offset:0<5}");
    let local = DateTime::parse_from_str(&plain, "%Y%m%d%H%M%S%z").ok()?;
    let utc = local.naive_utc();
    (YEARS.contains(&local.year()) && YEARS.contains(&utc.year())).then_some((utc, fraction))
}

/// A day as `YYYY-MM-DD` and in no other form.
pub fn parse_day(text: &str) -> Result<NaiveDate> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    // Chrono also accepts signs, blanks and missing zeros.
    let day = day.filter(|day| YEARS.contains(&day.year()) && day.to_string() == text);
    day.ok_or(Error::OnMalformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{TimeDelta, TimeZone};

    fn parse(text: &str) -> Option<String> {
        let now = Utc.with_ymd_and_hms(2026, 3, 10, 12, 0, 0).unwrap();
        SeenAt::parse(text, now + TimeDelta::microseconds(5)).ok().map(|seen| seen.text)
    }

    #[test]
    fn a_time_is_kept_in_utc_with_its_fraction() {
        for (given, kept) in [
            ("", "2026-03-10T12:00:00Z"),
            ("  ", "2026-03-10T12:00:00Z"),
            ("2026-03-01", "2026-03-01T00:00:00Z"),
            ("20260301", "2026-03-01T00:00:00Z"),
            ("2026-03-01T10:20:30Z", "2026-03-01T10:20:30Z"),
            ("2026-03-01t10:20:30z", "2026-03-01T10:20:30Z"),
            ("2026-03-01 10:20:30", "2026-03-01T10:20:30Z"),
            ("2026-03-01T10:20", "2026-03-01T10:20:00Z"),
            ("20260301T102030Z", "2026-03-01T10:20:30Z"),
            ("2026-03-01T10:20:30.5Z", "2026-03-01T10:20:30.5Z"),
            ("2026-03-01T10:20:30,250+00:00", "2026-03-01T10:20:30.250Z"),
            ("2026-03-01T10:20:30.000000001Z", "2026-03-01T10:20:30.000000001Z"),
            ("2026-03-01T00:30:00+02:00", "2026-02-28T22:30:00Z"),
            ("2026-02-28T23:30:00.999-0130", "2026-03-01T01:00:00.999Z"),
            ("2024-02-29T23:00:00-01", "2024-03-01T00:00:00Z"),
        ] {
            assert_eq!(parse(given).as_deref(), Some(kept), "{given}");
        }
    }

    #[test]
    fn what_is_no_iso_time_is_refused() {
        for bad in [
            "yesterday",
            "1772360430",
            "2026-3-1",
            "2026-0301",
            "202603-01",
            "2026-02-30",
            "2026-13-01",
            "0000-01-01",
            "+2026-03-01",
            "2026-03-01Z",
            "2026-03-01T",
            "2026-03-01T10",
            "2026-03-01T24:00:00",
            "2026-03-01T23:59:60Z",
            "2026-03-01T10:20:30.Z",
            "2026-03-01T10:20:30.1234567890Z",
            "2026-03-01T10:20.5Z",
            "2026-03-01T10:20:30+24:00",
            "2026-03-01T10:20:30+02:00:00",
            "2026-03-01T10:20:30+",
            "2026-03-01T10:20:30ZZ",
            "9999-12-31T23:59:59-01:00",
            "0001-01-01T00:00:00+01:00",
            "２０２６-03-01",
            "2026-03-01T１0:20:30Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_day_has_one_form() {
        assert_eq!(parse_day("2026-02-28").ok(), NaiveDate::from_ymd_opt(2026, 2, 28));
        for bad in [
            "20260228",
            "2026-02-29",
            "2026-2-28",
            "2026-02-28T",
            "02-28-2026",
            "today",
            "2026-02-ä",
        ] {
            assert!(matches!(parse_day(bad), Err(Error::OnMalformed)), "{bad}");
        }
    }
}
