use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, Utc};

use crate::error::{Error, Result};
use crate::types::parameter::{wrong, wrong_kind};
use crate::types::text::present;

const DEFAULT_DAYS: u64 = 30;
/// Maximum number of days per answer: a year, with a margin for comparing it with the year before.
const MAX_DAYS: i64 = 400;

/// Years of four digits. Beyond them, date arithmetic or PostgreSQL may fail.
const YEARS: RangeInclusive<i32> = 1..=9999;

/// An inclusive range of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayRange {
    pub from: NaiveDate,
    pub to: NaiveDate,
}

impl DayRange {
    /// Parses `from` and `to`; blank values count as missing. Without `to` the range ends `today`; without
    /// `from` it has 30 days.
    pub fn parse(from: Option<&str>, to: Option<&str>, today: NaiveDate) -> Result<Self> {
        let (from, to) = (present(from), present(to));
        let to = to.map(|text| day("to", text)).transpose()?.unwrap_or(today);
        let from = match from {
            Some(text) => day("from", text)?,
            None => to
                .checked_sub_days(Days::new(DEFAULT_DAYS - 1))
                .filter(|from| YEARS.contains(&from.year()))
                .or(NaiveDate::from_yo_opt(*YEARS.start(), 1))
                .unwrap_or(to),
        };
        if from > to {
            return Err(wrong_order());
        }
        if (to - from).num_days() >= MAX_DAYS {
            let message = format!("the range may have at most {MAX_DAYS} days");
            return Err(wrong("from", message));
        }
        Ok(Self { from, to })
    }

    /// The days of the range in ascending order.
    pub fn days(self) -> impl Iterator<Item = NaiveDate> {
        self.from.iter_days().take_while(move |day| *day <= self.to)
    }

    pub fn contains(self, day: NaiveDate) -> bool {
        (self.from..=self.to).contains(&day)
    }
}

/// Exactly `YYYY-MM-DD`: chrono would also accept `2026-3-1` and years of five digits.
pub fn day(name: &str, text: &str) -> Result<NaiveDate> {
    let parsed = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    parsed
        .filter(|day| day.to_string() == text && YEARS.contains(&day.year()))
        .ok_or_else(|| wrong_kind(name, "must be a day, YYYY-MM-DD", "date_parsing"))
}

/// The refusal of a range that ends before it begins.
pub fn wrong_order() -> Error {
    wrong("from", "must not be after to")
}

/// A range of times; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub from: DateTime<Utc>,
    pub until: DateTime<Utc>,
}

impl Times {
    /// All times that this service's clock can have returned.
    pub const ALL: Self = Self { from: DateTime::UNIX_EPOCH, until: END_OF_TIME };

    /// Whole UTC days; either end is open if blank or missing.
    pub fn parse(from: Option<&str>, to: Option<&str>) -> Result<Self> {
        let (from, to) = (present(from), present(to));
        let from = from.map(|text| day("from", text)).transpose()?;
        let to = to.map(|text| day("to", text)).transpose()?;
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Err(wrong_order());
        }
        let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        let until = to.map(|to| to.checked_add_days(Days::new(1)).map_or(END_OF_TIME, midnight));
        Ok(Self {
            from: from.map_or(Self::ALL.from, midnight),
            until: until.unwrap_or(END_OF_TIME),
        })
    }

    /// The intersection.
    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }
}

/// The start of the year 9999.
const END_OF_TIME: DateTime<Utc> = match DateTime::from_timestamp(253_370_764_800, 0) {
    Some(time) => time,
    None => DateTime::UNIX_EPOCH,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn range(from: Option<&str>, to: Option<&str>) -> Result<(NaiveDate, NaiveDate)> {
        DayRange::parse(from, to, date("2026-03-10")).map(|range| (range.from, range.to))
    }

    #[test]
    fn without_days_it_is_the_last_thirty() {
        let last_thirty = (date("2026-02-09"), date("2026-03-10"));
        assert_eq!(range(None, None).unwrap(), last_thirty);
        assert_eq!(DayRange { from: last_thirty.0, to: last_thirty.1 }.days().count(), 30);
    }

    #[test]
    fn a_range_has_at_most_400_days() {
        assert!(range(Some("2025-02-04"), Some("2026-03-10")).is_ok());
        assert!(range(Some("2025-02-03"), Some("2026-03-10")).is_err());
    }

    #[test]
    fn the_first_and_the_last_year_have_ends() {
        let first = range(None, Some("0001-01-10")).unwrap();
        assert_eq!(first, (date("0001-01-01"), date("0001-01-10")));
        let last = DayRange::parse(Some("9999-12-31"), Some("9999-12-31"), date("2026-03-10"));
        assert_eq!(last.unwrap().days().count(), 1);
    }

    #[test]
    fn only_days_are_days() {
        for bad in ["+262142-12-31", "+10000-01-01", "-9999-01-01", "0000-12-31"] {
            assert!(range(None, Some(bad)).is_err(), "{bad}");
        }
        for bad in ["2026-3-1", "2026-02-29", "+12026-01-01", "20260301", "today", "2026-03-01T00"]
        {
            assert!(range(Some(bad), Some("2026-03-10")).is_err(), "{bad}");
        }
    }
}
