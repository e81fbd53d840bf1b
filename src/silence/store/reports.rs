use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::proof::format::entry::Kind;
use crate::proof::publications::find_entries;
use crate::silence::given::{CheckedReport, GivenReport};
use crate::silence::state::NewReport;
use crate::silence::view::{SignedReport, WatchReportView};
use crate::types::ids::PixelId;

/// Inserts a report; `false` if the pixel has it already.
pub async fn insert_report(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    new: &NewReport,
    checked: &CheckedReport,
    given: &GivenReport,
    received_at: DateTime<Utc>,
) -> Result<bool> {
    let inserted = query!(
        "INSERT INTO watch_reports (pixel_id, report_id, received_at, made_at, verdict, leak_count,
             by_service, watcher, sha256, report, note, allowed_hosts)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT ON CONSTRAINT watch_reports_once DO NOTHING",
        pixel_id.as_str(),
        new.report_id,
        received_at,
        checked.made_at,
        new.verdict.as_str(),
        checked.leak_count,
        new.by_service,
        checked.watcher,
        checked.sha256.as_slice(),
        given.report,
        given.note,
        &new.allowed_hosts,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub async fn count_since(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    since: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM watch_reports
         WHERE pixel_id = $1 AND received_at > $2 AND NOT by_service",
        pixel_id.as_str(),
        since,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

struct Row {
    report_id: Uuid,
    received_at: DateTime<Utc>,
    made_at: DateTime<Utc>,
    verdict: String,
    leak_count: i32,
    by_service: bool,
    watcher: String,
    sha256: Vec<u8>,
}

macro_rules! select_row {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Row,
            "SELECT report_id, received_at, made_at, verdict, leak_count, by_service, watcher, sha256
             FROM watch_reports " + $rest,
            $($argument),+
        )
    };
}

/// Converts rows to views, which contain their entries in the public log.
async fn viewed(connection: &mut PgConnection, rows: Vec<Row>) -> Result<Vec<WatchReportView>> {
    let hashes = rows.iter().map(|row| row.sha256.clone()).collect::<Vec<_>>();
    let entries = find_entries(connection, Kind::Watch, &hashes).await?;
    let view = |row: Row| WatchReportView {
        report_id: row.report_id,
        received_at: Timestamp(row.received_at),
        made_at: Timestamp(row.made_at),
        verdict: row.verdict.into(),
        leak_count: row.leak_count,
        by_service: row.by_service,
        watcher: row.watcher,
        sha256: hex::encode(&row.sha256),
        log_entry: entries.get(&row.sha256).copied(),
    };
    Ok(rows.into_iter().map(view).collect())
}

pub async fn find_report(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    report_id: Uuid,
) -> Result<Option<WatchReportView>> {
    let row = select_row!("WHERE pixel_id = $1 AND report_id = $2", pixel_id.as_str(), report_id)
        .fetch_optional(&mut *connection)
        .await?;
    Ok(viewed(connection, row.into_iter().collect()).await?.pop())
}

/// The hosts that the service's own report of this time lists separately.
pub async fn find_own_allowed_hosts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    made_at: DateTime<Utc>,
) -> Result<Vec<String>> {
    let hosts = query_scalar!(
        "SELECT allowed_hosts FROM watch_reports WHERE pixel_id = $1 AND made_at = $2 AND by_service LIMIT 1",
        pixel_id.as_str(),
        made_at,
    )
    .fetch_optional(connection)
    .await?;
    Ok(hosts.unwrap_or_default())
}

pub async fn find_by_hash(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    sha256: &[u8],
) -> Result<Option<WatchReportView>> {
    let row = select_row!("WHERE pixel_id = $1 AND sha256 = $2", pixel_id.as_str(), sha256)
        .fetch_optional(&mut *connection)
        .await?;
    Ok(viewed(connection, row.into_iter().collect()).await?.pop())
}

/// Newest first, before `before`.
pub async fn list_reports(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<WatchReportView>> {
    let rows = select_row!(
        "WHERE pixel_id = $1 AND ($2::uuid IS NULL OR report_id < $2)
         ORDER BY report_id DESC LIMIT $3",
        pixel_id.as_str(),
        before,
        limit,
    )
    .fetch_all(&mut *connection)
    .await?;
    viewed(connection, rows).await
}

pub async fn find_files(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    report_id: Uuid,
) -> Result<Option<GivenReport>> {
    let files = query_as!(
        GivenReport,
        "SELECT report, note FROM watch_reports WHERE pixel_id = $1 AND report_id = $2",
        pixel_id.as_str(),
        report_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(files)
}

/// Reports with their files, newest first, before `before`.
pub async fn list_signed(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<SignedReport>> {
    let mut signed = Vec::new();
    for report in list_reports(connection, pixel_id, before, limit).await? {
        // It may have been deleted since it was listed.
        if let Some(files) = find_files(connection, pixel_id, report.report_id).await? {
            signed.push(SignedReport { report, text: files.report, note: files.note });
        }
    }
    Ok(signed)
}

/// The ids and hashes of reports that were received in a period: those of the service first, then the newest.
pub async fn list_of_period(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<(Uuid, Vec<u8>)>> {
    let rows = query!(
        "SELECT report_id, sha256 FROM watch_reports
         WHERE pixel_id = $1 AND received_at >= $2 AND received_at < $3
         ORDER BY by_service DESC, report_id DESC",
        pixel_id.as_str(),
        from,
        until,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.report_id, row.sha256)).collect())
}

pub async fn delete_reports(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM watch_reports WHERE (pixel_id, report_id) IN (
             SELECT pixel_id, report_id FROM watch_reports
             WHERE received_at < $1 ORDER BY received_at LIMIT $2)",
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
