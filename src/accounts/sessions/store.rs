use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::accounts::preferences::Preferences;
use crate::error::Result;
use crate::infra::deletion;
use crate::types::ids::AccountId;

pub struct NewRow<'a> {
    pub token_hash: &'a [u8],
    pub session_id: Uuid,
    pub account_id: &'a AccountId,
    pub member_id: Option<Uuid>,
    pub address: &'a str,
    pub browser: &'a str,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

pub struct Row {
    pub session_id: Uuid,
    pub account_id: AccountId,
    pub member_id: Option<Uuid>,
    pub address: String,
    pub browser: String,
    pub created_at: DateTime<Utc>,
    pub last_seen_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

macro_rules! select_session {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Row,
            "SELECT session_id, account_id, member_id, address, browser, created_at, last_seen_at,
                 expires_at
             FROM sessions " + $rest,
            $($argument),+
        )
    };
}

pub async fn insert_session(connection: &mut PgConnection, new: &NewRow<'_>) -> Result<()> {
    query!(
        "INSERT INTO sessions (token_hash, session_id, account_id, member_id, address, browser,
             created_at, last_seen_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)",
        new.token_hash,
        new.session_id,
        new.account_id.as_str(),
        new.member_id,
        new.address,
        new.browser,
        new.created_at,
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Finds a session by the hash of its secret, with the preferences of its member.
pub async fn find_session(
    connection: &mut PgConnection,
    token_hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<(Row, Preferences)>> {
    let found = query!(
        "SELECT session_id, account_id, member_id, address, browser, created_at, last_seen_at,
             expires_at, language AS \"language?\", time_zone AS \"time_zone?\"
         FROM sessions LEFT JOIN person_preferences USING (address)
         WHERE token_hash = $1 AND expires_at > $2",
        token_hash,
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.map(|found| {
        let row = Row {
            session_id: found.session_id,
            account_id: found.account_id.into(),
            member_id: found.member_id,
            address: found.address,
            browser: found.browser,
            created_at: found.created_at,
            last_seen_at: found.last_seen_at,
            expires_at: found.expires_at,
        };
        let (language, time_zone) = (found.language.as_deref(), found.time_zone.as_deref());
        (row, Preferences::of_stored(language, time_zone))
    }))
}

pub async fn list_sessions(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<Vec<Row>> {
    let rows = select_session!(
        "WHERE (account_id = $1 OR entered @> ARRAY[$1]) AND expires_at > $2
         ORDER BY created_at DESC, session_id",
        account_id.as_str(),
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn list_sessions_of(
    connection: &mut PgConnection,
    address: &str,
    now: DateTime<Utc>,
) -> Result<Vec<Row>> {
    let rows = select_session!(
        "WHERE address = $1 AND expires_at > $2 ORDER BY created_at DESC, session_id",
        address,
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

pub struct Rotation<'a> {
    pub session_id: Uuid,
    pub old_hash: &'a [u8],
    pub new_hash: &'a [u8],
    pub now: DateTime<Utc>,
}

/// Returns `false` when the session has ended or its secret was rotated already.
pub async fn update_secret(connection: &mut PgConnection, rotation: &Rotation<'_>) -> Result<bool> {
    let rotated = query_scalar!(
        "UPDATE sessions SET token_hash = $3
         WHERE session_id = $1 AND token_hash = $2 AND expires_at > $4
         RETURNING session_id",
        rotation.session_id,
        rotation.old_hash,
        rotation.new_hash,
        rotation.now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(rotated.is_some())
}

/// Returns `false` in the same cases as [`update_secret`].
pub async fn update_sign_in(
    connection: &mut PgConnection,
    rotation: &Rotation<'_>,
) -> Result<bool> {
    let renewed = query_scalar!(
        "UPDATE sessions SET token_hash = $3, created_at = $4
         WHERE session_id = $1 AND token_hash = $2 AND expires_at > $4
         RETURNING session_id",
        rotation.session_id,
        rotation.old_hash,
        rotation.new_hash,
        rotation.now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(renewed.is_some())
}

/// Returns `false` in the same cases as [`update_secret`].
pub async fn update_account(
    connection: &mut PgConnection,
    rotation: &Rotation<'_>,
    account_id: &AccountId,
    member_id: Option<Uuid>,
) -> Result<bool> {
    let moved = query_scalar!(
        "UPDATE sessions
         SET token_hash = $3, account_id = $5, member_id = $6,
             entered = array_append(array_remove(entered, account_id), account_id)
         WHERE session_id = $1 AND token_hash = $2 AND expires_at > $4
         RETURNING session_id",
        rotation.session_id,
        rotation.old_hash,
        rotation.new_hash,
        rotation.now,
        account_id.as_str(),
        member_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(moved.is_some())
}

pub async fn update_address(
    connection: &mut PgConnection,
    account_id: &AccountId,
    session_id: Uuid,
    address: &str,
) -> Result<()> {
    query!(
        "UPDATE sessions SET address = $3, member_id = NULL
         WHERE account_id = $1 AND session_id = $2",
        account_id.as_str(),
        session_id,
        address,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn is_open(
    connection: &mut PgConnection,
    account_id: &AccountId,
    session_id: Uuid,
    now: DateTime<Utc>,
) -> Result<bool> {
    let is_open = query_scalar!(
        "SELECT EXISTS (SELECT FROM sessions
             WHERE account_id = $1 AND session_id = $2 AND expires_at > $3) AS \"is!\"",
        account_id.as_str(),
        session_id,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(is_open)
}

/// Whether a session is open, whichever account it has been switched to.
pub async fn is_alive(
    connection: &mut PgConnection,
    session_id: Uuid,
    now: DateTime<Utc>,
) -> Result<bool> {
    let is_alive = query_scalar!(
        "SELECT EXISTS (SELECT FROM sessions WHERE session_id = $1 AND expires_at > $2) AS \"is!\"",
        session_id,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(is_alive)
}

pub async fn delete_session(connection: &mut PgConnection, session_id: Uuid) -> Result<bool> {
    let deleted = query!("DELETE FROM sessions WHERE session_id = $1", session_id)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected() == 1)
}

pub async fn delete_session_of_secret(
    connection: &mut PgConnection,
    token_hash: &[u8],
) -> Result<()> {
    query!("DELETE FROM sessions WHERE token_hash = $1", token_hash).execute(connection).await?;
    Ok(())
}

pub async fn delete_sessions_of(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
    kept: Option<Uuid>,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM sessions
         WHERE address = $2 AND (account_id = $1 OR entered @> ARRAY[$1])
             AND session_id IS DISTINCT FROM $3",
        account_id.as_str(),
        address,
        kept,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_sessions_since(
    connection: &mut PgConnection,
    account_id: &AccountId,
    since: DateTime<Utc>,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM sessions
         WHERE (account_id = $1 OR entered @> ARRAY[$1]) AND created_at >= $2",
        account_id.as_str(),
        since,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

deletion!(delete_expired, "sessions", "token_hash", "expires_at <= $1");
