pub mod due;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use super::view::ScreenshotView;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::policies::policy::Policy;
use crate::proof::format::entry::Kind;
use crate::proof::publications::find_entries;
use crate::types::device::Device;
use crate::types::ids::PixelId;

/// The columns of new pictures, in the same order each.
#[derive(Default)]
pub struct NewScreenshots {
    pub ids: Vec<Uuid>,
    pub notices: Vec<Vec<u8>>,
    pub languages: Vec<String>,
    pub devices: Vec<String>,
    pub hashes: Vec<Vec<u8>>,
    pub pngs: Vec<Vec<u8>>,
}

pub async fn insert_screenshots(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    policy: &Policy,
    (configured_at, taken_at): (DateTime<Utc>, DateTime<Utc>),
    new: &NewScreenshots,
) -> Result<()> {
    query!(
        "INSERT INTO popup_screenshots (pixel_id, policy_version, policy_hash, configured_at,
             taken_at, screenshot_id, notice, language, device, sha256, png)
         SELECT $1, $2, $3, $4, $5, screenshot_id, notice, language, device, sha256, png
         FROM unnest($6::uuid[], $7::bytea[], $8::text[], $9::text[], $10::bytea[], $11::bytea[])
             AS new (screenshot_id, notice, language, device, sha256, png)
         ON CONFLICT ON CONSTRAINT popup_screenshots_once DO NOTHING",
        pixel_id.as_str(),
        policy.version,
        policy.hash,
        configured_at,
        taken_at,
        &new.ids,
        &new.notices,
        &new.languages,
        &new.devices,
        &new.hashes,
        &new.pngs,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the pictures of all but the newest forms.
pub async fn delete_older(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    kept: i64,
) -> Result<()> {
    query!(
        "DELETE FROM popup_screenshots WHERE pixel_id = $1 AND configured_at < (
             SELECT min(configured_at) FROM (
                 SELECT DISTINCT configured_at FROM popup_screenshots WHERE pixel_id = $1
                 ORDER BY configured_at DESC LIMIT $2) AS newest)",
        pixel_id.as_str(),
        kept,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The number of forms of a popup whose pictures were taken after a time.
pub async fn count_forms(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(DISTINCT configured_at) AS \"count!\" FROM popup_screenshots
         WHERE pixel_id = $1 AND taken_at > $2",
        pixel_id.as_str(),
        after,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

struct Row {
    screenshot_id: Uuid,
    policy_version: i32,
    policy_hash: String,
    notice: Vec<u8>,
    language: String,
    device: String,
    configured_at: DateTime<Utc>,
    taken_at: DateTime<Utc>,
    sha256: Vec<u8>,
}

macro_rules! select_row {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Row,
            "SELECT screenshot_id, policy_version, policy_hash, notice, language, device,
                 configured_at, taken_at, sha256
             FROM popup_screenshots " + $rest,
            $($argument),+
        )
    };
}

/// Adds the entries of the public log.
async fn viewed(connection: &mut PgConnection, rows: Vec<Row>) -> Result<Vec<ScreenshotView>> {
    let hashes = rows.iter().map(|row| row.sha256.clone()).collect::<Vec<_>>();
    let entries = find_entries(connection, Kind::Screenshot, &hashes).await?;
    let view = |row: Row| ScreenshotView {
        screenshot_id: row.screenshot_id,
        policy_version: row.policy_version,
        policy_hash: row.policy_hash,
        notice: hex::encode(&row.notice),
        language: row.language,
        device: Device::from(row.device),
        configured_at: Timestamp(row.configured_at),
        taken_at: Timestamp(row.taken_at),
        sha256: hex::encode(&row.sha256),
        log_entry: entries.get(&row.sha256).copied(),
    };
    Ok(rows.into_iter().map(view).collect())
}

/// Newest first, before `before`; of one language or of all.
pub async fn list_screenshots(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    language: Option<&str>,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<ScreenshotView>> {
    let rows = select_row!(
        "WHERE pixel_id = $1 AND ($2::text IS NULL OR language = $2)
             AND ($3::uuid IS NULL OR screenshot_id < $3)
         ORDER BY screenshot_id DESC LIMIT $4",
        pixel_id.as_str(),
        language,
        before,
        limit,
    )
    .fetch_all(&mut *connection)
    .await?;
    viewed(connection, rows).await
}

/// The pictures of the form that a policy version's popup had at a time, or of its first one after that, in one
/// language.
pub async fn list_at(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    version: i32,
    language: &str,
    at: DateTime<Utc>,
) -> Result<Vec<ScreenshotView>> {
    let rows = select_row!(
        "WHERE pixel_id = $1 AND policy_version = $2 AND language = $3 AND configured_at = (
             SELECT configured_at FROM popup_screenshots
             WHERE pixel_id = $1 AND policy_version = $2 AND language = $3
             ORDER BY configured_at <= $4 DESC, CASE WHEN configured_at <= $4 THEN configured_at END DESC,
                 configured_at
             LIMIT 1)
         ORDER BY device",
        pixel_id.as_str(),
        version,
        language,
        at,
    )
    .fetch_all(&mut *connection)
    .await?;
    viewed(connection, rows).await
}

pub async fn find_png(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    screenshot_id: Uuid,
) -> Result<Option<Vec<u8>>> {
    let png = query_scalar!(
        "SELECT png FROM popup_screenshots WHERE pixel_id = $1 AND screenshot_id = $2",
        pixel_id.as_str(),
        screenshot_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(png)
}
