use std::collections::BTreeMap;

use chrono::NaiveDate;
use sqlx::types::Json;
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::Result;
use crate::pixels::pixel::DayZone;
use crate::receipts::daily_counts::tally::{DayChoices, DayTally};
use crate::receipts::days::DayRange;
use crate::types::ids::PixelId;

/// The position up to which a pixel is counted.
pub struct Counted {
    pub up_to_seq: i64,
    pub is_ready: bool,
    pub shown_before: NaiveDate,
    pub shown_noted_before: NaiveDate,
}

pub async fn find_counted(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
) -> Result<Option<Counted>> {
    let counted = query_as!(
        Counted,
        "SELECT up_to_seq, is_ready, shown_before, shown_noted_before
         FROM consent_counted WHERE pixel_id = $1 AND time_zone = $2",
        pixel_id.as_str(),
        zone.name(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(counted)
}

pub async fn list_changed_days(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    range: DayRange,
) -> Result<Vec<NaiveDate>> {
    let days = query_scalar!(
        "SELECT DISTINCT day FROM consent_day_changes
         WHERE pixel_id = $1 AND time_zone = $4 AND day BETWEEN $2 AND $3",
        pixel_id.as_str(),
        range.from,
        range.to,
        zone.name(),
    )
    .fetch_all(connection)
    .await?;
    Ok(days)
}

/// The stored counts of the days of the range.
pub async fn list_days(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    range: DayRange,
) -> Result<BTreeMap<NaiveDate, DayTally>> {
    let rows = query!(
        "SELECT day, shown, choosers, choices AS \"choices: Json<DayChoices>\" FROM consent_days
         WHERE pixel_id = $1 AND time_zone = $4 AND day BETWEEN $2 AND $3",
        pixel_id.as_str(),
        range.from,
        range.to,
        zone.name(),
    )
    .fetch_all(connection)
    .await?;
    let days = rows.into_iter().map(|row| {
        let tally = DayTally { shown: row.shown, choosers: row.choosers, choices: row.choices.0 };
        (row.day, tally)
    });
    Ok(days.collect())
}

/// Stores the count of a day, or deletes it if there are no events.
pub async fn upsert_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    day: NaiveDate,
    tally: &DayTally,
) -> Result<()> {
    if *tally == DayTally::default() {
        return delete_day(connection, pixel_id, zone, day).await;
    }
    query!(
        "INSERT INTO consent_days (pixel_id, time_zone, day, shown, choosers, choices)
         VALUES ($1, $6, $2, $3, $4, $5)
         ON CONFLICT (pixel_id, time_zone, day) DO UPDATE
         SET shown = excluded.shown, choosers = excluded.choosers, choices = excluded.choices",
        pixel_id.as_str(),
        day,
        tally.shown,
        tally.choosers,
        Json(&tally.choices) as _,
        zone.name(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn delete_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    day: NaiveDate,
) -> Result<()> {
    query!(
        "DELETE FROM consent_days WHERE pixel_id = $1 AND time_zone = $3 AND day = $2",
        pixel_id.as_str(),
        day,
        zone.name(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
