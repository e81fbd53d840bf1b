//! Counts per day: how often the popup was shown, and what was answered.

use std::collections::BTreeMap;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::store::counts;
use super::terms::{ConsentState, Purpose};
use crate::accounts::Caller;
use crate::error::{Error, FieldError, Result};
use crate::ids::PixelId;
use crate::pixels;
use crate::platform::Platform;

/// Days that are counted when the caller names none.
const DEFAULT_DAYS: u64 = 30;
/// Days that one answer covers at most: a year, and room to compare it with the one before.
const MAX_DAYS: i64 = 400;

/// A range of UTC days, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayRange {
    from: NaiveDate,
    to: NaiveDate,
}

impl DayRange {
    /// Reads `from` and `to` as a caller sends them. Without `to` the range ends `today`, without
    /// `from` it has 30 days.
    pub fn parse(from: Option<&str>, to: Option<&str>, today: NaiveDate) -> Result<Self> {
        let to = to.map(|text| day("to", text)).transpose()?.unwrap_or(today);
        let from = match from {
            Some(text) => day("from", text)?,
            None => to.checked_sub_days(Days::new(DEFAULT_DAYS - 1)).unwrap_or(to),
        };
        if from > to {
            return Err(invalid("from", "must not be after to", "value_error"));
        }
        if (to - from).num_days() >= MAX_DAYS {
            let message = format!("the range may have at most {MAX_DAYS} days");
            return Err(invalid("from", message, "value_error"));
        }
        Ok(Self { from, to })
    }

    fn days(self) -> impl Iterator<Item = NaiveDate> {
        self.from.iter_days().take_while(move |day| *day <= self.to)
    }

    /// The first moment of the range, and the first after it.
    fn moments(self) -> (DateTime<Utc>, DateTime<Utc>) {
        let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        (midnight(self.from), midnight(self.to) + chrono::Duration::days(1))
    }
}

/// Exactly `YYYY-MM-DD`: chrono alone would take `2026-3-1` and years of five digits as well.
fn day(name: &str, text: &str) -> Result<NaiveDate> {
    let parsed = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    parsed
        .filter(|day| day.to_string() == text)
        .ok_or_else(|| invalid(name, "must be a day, YYYY-MM-DD", "date_parsing"))
}

fn invalid(name: &str, message: impl Into<String>, kind: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["query", name], message, kind)])
}

/// Counts of one day, or of all days together.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
pub struct Counts {
    /// Visitors who saw the popup, each once a day.
    pub shown: i64,
    pub accepted: i64,
    pub declined: i64,
    pub withdrawn: i64,
    /// How often each purpose was granted; all purposes, in order of their names.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub purposes: BTreeMap<&'static str, i64>,
}

impl Default for Counts {
    fn default() -> Self {
        let purposes = Purpose::ALL.iter().map(|purpose| (purpose.as_str(), 0)).collect();
        Self { shown: 0, accepted: 0, declined: 0, withdrawn: 0, purposes }
    }
}

impl Counts {
    fn add(&mut self, choices: &ChoiceCount) {
        *match choices.state {
            ConsentState::Accepted => &mut self.accepted,
            ConsentState::Declined => &mut self.declined,
            ConsentState::Withdrawn => &mut self.withdrawn,
        } += choices.count;
        for purpose in &choices.purposes {
            *self.purposes.entry(purpose.as_str()).or_default() += choices.count;
        }
    }
}

/// A day with its counts.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct DayCounts {
    /// `YYYY-MM-DD`, UTC.
    pub day: NaiveDate,
    #[serde(flatten)]
    pub counts: Counts,
}

/// The answer: every day of the range, oldest first, also those on which nothing happened.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Stats {
    pub pixel_id: PixelId,
    /// The first day, `YYYY-MM-DD`.
    pub from: NaiveDate,
    /// The last day, `YYYY-MM-DD`.
    pub to: NaiveDate,
    pub days: Vec<DayCounts>,
    pub totals: Counts,
}

/// How many equal answers a day had.
pub struct ChoiceCount {
    pub day: NaiveDate,
    pub state: ConsentState,
    pub purposes: Vec<Purpose>,
    pub count: i64,
}

/// How many visitors saw the popup on a day.
pub struct ShownCount {
    pub day: NaiveDate,
    pub count: i64,
}

/// Counts what happened to a pixel's popup.
pub async fn count(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    range: DayRange,
) -> Result<Stats> {
    let pixel_id = pixels::pixel::find_for(platform, caller, pixel_id).await?.pixel_id;
    let (start, end) = range.moments();
    let mut connection = platform.read_pool.acquire().await?;
    let choices = counts::count_choices(&mut connection, &pixel_id, start, end).await?;
    let shown = counts::count_shown(&mut connection, &pixel_id, range.from, range.to).await?;
    Ok(tally(pixel_id, range, &choices, &shown))
}

fn tally(
    pixel_id: PixelId,
    range: DayRange,
    choices: &[ChoiceCount],
    shown: &[ShownCount],
) -> Stats {
    let mut days =
        range.days().map(|day| (day, Counts::default())).collect::<BTreeMap<_, Counts>>();
    let mut totals = Counts::default();
    for choices in choices {
        totals.add(choices);
        days.entry(choices.day).or_default().add(choices);
    }
    for shown in shown {
        totals.shown += shown.count;
        days.entry(shown.day).or_default().shown += shown.count;
    }
    let days = days.into_iter().map(|(day, counts)| DayCounts { day, counts }).collect();
    Stats { pixel_id, from: range.from, to: range.to, days, totals }
}

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
    fn only_days_are_days() {
        for bad in ["2026-3-1", "2026-02-29", "+12026-01-01", "20260301", "today", "2026-03-01T00"]
        {
            assert!(range(Some(bad), Some("2026-03-10")).is_err(), "{bad}");
        }
    }
}
