//! Impressions: one row per visitor, pixel and UTC day, and for a site with a time zone also one per day of that zone.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use sqlx::{Connection, PgConnection, query, query_as};

use crate::error::Result;
use crate::pixels::pixel::DayZone;
use crate::receipts::daily_counts::tally::VisitorCount;
use crate::types::ids::{PixelId, VisitorId};

/// The day of an impression, in UTC and in the time zone of the site.
#[derive(Clone, Copy)]
pub struct ShownOn {
    pub utc: NaiveDate,
    /// The day in the time zone of the site; `None` for UTC.
    pub local: Option<(Tz, NaiveDate)>,
}

impl ShownOn {
    pub fn at(now: DateTime<Utc>, days: DayZone) -> Self {
        let local = (!days.is_utc()).then(|| (days.zone, days.day_of(now)));
        Self { utc: now.date_naive(), local }
    }
}

/// Inserts an impression once per visitor, pixel and day, unless the pixel is deleted or suspended.
pub async fn insert_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    shown_on: ShownOn,
    visitor_id: &VisitorId,
) -> Result<()> {
    let Some((zone, day)) = shown_on.local else {
        return insert_on_utc_day(connection, pixel_id, shown_on.utc, visitor_id).await;
    };
    let mut transaction = connection.begin().await?;
    insert_on_utc_day(&mut transaction, pixel_id, shown_on.utc, visitor_id).await?;
    query!(
        "INSERT INTO consent_shown_local (pixel_id, time_zone, shown_on, visitor_id)
         SELECT pixel_id, $2, $3, $4 FROM recordable_pixels(ARRAY[$1::text]) AS pixel (pixel_id)
         ON CONFLICT (pixel_id, time_zone, shown_on, visitor_id) DO NOTHING",
        pixel_id.as_str(),
        zone.name(),
        day,
        visitor_id.as_str(),
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(())
}

async fn insert_on_utc_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    visitor_id: &VisitorId,
) -> Result<()> {
    query!(
        "INSERT INTO consent_shown (pixel_id, shown_on, visitor_id)
         SELECT pixel_id, $2, $3 FROM recordable_pixels(ARRAY[$1::text]) AS pixel (pixel_id)
         ON CONFLICT (pixel_id, shown_on, visitor_id) DO NOTHING",
        pixel_id.as_str(),
        day,
        visitor_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Visitors with an impression, for each of these days that has any.
pub async fn count_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    days: &[NaiveDate],
) -> Result<Vec<VisitorCount>> {
    if zone.is_utc() {
        return count_on_utc_days(connection, pixel_id, days).await;
    }
    let is_local = |day: &NaiveDate| *day >= zone.shown_from;
    let (local, utc) = days.iter().copied().partition::<Vec<_>, _>(is_local);
    let mut counts = count_on_utc_days(&mut *connection, pixel_id, &utc).await?;
    counts.extend(count_on_local_days(connection, pixel_id, zone.name(), &local).await?);
    Ok(counts)
}

async fn count_on_utc_days(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    days: &[NaiveDate],
) -> Result<Vec<VisitorCount>> {
    let counts = query_as!(
        VisitorCount,
        "SELECT day AS \"day!\", visitor.count AS \"count!\"
         FROM unnest($2::date[]) AS day
         CROSS JOIN LATERAL (
             SELECT count(*) FROM consent_shown WHERE pixel_id = $1 AND shown_on = day
         ) AS visitor
         WHERE visitor.count > 0",
        pixel_id.as_str(),
        days,
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}

async fn count_on_local_days(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: &str,
    days: &[NaiveDate],
) -> Result<Vec<VisitorCount>> {
    let counts = query_as!(
        VisitorCount,
        "SELECT day AS \"day!\", visitor.count AS \"count!\"
         FROM unnest($2::date[]) AS day
         CROSS JOIN LATERAL (
             SELECT count(*) FROM consent_shown_local
             WHERE pixel_id = $1 AND time_zone = $3 AND shown_on = day
         ) AS visitor
         WHERE visitor.count > 0",
        pixel_id.as_str(),
        days,
        zone,
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}

/// Stores the counts of impressions of a range of days; the end is exclusive.
pub async fn insert_shown_between(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    from: NaiveDate,
    until: NaiveDate,
) -> Result<()> {
    let local_from = if zone.is_utc() { until } else { zone.shown_from.clamp(from, until) };
    query!(
        "INSERT INTO consent_days (pixel_id, time_zone, day, shown, choosers, choices)
         SELECT pixel_id, $4, shown_on, count(*), 0, '{}' FROM consent_shown
         WHERE pixel_id = $1 AND shown_on >= $2 AND shown_on < $3 GROUP BY pixel_id, shown_on
         ON CONFLICT (pixel_id, time_zone, day) DO UPDATE SET shown = excluded.shown",
        pixel_id.as_str(),
        from,
        local_from,
        zone.name(),
    )
    .execute(&mut *connection)
    .await?;
    if local_from == until {
        return Ok(());
    }
    query!(
        "INSERT INTO consent_days (pixel_id, time_zone, day, shown, choosers, choices)
         SELECT pixel_id, time_zone, shown_on, count(*), 0, '{}' FROM consent_shown_local
         WHERE pixel_id = $1 AND time_zone = $4 AND shown_on >= $2 AND shown_on < $3
         GROUP BY pixel_id, time_zone, shown_on
         ON CONFLICT (pixel_id, time_zone, day) DO UPDATE SET shown = excluded.shown",
        pixel_id.as_str(),
        local_from,
        until,
        zone.name(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
