use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;
use crate::types::ids::PixelId;

/// A popup whose pictures are to be taken.
pub struct Due {
    pub pixel_id: PixelId,
    /// When the popup got the form that is due.
    pub configured_at: DateTime<Utc>,
    pub failures: i32,
}

/// Makes a form of a popup due. It replaces an earlier one that still waits.
pub async fn upsert_due(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    configured_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO popup_screenshots_due (pixel_id, configured_at, next_at, failures)
         VALUES ($1, $2, $2, 0)
         ON CONFLICT (pixel_id) DO UPDATE SET configured_at = $2, next_at = $2, failures = 0",
        pixel_id.as_str(),
        configured_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes the popup that has waited longest, and lets it be due again at `next_at`.
pub async fn take_due(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    next_at: DateTime<Utc>,
) -> Result<Option<Due>> {
    let due = query_as!(
        Due,
        "UPDATE popup_screenshots_due SET next_at = $2
         WHERE pixel_id = (
             SELECT pixel_id FROM popup_screenshots_due WHERE next_at <= $1
             ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING pixel_id AS \"pixel_id: PixelId\", configured_at, failures",
        now,
        next_at,
    )
    .fetch_optional(connection)
    .await?;
    Ok(due)
}

pub async fn update_next(
    connection: &mut PgConnection,
    due: &Due,
    next_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE popup_screenshots_due SET next_at = $3 WHERE pixel_id = $1 AND configured_at = $2",
        due.pixel_id.as_str(),
        due.configured_at,
        next_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_failed(
    connection: &mut PgConnection,
    due: &Due,
    next_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE popup_screenshots_due SET next_at = $3, failures = failures + 1
         WHERE pixel_id = $1 AND configured_at = $2",
        due.pixel_id.as_str(),
        due.configured_at,
        next_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes a popup that has its pictures; `false` if it has another form by now.
pub async fn delete_due(connection: &mut PgConnection, due: &Due) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM popup_screenshots_due WHERE pixel_id = $1 AND configured_at = $2",
        due.pixel_id.as_str(),
        due.configured_at,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}
