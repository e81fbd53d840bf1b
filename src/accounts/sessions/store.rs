//! The SQL of sessions.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};
use uuid::Uuid;

use crate::error::Result;
use crate::types::ids::AccountId;

pub struct NewRow<'a> {
    pub token_hash: &'a [u8],
    pub session_id: Uuid,
    pub account_id: &'a AccountId,
    pub address: &'a str,
    pub browser: &'a str,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

/// A session, without its secret.
pub struct Row {
    pub session_id: Uuid,
    pub account_id: AccountId,
    pub address: String,
    pub browser: String,
    pub created_at: DateTime<Utc>,
    pub last_seen_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

/// A query for [`Row`] by the rest of a `SELECT`.
macro_rules! select_session {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Row,
            "SELECT session_id, account_id, address, browser, created_at, last_seen_at, expires_at
             FROM sessions " + $rest,
            $($argument),+
        )
    };
}

pub async fn insert_session(connection: &mut PgConnection, new: &NewRow<'_>) -> Result<()> {
    query!(
        "INSERT INTO sessions (token_hash, session_id, account_id, address, browser, created_at,
             last_seen_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7)",
        new.token_hash,
        new.session_id,
        new.account_id.as_str(),
        new.address,
        new.browser,
        new.created_at,
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The session of a secret, unless it is over.
pub async fn find_session(
    connection: &mut PgConnection,
    token_hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<Row>> {
    let row = select_session!("WHERE token_hash = $1 AND expires_at > $2", token_hash, now)
        .fetch_optional(connection)
        .await?;
    Ok(row)
}

pub async fn list_sessions(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<Vec<Row>> {
    let rows = select_session!(
        "WHERE account_id = $1 AND expires_at > $2 ORDER BY created_at DESC, session_id",
        account_id.as_str(),
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn update_seen(
    connection: &mut PgConnection,
    session_id: Uuid,
    now: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE sessions SET last_seen_at = $2 WHERE session_id = $1", session_id, now)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_session(
    connection: &mut PgConnection,
    account_id: &AccountId,
    session_id: Uuid,
) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM sessions WHERE account_id = $1 AND session_id = $2",
        account_id.as_str(),
        session_id,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}

/// Forgets sessions that are over.
pub async fn delete_over(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM sessions WHERE token_hash IN (
             SELECT token_hash FROM sessions WHERE expires_at <= $1 LIMIT $2)",
        now,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
