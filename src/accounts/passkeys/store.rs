use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::Result;
use crate::infra::deletion;

pub struct NewRow<'a> {
    pub passkey_id: Uuid,
    pub credential_id: &'a [u8],
    pub address: &'a str,
    pub user_handle: &'a [u8],
    pub public_key: &'a [u8],
    pub sign_count: i64,
    pub name: &'a str,
    pub created_at: DateTime<Utc>,
}

pub struct Row {
    pub passkey_id: Uuid,
    pub credential_id: Vec<u8>,
    pub user_handle: Vec<u8>,
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
}

pub struct Credential {
    pub passkey_id: Uuid,
    pub address: String,
    pub user_handle: Vec<u8>,
    pub public_key: Vec<u8>,
}

pub struct Challenge {
    pub session_id: Option<Uuid>,
    pub user_handle: Option<Vec<u8>>,
    pub expires_at: DateTime<Utc>,
}

pub async fn list_passkeys(connection: &mut PgConnection, address: &str) -> Result<Vec<Row>> {
    let rows = query_as!(
        Row,
        "SELECT passkey_id, credential_id, user_handle, name, created_at, last_used_at
         FROM passkeys WHERE address = $1 ORDER BY created_at, passkey_id",
        address,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Returns `false` when a passkey with the same credential id exists already.
pub async fn insert_passkey(connection: &mut PgConnection, new: &NewRow<'_>) -> Result<bool> {
    let inserted = query!(
        "INSERT INTO passkeys (passkey_id, credential_id, address, user_handle, public_key,
             sign_count, name, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (credential_id) DO NOTHING",
        new.passkey_id,
        new.credential_id,
        new.address,
        new.user_handle,
        new.public_key,
        new.sign_count,
        new.name,
        new.created_at,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub async fn find_credential(
    connection: &mut PgConnection,
    credential_id: &[u8],
) -> Result<Option<Credential>> {
    let credential = query_as!(
        Credential,
        "SELECT passkey_id, address, user_handle, public_key
         FROM passkeys WHERE credential_id = $1",
        credential_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(credential)
}

/// Returns `false` when the passkey was removed, or its counter has not increased. Authenticators without a
/// counter always send 0, which is accepted.
pub async fn update_used(
    connection: &mut PgConnection,
    passkey_id: Uuid,
    sign_count: i64,
    now: DateTime<Utc>,
) -> Result<bool> {
    let updated = query!(
        "UPDATE passkeys SET sign_count = $2, last_used_at = $3
         WHERE passkey_id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))",
        passkey_id,
        sign_count,
        now,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() == 1)
}

/// Returns the name of the deleted passkey.
pub async fn delete_passkey(
    connection: &mut PgConnection,
    address: &str,
    passkey_id: Uuid,
) -> Result<Option<String>> {
    let name = query_scalar!(
        "DELETE FROM passkeys WHERE address = $1 AND passkey_id = $2 RETURNING name",
        address,
        passkey_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(name)
}

/// Deletes the passkeys of people who are in no account any more.
pub async fn delete_unused(connection: &mut PgConnection) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM passkeys
         WHERE NOT EXISTS (SELECT FROM accounts WHERE accounts.email = passkeys.address)
             AND NOT EXISTS (SELECT FROM members WHERE members.email = passkeys.address)",
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn insert_challenge(
    connection: &mut PgConnection,
    challenge_hash: &[u8],
    new: &Challenge,
) -> Result<()> {
    query!(
        "INSERT INTO passkey_challenges (challenge_hash, session_id, user_handle, expires_at)
         VALUES ($1, $2, $3, $4)",
        challenge_hash,
        new.session_id,
        new.user_handle.as_deref(),
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_challenge(
    connection: &mut PgConnection,
    challenge_hash: &[u8],
) -> Result<Option<Challenge>> {
    let challenge = query_as!(
        Challenge,
        "DELETE FROM passkey_challenges WHERE challenge_hash = $1
         RETURNING session_id, user_handle, expires_at",
        challenge_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(challenge)
}

deletion!(delete_expired_challenges, "passkey_challenges", "challenge_hash", "expires_at <= $1");
