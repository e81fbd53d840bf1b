use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::Result;
use crate::types::ids::PixelId;

/// A popup whose pictures are to be taken.
#[derive(Clone)]
pub struct Due {
    pub pixel_id: PixelId,
    /// The time at which the popup was given the form that is due.
    pub configured_at: DateTime<Utc>,
    pub failures: i32,
}

pub struct Plan {
    pub next_at: DateTime<Utc>,
    pub busy_until: Option<DateTime<Utc>>,
    pub failures: i32,
}

/// Makes a form of a popup due, but not before the lease on an earlier form has ended.
pub async fn upsert_due(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    configured_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO popup_screenshots_due AS present (pixel_id, configured_at, next_at, failures)
         VALUES ($1, $2, $2, 0)
         ON CONFLICT (pixel_id) DO UPDATE
         SET configured_at = $2, next_at = GREATEST(present.busy_until, $2), failures = 0",
        pixel_id.as_str(),
        configured_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Locks the popup of an active account that has waited longest.
pub async fn lock_due(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<Option<Due>> {
    let due = query_as!(
        Due,
        "SELECT pixel_id AS \"pixel_id: PixelId\", configured_at, failures
         FROM popup_screenshots_due JOIN pixels USING (pixel_id) JOIN accounts USING (account_id)
         WHERE next_at <= $1 AND status = 'active'
         ORDER BY next_at LIMIT 1 FOR UPDATE OF popup_screenshots_due SKIP LOCKED",
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(due)
}

/// Plans the next attempt, unless the popup has changed its form.
pub async fn update_plan(connection: &mut PgConnection, due: &Due, plan: &Plan) -> Result<()> {
    query!(
        "UPDATE popup_screenshots_due SET next_at = $3, busy_until = $4, failures = $5
         WHERE pixel_id = $1 AND configured_at = $2",
        due.pixel_id.as_str(),
        due.configured_at,
        plan.next_at,
        plan.busy_until,
        plan.failures,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn is_due(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
    let is_due = query_scalar!(
        "SELECT EXISTS (SELECT FROM popup_screenshots_due WHERE pixel_id = $1) AS \"is_due!\"",
        pixel_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(is_due)
}

/// Removes a popup that has its pictures; `false` if it has changed its form.
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
