//! Counts of several pixels at once, by UTC day: the stored days, and the receipts that are not counted yet.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::types::Json;
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;
use crate::receipts::daily_counts::tally::DayChoices;
use crate::receipts::days::DayRange;
use crate::types::consent::ConsentState;

/// The position up to which a pixel is counted.
pub struct CountedUpTo {
    pub pixel_id: String,
    pub up_to_seq: i64,
}

/// Pixels whose counts are not complete yet are left out.
pub async fn list_counted(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<Vec<CountedUpTo>> {
    let counted = query_as!(
        CountedUpTo,
        "SELECT pixel_id, up_to_seq FROM consent_counted
         WHERE pixel_id = ANY($1) AND time_zone = 'UTC' AND is_ready",
        pixel_ids,
    )
    .fetch_all(connection)
    .await?;
    Ok(counted)
}

pub struct CountedDay {
    pub pixel_id: String,
    pub day: NaiveDate,
    pub shown: i64,
    pub choices: DayChoices,
}

pub async fn list_days_of(
    connection: &mut PgConnection,
    pixel_ids: &[String],
    range: DayRange,
) -> Result<Vec<CountedDay>> {
    let rows = query!(
        "SELECT pixel_id, day, shown, choices AS \"choices: Json<DayChoices>\" FROM consent_days
         WHERE pixel_id = ANY($1) AND time_zone = 'UTC' AND day BETWEEN $2 AND $3",
        pixel_ids,
        range.from,
        range.to,
    )
    .fetch_all(connection)
    .await?;
    let days = rows.into_iter().map(|row| CountedDay {
        pixel_id: row.pixel_id,
        day: row.day,
        shown: row.shown,
        choices: row.choices.0,
    });
    Ok(days.collect())
}

/// The choices of a pixel with the same state on one day.
pub struct StateCount {
    pub pixel_id: String,
    pub day: NaiveDate,
    pub state: ConsentState,
    pub count: i64,
}

/// Counts receipts above a position of each pixel: `pixel_ids` and `up_to` have the same order.
pub async fn count_newer(
    connection: &mut PgConnection,
    pixel_ids: &[String],
    up_to: &[i64],
    since: DateTime<Utc>,
) -> Result<Vec<StateCount>> {
    let counts = query_as!(
        StateCount,
        "SELECT consent_receipts.pixel_id,
             (recorded_at AT TIME ZONE 'UTC')::date AS \"day!\",
             consent_state AS state, count(*) AS \"count!\"
         FROM consent_receipts
             JOIN unnest($1::text[], $2::bigint[]) AS counted (pixel_id, up_to)
             ON counted.pixel_id = consent_receipts.pixel_id AND seq > counted.up_to
         WHERE consent_receipts.pixel_id = ANY($1) AND recorded_at >= $3
         GROUP BY consent_receipts.pixel_id, 2, consent_state",
        pixel_ids,
        up_to,
        since,
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}
