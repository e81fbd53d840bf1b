pub mod due;
pub mod forms;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query_as, query_scalar};
use uuid::Uuid;

use super::view::ScreenshotView;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::proof::format::entry::Kind;
use crate::proof::publications::find_entries;
use crate::types::device::Device;
use crate::types::ids::PixelId;

struct Row {
    screenshot_id: Uuid,
    policy_version: i32,
    policy_hash: String,
    script: Vec<u8>,
    notice: Vec<u8>,
    language: String,
    device: String,
    configured_at: DateTime<Utc>,
    taken_at: DateTime<Utc>,
    sha256: Vec<u8>,
    list_sha256: Vec<u8>,
}

macro_rules! select_row {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Row,
            "SELECT screenshot_id, policy_version, policy_hash, script, notice, language, device,
                 configured_at, taken_at, sha256, list_sha256
             FROM popup_screenshots JOIN popup_forms USING (pixel_id, configured_at) " + $rest,
            $($argument),+
        )
    };
}

/// Adds the entries of the public log to the rows.
async fn viewed(connection: &mut PgConnection, rows: Vec<Row>) -> Result<Vec<ScreenshotView>> {
    let mut lists = rows.iter().map(|row| row.list_sha256.clone()).collect::<Vec<_>>();
    lists.dedup();
    let entries = find_entries(connection, Kind::Screenshots, &lists).await?;
    let view = |row: Row| ScreenshotView {
        screenshot_id: row.screenshot_id,
        policy_version: row.policy_version,
        policy_hash: row.policy_hash,
        script: hex::encode(&row.script),
        notice: hex::encode(&row.notice),
        language: row.language,
        device: Device::from(row.device),
        configured_at: Timestamp(row.configured_at),
        taken_at: Timestamp(row.taken_at),
        sha256: hex::encode(&row.sha256),
        list_sha256: hex::encode(&row.list_sha256),
        log_entry: entries.get(&row.list_sha256).copied(),
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

/// The pictures of the form that a policy version's popup had at a time, in one language.
pub async fn list_at(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    version: i32,
    language: &str,
    at: DateTime<Utc>,
) -> Result<Vec<ScreenshotView>> {
    let rows = select_row!(
        "WHERE pixel_id = $1 AND policy_version = $2 AND language = $3
             AND configured_at <= $4 AND (replaced_at IS NULL OR $4 < replaced_at)
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
        "SELECT png FROM popup_screenshots JOIN popup_screenshot_files USING (pixel_id, sha256)
         WHERE pixel_id = $1 AND screenshot_id = $2",
        pixel_id.as_str(),
        screenshot_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(png)
}
