use chrono::{DateTime, Duration, Utc};
use sqlx::{PgConnection, query, query_scalar};

use super::rows::{receipt_of, select_receipt, shown_of};
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::Result;
use crate::receipts::days::Times;
use crate::receipts::log_query::{LogQuery, Position};
use crate::types::consent::ConsentState;
use crate::types::ids::{PixelId, VisitorId};

/// A receipt with its position and the associated data.
pub struct StoredReceipt {
    pub seq: i64,
    pub signed: SignedReceipt,
    pub shown: Option<Shown>,
}

/// Tolerance for the nodes' clocks and for the delay of a choice: a receipt of a policy may be older than the
/// policy, or younger than its successor.
const CLOCKS: Duration = Duration::hours(1);

/// All receipts that a query finds, each with its position.
macro_rules! list_stored_receipts {
    ($connection:ident, $rest:literal, $($argument:expr),+ $(,)?) => {{
        let found = select_receipt!(
            "receipt.seq, receipt.shown_language, receipt.shown_notice, receipt.shown_script,
                 receipt.shown_act, receipt.shown_seen, receipt.shown_automated",
            $rest,
            $($argument),+
        );
        let rows = found.fetch_all($connection).await?;
        rows.into_iter()
            .map(|row| {
                let (seq, shown) = (row.seq, shown_of!(row));
                Ok(StoredReceipt { seq, signed: receipt_of!(row)?, shown })
            })
            .collect()
    }};
}

/// A page of the log with this number of choices, newest first.
pub async fn list_page(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    query: &LogQuery,
    limit: i64,
) -> Result<Vec<StoredReceipt>> {
    if let Some(visitor_id) = &query.visitor_id {
        return list_of_visitor(connection, pixel_id, visitor_id, query, limit).await;
    }
    if !query.is_by_time() {
        let before = query.before.map_or(i64::MAX, |before| before.seq);
        return list_all(connection, pixel_id, before, limit).await;
    }
    let mut times = query.narrowed();
    if let Some(hash) = &query.policy_hash {
        let Some(of_policy) = find_times_of_policy(connection, pixel_id, hash).await? else {
            return Ok(Vec::new());
        };
        times = times.and(of_policy);
    }
    list_by_time(connection, pixel_id, query, times, limit).await
}

/// The existing choices of a pixel at these positions.
pub async fn list_receipts_at(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    positions: &[i64],
) -> Result<Vec<StoredReceipt>> {
    list_stored_receipts!(
        connection,
        "FROM consent_receipts AS receipt WHERE pixel_id = $1 AND seq = ANY ($2)",
        pixel_id.as_str(),
        positions,
    )
}

/// All choices before a position, in the order of recording.
async fn list_all(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    before: i64,
    limit: i64,
) -> Result<Vec<StoredReceipt>> {
    list_stored_receipts!(
        connection,
        "FROM consent_receipts AS receipt
         WHERE pixel_id = $1 AND seq < $2
         ORDER BY seq DESC LIMIT $3",
        pixel_id.as_str(),
        before,
        limit,
    )
}

async fn list_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
    query: &LogQuery,
    limit: i64,
) -> Result<Vec<StoredReceipt>> {
    list_stored_receipts!(
        connection,
        "FROM consent_receipts AS receipt
         WHERE pixel_id = $1 AND visitor_id = $2 AND seq < $3
             AND recorded_at >= $4 AND recorded_at < $5
             AND ($6::text IS NULL OR consent_state = $6)
             AND ($7::text IS NULL OR policy_hash = $7)
             AND ($8::uuid IS NULL OR receipt_id = $8)
         ORDER BY seq DESC LIMIT $9",
        pixel_id.as_str(),
        visitor_id.as_str(),
        query.before.map_or(i64::MAX, |before| before.seq),
        query.times.from,
        query.times.until,
        query.state.map(ConsentState::as_str),
        query.policy_hash,
        query.receipt_id,
        limit,
    )
}

/// Choices of some times, the latest first. Each state is read separately, because the index has it before the
/// time. It does not contain positions, so choices of the same moment are read together and then sorted.
async fn list_by_time(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    query: &LogQuery,
    times: Times,
    limit: i64,
) -> Result<Vec<StoredReceipt>> {
    let before = query.before.unwrap_or(Position { time: None, seq: i64::MAX });
    list_stored_receipts!(
        connection,
        "FROM unnest($2::text[]) AS wanted (state)
         CROSS JOIN LATERAL (
             SELECT * FROM consent_receipts
             WHERE pixel_id = $1 AND consent_state = wanted.state
                 AND recorded_at >= $3 AND recorded_at < $4 AND recorded_at <= $5
                 AND (recorded_at < $5 OR seq < $6)
                 AND ($7::text IS NULL OR policy_hash = $7)
                 AND ($8::uuid IS NULL OR receipt_id = $8)
             ORDER BY recorded_at DESC FETCH FIRST $9 ROWS WITH TIES
         ) AS receipt
         ORDER BY receipt.recorded_at DESC, receipt.seq DESC LIMIT $9",
        pixel_id.as_str(),
        &states(query.state),
        times.from,
        times.until,
        before.time.unwrap_or(times.until),
        before.seq,
        query.policy_hash,
        query.receipt_id,
        limit,
    )
}

/// A page of an export: receipts of some times after one position and up to another, the oldest first.
pub async fn list_exported(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    times: Times,
    after: (DateTime<Utc>, i64),
    last: i64,
    limit: i64,
) -> Result<Vec<StoredReceipt>> {
    match times == Times::ALL {
        true => list_receipts_after(connection, pixel_id, after.1, last, limit).await,
        false => list_by_time_after(connection, pixel_id, times, after, last, limit).await,
    }
}

/// Receipts of some times after one position and up to another, the oldest first.
async fn list_by_time_after(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    times: Times,
    after: (DateTime<Utc>, i64),
    last: i64,
    limit: i64,
) -> Result<Vec<StoredReceipt>> {
    list_stored_receipts!(
        connection,
        "FROM unnest($2::text[]) AS wanted (state)
         CROSS JOIN LATERAL (
             SELECT * FROM consent_receipts
             WHERE pixel_id = $1 AND consent_state = wanted.state
                 AND recorded_at >= $3 AND recorded_at < $4
                 AND (recorded_at > $3 OR seq > $5) AND seq <= $6
             ORDER BY recorded_at FETCH FIRST $7 ROWS WITH TIES
         ) AS receipt
         ORDER BY receipt.recorded_at, receipt.seq LIMIT $7",
        pixel_id.as_str(),
        &states(None),
        times.from.max(after.0),
        times.until,
        after.1,
        last,
        limit,
    )
}

fn states(wanted: Option<ConsentState>) -> Vec<String> {
    let all =
        ConsentState::ALL.iter().filter(|state| wanted.is_none_or(|wanted| **state == wanted));
    all.map(|state| state.as_str().to_owned()).collect()
}

/// The period from the first to the last use of a policy by the pixel; `None` if the pixel never had it.
async fn find_times_of_policy(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hash: &str,
) -> Result<Option<Times>> {
    let row = query!(
        "SELECT min(published_at) AS began, max(ended) AS ended
         FROM (SELECT policy_hash, published_at,
                   lead(published_at, 1, $3) OVER (ORDER BY version) AS ended
               FROM consent_policies WHERE pixel_id = $1) AS versions
         WHERE policy_hash = $2",
        pixel_id.as_str(),
        hash,
        Times::ALL.until,
    )
    .fetch_one(connection)
    .await?;
    let times = row.began.zip(row.ended);
    Ok(times.map(|(from, until)| Times { from: from - CLOCKS, until: until + CLOCKS }))
}

/// The position of the pixel's newest receipt; 0 if there is none.
pub async fn find_last_seq(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<i64> {
    let seq = query_scalar!(
        "SELECT COALESCE(max(seq), 0) AS \"seq!\" FROM consent_receipts WHERE pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(seq)
}

/// Receipts after one position and up to another, the oldest first.
pub async fn list_receipts_after(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    last: i64,
    limit: i64,
) -> Result<Vec<StoredReceipt>> {
    list_stored_receipts!(
        connection,
        "FROM consent_receipts AS receipt
         WHERE pixel_id = $1 AND seq > $2 AND seq <= $3
         ORDER BY seq LIMIT $4",
        pixel_id.as_str(),
        after,
        last,
        limit,
    )
}
