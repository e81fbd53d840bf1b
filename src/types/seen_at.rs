//! Days, and when a person was seen.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};

use crate::error::{Error, Result};

/// When a person was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenAt {
    /// `YYYY-MM-DDTHH:MM:SSZ`, with the fraction of a second that was given, if one was.
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
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return Some((calendar_date(text)?.and_time(NaiveTime::MIN), ""));
    };
    let (time, offset) = split_offset(time)?;
    let (time, fraction) = match time.split_once(['.', ',']) {
        Some((time, fraction)) if is_fraction(fraction) => (time, fraction),
        Some(_) => return None,
        None => (time, ""),
    };
    let fields = two_digit_fields(time, ':')?;
    let (hour, minute, second) = match fields[..] {
        [hour, minute] if fraction.is_empty() => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let local = calendar_date(date)?.and_hms_opt(hour, minute, second)?;
    let utc = local.checked_sub_signed(offset)?;
    (1..=9999).contains(&utc.year()).then_some((utc, fraction))
}

fn calendar_date(text: &str) -> Option<NaiveDate> {
    let (year, rest) = text.split_at_checked(4)?;
    let rest = rest.strip_prefix('-').map_or_else(
        || (!rest.contains('-')).then_some(rest),
        |rest| rest.contains('-').then_some(rest),
    )?;
    let [month, day] = two_digit_fields(rest, '-')?[..] else { return None };
    let year = digits(year)?;
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).filter(|_| year > 0)
}

/// A day as `YYYY-MM-DD` and in no other form.
pub fn parse_day(text: &str) -> Result<NaiveDate> {
    let date = (text.len() == 10).then(|| calendar_date(text)).flatten();
    date.ok_or(Error::OnMalformed)
}

/// Splits `Z`, `±HH:MM`, `±HHMM` or `±HH` off a time of day; without one the offset is zero.
fn split_offset(time: &str) -> Option<(&str, TimeDelta)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, TimeDelta::zero()));
    }
    let Some(start) = time.find(['+', '-']) else { return Some((time, TimeDelta::zero())) };
    let (time, offset) = time.split_at(start);
    let (hours, minutes) = match two_digit_fields(&offset[1..], ':')?[..] {
        [hours] => (hours, 0),
        [hours, minutes] => (hours, minutes),
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let size = TimeDelta::minutes(i64::from(hours * 60 + minutes));
    Some((time, if offset.starts_with('-') { -size } else { size }))
}

/// Numbers of two digits, with the separator between all of them or none.
fn two_digit_fields(text: &str, separator: char) -> Option<Vec<u32>> {
    if !text.is_ascii() {
        return None;
    }
    let fields = match text.contains(separator) {
        true => text.split(separator).collect::<Vec<_>>(),
        false => (0..text.len())
            .step_by(2)
            .map(|start| &text[start..text.len().min(start + 2)])
            .collect(),
    };
    fields.into_iter().map(|field| digits(field).filter(|_| field.len() == 2)).collect()
}

fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Down to the nanosecond.
fn is_fraction(text: &str) -> bool {
    (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

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
