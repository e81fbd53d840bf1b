use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;
use crate::types::ids::PixelId;

pub struct ChangeRow {
    pub changed_at: DateTime<Utc>,
    pub policy_version: i32,
    pub settings_before: Value,
    pub settings_after: Value,
}

pub async fn insert_change(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    change: &ChangeRow,
) -> Result<()> {
    query!(
        "INSERT INTO popup_changes (pixel_id, changed_at, policy_version, settings_before,
             settings_after)
         VALUES ($1, $2, $3, $4, $5)",
        pixel_id.as_str(),
        change.changed_at,
        change.policy_version,
        change.settings_before,
        change.settings_after,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_older_changes(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    kept: i64,
) -> Result<()> {
    query!(
        "DELETE FROM popup_changes WHERE pixel_id = $1 AND position <= (
             SELECT position FROM popup_changes WHERE pixel_id = $1
             ORDER BY position DESC OFFSET $2 LIMIT 1)",
        pixel_id.as_str(),
        kept,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn list_changes(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Vec<ChangeRow>> {
    let changes = query_as!(
        ChangeRow,
        "SELECT changed_at, policy_version, settings_before, settings_after FROM popup_changes
         WHERE pixel_id = $1 ORDER BY position DESC",
        pixel_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(changes)
}

pub struct PublishedRow {
    pub version: i32,
    pub published_at: DateTime<Utc>,
}

/// The newest versions of a policy that were published in a range of times, oldest first.
pub async fn list_published_between(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<PublishedRow>> {
    let mut versions = query_as!(
        PublishedRow,
        "SELECT version, published_at FROM consent_policies
         WHERE pixel_id = $1 AND published_at >= $2 AND published_at < $3
         ORDER BY version DESC LIMIT $4",
        pixel_id.as_str(),
        from,
        until,
        limit,
    )
    .fetch_all(connection)
    .await?;
    versions.reverse();
    Ok(versions)
}
