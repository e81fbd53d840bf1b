use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};
use uuid::Uuid;

use crate::error::Result;
use crate::proof::format::hashes::Hash;
use crate::types::ids::PixelId;

/// A form of a popup with the columns of its pictures, in the same order each.
pub struct NewForm {
    pub configured_at: DateTime<Utc>,
    pub taken_at: DateTime<Utc>,
    pub policy_version: i32,
    pub policy_hash: String,
    pub script: Hash,
    pub list: String,
    pub list_sha256: Hash,
    pub ids: Vec<Uuid>,
    pub notices: Vec<Vec<u8>>,
    pub languages: Vec<String>,
    pub devices: Vec<String>,
    pub hashes: Vec<Vec<u8>>,
    pub pngs: Vec<Vec<u8>>,
}

pub async fn insert_form(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    form: &NewForm,
) -> Result<()> {
    query!(
        "INSERT INTO popup_forms (pixel_id, configured_at, taken_at, policy_version, policy_hash,
             script, list, list_sha256)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        pixel_id.as_str(),
        form.configured_at,
        form.taken_at,
        form.policy_version,
        form.policy_hash,
        form.script.as_slice(),
        form.list,
        form.list_sha256.as_slice(),
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "INSERT INTO popup_screenshots (pixel_id, configured_at, screenshot_id, notice, language,
             device, sha256)
         SELECT $1, $2, screenshot_id, notice, language, device, sha256
         FROM unnest($3::uuid[], $4::bytea[], $5::text[], $6::text[], $7::bytea[])
             AS new (screenshot_id, notice, language, device, sha256)",
        pixel_id.as_str(),
        form.configured_at,
        &form.ids,
        &form.notices,
        &form.languages,
        &form.devices,
        &form.hashes,
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "INSERT INTO popup_screenshot_files (pixel_id, sha256, png)
         SELECT $1, sha256, png FROM unnest($2::bytea[], $3::bytea[]) AS new (sha256, png)
         ON CONFLICT (pixel_id, sha256) DO NOTHING",
        pixel_id.as_str(),
        &form.hashes,
        &form.pngs,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_replaced(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    replaced_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE popup_forms SET replaced_at = $2 WHERE pixel_id = $1 AND replaced_at IS NULL",
        pixel_id.as_str(),
        replaced_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn count_forms(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM popup_forms WHERE pixel_id = $1 AND taken_at > $2",
        pixel_id.as_str(),
        after,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn find_list(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    configured_at: DateTime<Utc>,
) -> Result<Option<String>> {
    let list = query_scalar!(
        "SELECT list FROM popup_forms WHERE pixel_id = $1 AND configured_at = $2",
        pixel_id.as_str(),
        configured_at,
    )
    .fetch_optional(connection)
    .await?;
    Ok(list)
}

/// Deletes the pictures of all but the newest forms, and the last forms of the newest versions.
pub async fn delete_older(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    (forms, versions): (i64, i64),
) -> Result<()> {
    query!(
        "DELETE FROM popup_forms WHERE pixel_id = $1
             AND configured_at NOT IN (SELECT configured_at FROM popup_forms WHERE pixel_id = $1
                 ORDER BY configured_at DESC LIMIT $2)
             AND configured_at NOT IN (SELECT max(configured_at) FROM popup_forms
                 WHERE pixel_id = $1
                 GROUP BY policy_version ORDER BY policy_version DESC LIMIT $3)",
        pixel_id.as_str(),
        forms,
        versions,
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "DELETE FROM popup_screenshot_files AS file WHERE pixel_id = $1 AND NOT EXISTS (
             SELECT FROM popup_screenshots AS used
             WHERE used.pixel_id = $1 AND used.sha256 = file.sha256)",
        pixel_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
