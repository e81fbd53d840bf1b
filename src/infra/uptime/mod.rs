//! The minutes in which at least one node could write to the database, per UTC day.

mod store;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Timelike, Utc};
use sqlx::PgPool;

use crate::error::Result;

const HISTORY: u64 = 90;

pub struct UptimeOfDay {
    pub day: NaiveDate,
    pub minutes: i32,
    /// The number of minutes of the day so far, from the first counted minute of the history.
    pub expected: i64,
}

impl UptimeOfDay {
    /// The percentage of the expected minutes that were counted, at most 100.
    pub fn percent(&self) -> f64 {
        if self.expected <= 0 {
            return 100.0;
        }
        let expected = f64::from(i32::try_from(self.expected).unwrap_or(i32::MAX));
        (f64::from(self.minutes) * 100.0 / expected).min(100.0)
    }
}

/// Counts the current minute once for all nodes, and deletes days that are older than the history.
pub async fn count_minute(pool: &PgPool, now: DateTime<Utc>) -> Result<()> {
    let minute = now.with_second(0).and_then(|now| now.with_nanosecond(0)).unwrap_or(now);
    let oldest = now.date_naive().checked_sub_days(Days::new(HISTORY)).unwrap_or_default();
    let mut connection = pool.acquire().await?;
    store::upsert_minute(&mut connection, minute).await?;
    store::delete_before(&mut connection, oldest).await
}

/// The days since counting began, newest first; days without a minute are included.
pub async fn history(pool: &PgPool, now: DateTime<Utc>) -> Result<Vec<UptimeOfDay>> {
    let counted = store::list_days(&mut *pool.acquire().await?).await?;
    let Some(first) = counted.first().map(|day| day.first_minute) else { return Ok(Vec::new()) };
    let day_of = |day: NaiveDate| {
        let begin = day.and_time(NaiveTime::MIN).and_utc().max(first);
        let end = (day.and_time(NaiveTime::MIN).and_utc() + TimeDelta::days(1)).min(now);
        let minutes = counted.iter().find(|counted| counted.day == day).map(|day| day.minutes);
        UptimeOfDay { day, minutes: minutes.unwrap_or(0), expected: (end - begin).num_minutes() }
    };
    let today = now.date_naive();
    let days = first.date_naive().iter_days().take_while(|day| *day <= today).map(day_of);
    let mut days = days.collect::<Vec<_>>();
    days.reverse();
    Ok(days)
}
