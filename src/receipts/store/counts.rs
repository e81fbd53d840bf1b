use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::TryStreamExt;
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;
use crate::pixels::pixel::DayZone;
use crate::receipts::daily_counts::tally::{ChoiceCount, VisitorCount};
use crate::types::ids::PixelId;

/// Choices of some days of a time zone with a `seq` of at most `up_to`, per day, state, granted purposes, policy,
/// language and user action. Each row is passed on as it is read, because there may be many. Each day is counted
/// separately, by an index on state and time, for which the statement names all states. A day begins at midnight:
/// at the first of two, or at the end of the previous day if a clock change skips midnight.
pub async fn count_choices(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    days: &[NaiveDate],
    up_to: i64,
    mut each: impl FnMut(ChoiceCount),
) -> Result<()> {
    let mut rows = query_as!(
        ChoiceCount,
        "SELECT day AS \"day!\", choice.consent_state AS state, choice.purposes, choice.policy_hash,
             choice.shown_language AS language, choice.shown_act AS act, choice.count AS \"count!\"
         FROM unnest($2::date[]) AS day
         CROSS JOIN LATERAL (
             SELECT LEAST(day::timestamp AT TIME ZONE $4,
                     (day::timestamp - interval '1 microsecond') AT TIME ZONE $4
                         + interval '1 microsecond') AS begins,
                 LEAST((day + 1)::timestamp AT TIME ZONE $4,
                     ((day + 1)::timestamp - interval '1 microsecond') AT TIME ZONE $4
                         + interval '1 microsecond') AS ends
         ) AS bounds
         CROSS JOIN LATERAL (
             SELECT consent_state, purposes, policy_hash, shown_language, shown_act, count(*)
             FROM consent_receipts
             WHERE pixel_id = $1 AND consent_state IN ('accepted', 'declined', 'withdrawn')
                 AND recorded_at >= bounds.begins AND recorded_at < bounds.ends
                 AND seq <= $3
             GROUP BY consent_state, purposes, policy_hash, shown_language, shown_act
         ) AS choice",
        pixel_id.as_str(),
        days,
        up_to,
        zone.name(),
    )
    .fetch(connection);
    while let Some(choices) = rows.try_next().await? {
        each(choices);
    }
    Ok(())
}

/// Visitors who made a choice with a `seq` of at most `up_to`, per day. A visitor counts once a day, however
/// many choices they made.
pub async fn count_choosers(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    days: &[NaiveDate],
    up_to: i64,
) -> Result<Vec<VisitorCount>> {
    let counts = query_as!(
        VisitorCount,
        "SELECT day AS \"day!\", chooser.count AS \"count!\"
         FROM unnest($2::date[]) AS day
         CROSS JOIN LATERAL (
             SELECT LEAST(day::timestamp AT TIME ZONE $4,
                     (day::timestamp - interval '1 microsecond') AT TIME ZONE $4
                         + interval '1 microsecond') AS begins,
                 LEAST((day + 1)::timestamp AT TIME ZONE $4,
                     ((day + 1)::timestamp - interval '1 microsecond') AT TIME ZONE $4
                         + interval '1 microsecond') AS ends
         ) AS bounds
         CROSS JOIN LATERAL (
             SELECT count(*) FROM (
                 SELECT DISTINCT visitor_id FROM consent_receipts
                 WHERE pixel_id = $1 AND consent_state IN ('accepted', 'declined', 'withdrawn')
                     AND recorded_at >= bounds.begins AND recorded_at < bounds.ends
                     AND seq <= $3
             ) AS visitor
         ) AS chooser
         WHERE chooser.count > 0",
        pixel_id.as_str(),
        days,
        up_to,
        zone.name(),
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}

pub async fn count_choices_between(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    after: i64,
    up_to: i64,
    mut each: impl FnMut(ChoiceCount),
) -> Result<()> {
    let mut rows = query_as!(
        ChoiceCount,
        "SELECT (recorded_at AT TIME ZONE $4)::date AS \"day!\", consent_state AS state, purposes,
             policy_hash, shown_language AS language, shown_act AS act, count(*) AS \"count!\"
         FROM consent_receipts WHERE pixel_id = $1 AND seq > $2 AND seq <= $3
         GROUP BY 1, consent_state, purposes, policy_hash, shown_language, shown_act",
        pixel_id.as_str(),
        after,
        up_to,
        zone.name(),
    )
    .fetch(connection);
    while let Some(choices) = rows.try_next().await? {
        each(choices);
    }
    Ok(())
}

/// Visitors whose first choice of a day is between these positions.
pub async fn count_choosers_between(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    after: i64,
    up_to: i64,
) -> Result<Vec<VisitorCount>> {
    let counts = query_as!(
        VisitorCount,
        "SELECT chooser.day AS \"day!\", count(*) AS \"count!\"
         FROM (
             SELECT DISTINCT visitor_id, (recorded_at AT TIME ZONE $4)::date AS day
             FROM consent_receipts WHERE pixel_id = $1 AND seq > $2 AND seq <= $3
         ) AS chooser
         WHERE NOT EXISTS (
             SELECT FROM consent_receipts AS earlier
             WHERE earlier.visitor_id = chooser.visitor_id AND earlier.pixel_id = $1
                 AND earlier.seq <= $2
                 AND (earlier.recorded_at AT TIME ZONE $4)::date = chooser.day)
         GROUP BY chooser.day",
        pixel_id.as_str(),
        after,
        up_to,
        zone.name(),
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}

#[derive(Clone, Copy)]
pub struct PublishedVersion {
    pub version: i32,
    pub published_at: DateTime<Utc>,
}

/// The versions of policies with these hashes; for a text that was published again, its newest.
pub async fn list_versions(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hashes: &[String],
) -> Result<BTreeMap<String, PublishedVersion>> {
    let rows = query!(
        "SELECT DISTINCT ON (policy_hash) policy_hash, version, published_at FROM consent_policies
         WHERE pixel_id = $1 AND policy_hash = ANY($2)
         ORDER BY policy_hash, version DESC",
        pixel_id.as_str(),
        hashes,
    )
    .fetch_all(connection)
    .await?;
    let versions = rows.into_iter().map(|row| {
        let version = PublishedVersion { version: row.version, published_at: row.published_at };
        (row.policy_hash, version)
    });
    Ok(versions.collect())
}
