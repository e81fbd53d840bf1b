//! SQL for the daily counts job: pending rows, and its progress.

use chrono::NaiveDate;
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::days::Counted;
use crate::error::Result;
use crate::pixels::pixel::DayZone;
use crate::types::ids::PixelId;

/// The advisory lock of the job: an arbitrary number that is used nowhere else.
const COUNTING: i64 = 0x0a55_e117_da75;

/// Takes the lock until the end of the transaction; `false` if another node holds it.
pub async fn take_lock(connection: &mut PgConnection) -> Result<bool> {
    let taken = query_scalar!("SELECT pg_try_advisory_xact_lock($1) AS \"taken!\"", COUNTING)
        .fetch_one(connection)
        .await?;
    Ok(taken)
}

/// The next pixels, in the order of ids, with their time zones.
pub async fn list_pixels(
    connection: &mut PgConnection,
    after: &str,
    limit: i64,
) -> Result<Vec<(PixelId, DayZone)>> {
    let rows = query!(
        "SELECT pixel_id AS \"pixel_id: PixelId\", time_zone, time_zone_from FROM pixels
         WHERE pixel_id > $1 ORDER BY pixel_id LIMIT $2",
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    let pixels = rows.into_iter().map(|row| {
        (row.pixel_id, DayZone::of_stored(row.time_zone.as_deref(), row.time_zone_from))
    });
    Ok(pixels.collect())
}

/// Whether at least this many receipts, or impressions before `today`, are uncounted, or a day is marked as
/// changed. For every time zone, the impressions of UTC days are counted: their number is about the same.
pub async fn needs_counting(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    today: NaiveDate,
    rows: i64,
) -> Result<bool> {
    let needed = query_scalar!(
        "SELECT EXISTS (
                 SELECT FROM consent_day_changes WHERE pixel_id = $1 AND time_zone = $4)
             OR EXISTS (SELECT FROM consent_receipts WHERE pixel_id = $1 AND seq > COALESCE(
                     (SELECT up_to_seq FROM consent_counted
                      WHERE pixel_id = $1 AND time_zone = $4), 0)
                 ORDER BY seq OFFSET $3)
             OR EXISTS (SELECT FROM consent_shown WHERE pixel_id = $1 AND shown_on < $2
                     AND shown_on >= COALESCE(
                         (SELECT shown_before FROM consent_counted
                          WHERE pixel_id = $1 AND time_zone = $4),
                         '0001-01-01')
                 ORDER BY shown_on OFFSET $3)
             AS \"needed!\"",
        pixel_id.as_str(),
        today,
        rows - 1,
        zone.name(),
    )
    .fetch_one(connection)
    .await?;
    Ok(needed)
}

/// Once this has committed, changes of the pixel's rows are recorded: deletions of receipts, and impressions
/// before `today`. Stores nothing if the site no longer has this time zone, or has it again since another day.
/// Locks the pixel's row, to wait for a concurrent change of the time zone.
pub async fn upsert_counted(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    today: NaiveDate,
) -> Result<()> {
    query!(
        "INSERT INTO consent_counted AS counted (pixel_id, time_zone, shown_noted_before)
         SELECT pixel_id, $3, $2 FROM pixels
         WHERE pixel_id = $1 AND ($3 = 'UTC' OR time_zone = $3 AND time_zone_from = $4)
         FOR KEY SHARE
         ON CONFLICT (pixel_id, time_zone) DO UPDATE
         SET shown_noted_before = excluded.shown_noted_before
         WHERE counted.shown_noted_before < excluded.shown_noted_before",
        pixel_id.as_str(),
        today,
        zone.name(),
        (!zone.is_utc()).then_some(zone.shown_from),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_last_seq(connection: &mut PgConnection) -> Result<i64> {
    let last = query_scalar!(
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS \"last!\" FROM consent_receipt_seq"
    )
    .fetch_one(connection)
    .await?;
    Ok(last)
}

/// The unfinished writers of receipts or impressions. A transaction holds its lock on the table from before its
/// first row gets a `seq` until all its rows are visible. On a cluster, a transaction holds the lock of
/// `recordable_pixels()`, or a batch holds a lock with its own number (`hold_recordable_pixels()`). The other
/// session lock of such a batch is ignored while it belongs to no transaction.
pub async fn list_writers(connection: &mut PgConnection) -> Result<Vec<String>> {
    let writers = query_scalar!(
        "SELECT DISTINCT CASE WHEN locktype = 'advisory' AND objsubid = 2
                 THEN 'batch ' || objid ELSE virtualtransaction END AS \"writer!\"
         FROM pg_locks
         WHERE granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
             AND (locktype = 'relation' AND mode = 'RowExclusiveLock'
                     AND relation IN ('consent_receipts'::regclass, 'consent_shown'::regclass,
                         'consent_shown_local'::regclass)
                 OR locktype = 'advisory' AND mode = 'ShareLock' AND objsubid = 1
                     AND virtualtransaction NOT LIKE '%/0'
                     AND classid::bigint = 11258999068426 >> 32
                     AND objid::bigint = 11258999068426 & 4294967295
                 OR locktype = 'advisory' AND objsubid = 2 AND classid::bigint = 173400344)"
    )
    .fetch_all(connection)
    .await?;
    Ok(writers)
}

/// Like [`find_counted`](super::days::find_counted), but locks the pixel for counting until the end of the
/// transaction.
pub async fn lock_counted(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
) -> Result<Option<Counted>> {
    let counted = query_as!(
        Counted,
        "SELECT up_to_seq, is_ready, shown_before, shown_noted_before
         FROM consent_counted WHERE pixel_id = $1 AND time_zone = $2 FOR NO KEY UPDATE",
        pixel_id.as_str(),
        zone.name(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(counted)
}

/// The position of the receipt that follows `after` by this number of receipts; `None` if it is above `up_to`.
pub async fn find_seq_after(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    up_to: i64,
    receipts: i64,
) -> Result<Option<i64>> {
    let seq = query_scalar!(
        "SELECT seq FROM consent_receipts WHERE pixel_id = $1 AND seq > $2 AND seq <= $3
         ORDER BY seq OFFSET $4 LIMIT 1",
        pixel_id.as_str(),
        after,
        up_to,
        receipts - 1,
    )
    .fetch_optional(connection)
    .await?;
    Ok(seq)
}

pub async fn update_up_to(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    up_to_seq: i64,
    is_ready: bool,
) -> Result<()> {
    query!(
        "UPDATE consent_counted SET up_to_seq = $2, is_ready = is_ready OR $3
         WHERE pixel_id = $1 AND time_zone = $4",
        pixel_id.as_str(),
        up_to_seq,
        is_ready,
        zone.name(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The UTC day of the impression that follows the first one since the day `from` by this number of rows; `None`
/// if it is not before `until`.
pub async fn find_day_shown_after(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: NaiveDate,
    until: NaiveDate,
    rows: i64,
) -> Result<Option<NaiveDate>> {
    let day = query_scalar!(
        "SELECT shown_on FROM consent_shown WHERE pixel_id = $1 AND shown_on >= $2 AND shown_on < $3
         ORDER BY shown_on OFFSET $4 LIMIT 1",
        pixel_id.as_str(),
        from,
        until,
        rows,
    )
    .fetch_optional(connection)
    .await?;
    Ok(day)
}

/// Records that the impressions before this day are counted.
pub async fn update_shown_before(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    until: NaiveDate,
) -> Result<()> {
    query!(
        "UPDATE consent_counted SET shown_before = $2 WHERE pixel_id = $1 AND time_zone = $3",
        pixel_id.as_str(),
        until,
        zone.name(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct DayChange {
    pub position: i64,
    pub day: NaiveDate,
}

pub async fn list_changes(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
) -> Result<Vec<DayChange>> {
    let changes = query_as!(
        DayChange,
        "SELECT position, day FROM consent_day_changes WHERE pixel_id = $1 AND time_zone = $2",
        pixel_id.as_str(),
        zone.name(),
    )
    .fetch_all(connection)
    .await?;
    Ok(changes)
}

pub async fn delete_changes(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    positions: &[i64],
) -> Result<()> {
    query!(
        "DELETE FROM consent_day_changes WHERE pixel_id = $1 AND position = ANY ($2)",
        pixel_id.as_str(),
        positions,
    )
    .execute(connection)
    .await?;
    Ok(())
}
