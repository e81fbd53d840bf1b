//! SQL for the settings of a pixel.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::types::ids::PixelId;

pub async fn update_contacts_need_consent(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    need: bool,
) -> Result<()> {
    query!(
        "UPDATE pixels SET contacts_need_consent = $2
         WHERE pixel_id = $1 AND contacts_need_consent <> $2",
        pixel_id.as_str(),
        need,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_contacts_need_act(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    need: bool,
) -> Result<()> {
    query!(
        "UPDATE pixels SET contacts_need_act = $2
         WHERE pixel_id = $1 AND contacts_need_act <> $2",
        pixel_id.as_str(),
        need,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_share_subdomains(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    share: bool,
    now: DateTime<Utc>,
) -> Result<bool> {
    let changed = query!(
        "UPDATE pixels SET share_subdomains = $2,
             share_ended_at = CASE WHEN $2 THEN NULL ELSE $3::timestamptz END
         WHERE pixel_id = $1 AND share_subdomains <> $2",
        pixel_id.as_str(),
        share,
        now,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Whether PostgreSQL has a time zone. Its list may be older or newer than that of the service.
pub async fn is_zone_known(connection: &mut PgConnection, name: &str) -> Result<bool> {
    let is_known = query_scalar!(
        "SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = $1) AS \"is_known!\"",
        name,
    )
    .fetch_one(connection)
    .await?;
    Ok(is_known)
}

/// Sets the time zone of statistics, or UTC with `None`.
pub async fn update_time_zone(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    time_zone: Option<&str>,
    from: Option<NaiveDate>,
) -> Result<()> {
    query!(
        "UPDATE pixels SET time_zone = $2, time_zone_from = $3 WHERE pixel_id = $1",
        pixel_id.as_str(),
        time_zone,
        from,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the counts of days in other time zones than UTC. The progress is deleted first: the job locks it while
/// it stores counts, and stores none without it.
pub async fn delete_local_counts(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<()> {
    query!(
        "DELETE FROM consent_counted WHERE pixel_id = $1 AND time_zone <> 'UTC'",
        pixel_id.as_str(),
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "DELETE FROM consent_days WHERE pixel_id = $1 AND time_zone <> 'UTC'",
        pixel_id.as_str(),
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "DELETE FROM consent_day_changes WHERE pixel_id = $1 AND time_zone <> 'UTC'",
        pixel_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
