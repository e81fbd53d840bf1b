use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::accounts::demo::DEMO_ACCOUNT;
use crate::error::Result;
use crate::types::ids::{AccountId, PixelId};

/// Accounts that were not notified of an open request, and received no such mail after `mailed_after`.
pub async fn list_unnotified(
    connection: &mut PgConnection,
    mailed_after: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<AccountId>> {
    let accounts = query_scalar!(
        "SELECT DISTINCT account_id AS \"account_id: AccountId\"
         FROM erasure_requests AS request JOIN pixels USING (pixel_id) JOIN accounts USING (account_id)
         WHERE request.status = 'open' AND request.told_at IS NULL
             AND accounts.status = 'active' AND account_id <> $3
             AND NOT EXISTS (SELECT FROM erasure_mails AS mail
                 WHERE mail.account_id = accounts.account_id AND mail.told_at > $1)
         LIMIT $2",
        mailed_after,
        limit,
        DEMO_ACCOUNT,
    )
    .fetch_all(connection)
    .await?;
    Ok(accounts)
}

/// Like [`list_unnotified`], for reminders of requests that are due until `due_until`.
pub async fn list_unreminded(
    connection: &mut PgConnection,
    due_until: DateTime<Utc>,
    mailed_after: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<AccountId>> {
    let accounts = query_scalar!(
        "SELECT DISTINCT account_id AS \"account_id: AccountId\"
         FROM erasure_requests AS request JOIN pixels USING (pixel_id) JOIN accounts USING (account_id)
         WHERE request.status = 'open' AND request.reminded_at IS NULL AND request.due_at <= $1
             AND accounts.status = 'active' AND account_id <> $4
             AND NOT EXISTS (SELECT FROM erasure_mails AS mail
                 WHERE mail.account_id = accounts.account_id AND mail.reminded_at > $2)
         LIMIT $3",
        due_until,
        mailed_after,
        limit,
        DEMO_ACCOUNT,
    )
    .fetch_all(connection)
    .await?;
    Ok(accounts)
}

/// Records that an account was notified of all open requests; `false` if another node has notified it after
/// `mailed_after`. The account's row must be locked.
pub async fn update_notified(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
    mailed_after: DateTime<Utc>,
) -> Result<bool> {
    let noted = query!(
        "INSERT INTO erasure_mails AS mail (account_id, told_at) VALUES ($1, $2)
         ON CONFLICT (account_id) DO UPDATE SET told_at = excluded.told_at
         WHERE mail.told_at IS NULL OR mail.told_at <= $3",
        account_id.as_str(),
        now,
        mailed_after,
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "UPDATE erasure_requests SET told_at = $2 FROM pixels
         WHERE pixels.pixel_id = erasure_requests.pixel_id AND pixels.account_id = $1
             AND erasure_requests.status = 'open' AND told_at IS NULL",
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected() == 1)
}

/// Like [`update_notified`], for a reminder of requests that are due until `due_until`.
pub async fn update_reminded(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
    due_until: DateTime<Utc>,
    mailed_after: DateTime<Utc>,
) -> Result<bool> {
    let noted = query!(
        "INSERT INTO erasure_mails AS mail (account_id, reminded_at) VALUES ($1, $2)
         ON CONFLICT (account_id) DO UPDATE SET reminded_at = excluded.reminded_at
         WHERE mail.reminded_at IS NULL OR mail.reminded_at <= $3",
        account_id.as_str(),
        now,
        mailed_after,
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "UPDATE erasure_requests SET reminded_at = $2 FROM pixels
         WHERE pixels.pixel_id = erasure_requests.pixel_id AND pixels.account_id = $1
             AND erasure_requests.status = 'open' AND due_at <= $3 AND reminded_at IS NULL",
        account_id.as_str(),
        now,
        due_until,
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected() == 1)
}

pub struct OpenRequests {
    pub domain: String,
    pub pixel_id: PixelId,
    pub count: i64,
    pub due_at: DateTime<Utc>,
}

/// The open requests of an account per pixel, the earliest deadline first.
pub async fn list_open(
    connection: &mut PgConnection,
    account_id: &AccountId,
    limit: i64,
) -> Result<Vec<OpenRequests>> {
    let requests = query_as!(
        OpenRequests,
        "SELECT domain, pixel_id AS \"pixel_id: PixelId\", count(*) AS \"count!\",
             min(due_at) AS \"due_at!\"
         FROM erasure_requests JOIN pixels USING (pixel_id)
         WHERE account_id = $1 AND status = 'open'
         GROUP BY domain, pixel_id ORDER BY 4 LIMIT $2",
        account_id.as_str(),
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(requests)
}

/// An open request.
pub struct OpenRequest {
    pub domain: String,
    pub pixel_id: PixelId,
    pub request_id: Uuid,
    pub requested_at: DateTime<Utc>,
    pub due_at: DateTime<Utc>,
}

/// The open requests of an account, the earliest deadline first.
pub async fn list_each_open(
    connection: &mut PgConnection,
    account_id: &AccountId,
    limit: i64,
) -> Result<Vec<OpenRequest>> {
    let requests = query_as!(
        OpenRequest,
        "SELECT domain, pixel_id AS \"pixel_id: PixelId\", request_id, requested_at, due_at
         FROM erasure_requests JOIN pixels USING (pixel_id)
         WHERE account_id = $1 AND status = 'open'
         ORDER BY due_at, request_id LIMIT $2",
        account_id.as_str(),
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(requests)
}

/// The open requests of a pixel.
pub struct OpenCount {
    pub pixel_id: PixelId,
    pub open: i64,
    /// The number of those whose deadline has passed.
    pub overdue: i64,
}

/// The counts of an account's pixels; pixels without open requests are left out.
pub async fn list_open_counts(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<Vec<OpenCount>> {
    let counts = query_as!(
        OpenCount,
        "SELECT pixel_id AS \"pixel_id: PixelId\", count(*) AS \"open!\",
             count(*) FILTER (WHERE due_at < $2) AS \"overdue!\"
         FROM erasure_requests JOIN pixels USING (pixel_id)
         WHERE account_id = $1 AND status = 'open' GROUP BY pixel_id",
        account_id.as_str(),
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}

/// Like [`list_open_counts`], for several pixels.
pub async fn list_open_counts_of(
    connection: &mut PgConnection,
    pixel_ids: &[String],
    now: DateTime<Utc>,
) -> Result<Vec<OpenCount>> {
    let counts = query_as!(
        OpenCount,
        "SELECT pixel_id AS \"pixel_id: PixelId\", count(*) AS \"open!\",
             count(*) FILTER (WHERE due_at < $2) AS \"overdue!\"
         FROM erasure_requests WHERE pixel_id = ANY($1) AND status = 'open' GROUP BY pixel_id",
        pixel_ids,
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}
