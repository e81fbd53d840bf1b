use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::Result;
use crate::types::ids::AccountId;

pub async fn upsert_signup_token(
    connection: &mut PgConnection,
    account_id: &AccountId,
    token_hash: &[u8],
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO signup_tokens (account_id, token_hash, expires_at) VALUES ($1, $2, $3)
         ON CONFLICT (account_id) DO UPDATE SET token_hash = $2, expires_at = $3",
        account_id.as_str(),
        token_hash,
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_signup_token(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<u64> {
    let deleted = query!("DELETE FROM signup_tokens WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}

pub async fn find_signup_token(
    connection: &mut PgConnection,
    account_id: &AccountId,
    token_hash: &[u8],
) -> Result<Option<DateTime<Utc>>> {
    let expires_at = query_scalar!(
        "SELECT expires_at FROM signup_tokens WHERE account_id = $1 AND token_hash = $2",
        account_id.as_str(),
        token_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(expires_at)
}

pub async fn insert_confirmation_link(
    connection: &mut PgConnection,
    account_id: &AccountId,
    token_hash: &[u8],
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO confirmation_links (token_hash, account_id, expires_at) VALUES ($1, $2, $3)",
        token_hash,
        account_id.as_str(),
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct ConfirmationLink {
    pub account_id: AccountId,
    pub expires_at: DateTime<Utc>,
}

pub async fn find_confirmation_link(
    connection: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<ConfirmationLink>> {
    let link = query_as!(
        ConfirmationLink,
        "SELECT account_id, expires_at FROM confirmation_links WHERE token_hash = $1",
        token_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(link)
}

pub async fn upsert_confirmation_code(
    connection: &mut PgConnection,
    account_id: &AccountId,
    code_hash: &[u8],
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO confirmation_codes (account_id, code_hash, expires_at) VALUES ($1, $2, $3)
         ON CONFLICT (account_id)
         DO UPDATE SET code_hash = $2, expires_at = $3, wrong_tries = 0, renewed_token = false",
        account_id.as_str(),
        code_hash,
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

#[derive(Deserialize, Serialize)]
pub struct ConfirmationCode {
    pub code_hash: Vec<u8>,
    pub expires_at: DateTime<Utc>,
    pub wrong_tries: i32,
    pub renewed_token: bool,
}

/// Locks the account's code until the transaction ends, so that guesses are counted one by one.
pub async fn lock_confirmation_code(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<ConfirmationCode>> {
    let code = query_as!(
        ConfirmationCode,
        "SELECT code_hash, expires_at, wrong_tries, renewed_token FROM confirmation_codes
         WHERE account_id = $1 FOR UPDATE",
        account_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(code)
}

/// Restores an older code in place of one whose mail was not sent.
pub async fn update_code_brought_back(
    connection: &mut PgConnection,
    account_id: &AccountId,
    code_hash: &[u8],
    older: &ConfirmationCode,
) -> Result<()> {
    query!(
        "UPDATE confirmation_codes
         SET code_hash = $3, expires_at = $4, wrong_tries = $5, renewed_token = $6
         WHERE account_id = $1 AND code_hash = $2",
        account_id.as_str(),
        code_hash,
        older.code_hash,
        older.expires_at,
        older.wrong_tries,
        older.renewed_token,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn has_confirmation_code(
    connection: &mut PgConnection,
    account_id: &AccountId,
    code_hash: &[u8],
) -> Result<bool> {
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM confirmation_codes
             WHERE account_id = $1 AND code_hash = $2) AS \"found!\"",
        account_id.as_str(),
        code_hash,
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

pub async fn update_wrong_tries(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<()> {
    query!(
        "UPDATE confirmation_codes SET wrong_tries = wrong_tries + 1 WHERE account_id = $1",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_renewed_token(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<()> {
    query!(
        "UPDATE confirmation_codes SET renewed_token = true WHERE account_id = $1",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_confirmation_code(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<()> {
    query!("DELETE FROM confirmation_codes WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_links_and_codes(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<()> {
    query!("DELETE FROM confirmation_links WHERE account_id = $1", account_id.as_str())
        .execute(&mut *connection)
        .await?;
    delete_confirmation_code(connection, account_id).await
}

pub struct CodeRequests {
    pub last_sent_at: DateTime<Utc>,
    pub sent_on: NaiveDate,
    pub resent: i32,
}

/// Returns the earlier codes of an address, locked until the transaction ends. Inserts a missing
/// row, so that two concurrent first requests are counted one after the other.
pub async fn lock_code_requests(
    connection: &mut PgConnection,
    address_hash: &[u8],
) -> Result<CodeRequests> {
    // One statement, so that the row cannot be deleted between insertion and locking.
    let requests = query_as!(
        CodeRequests,
        "INSERT INTO code_requests AS known (address_hash, last_sent_at, sent_on, resent)
         VALUES ($1, '-infinity', '1970-01-01', 0)
         ON CONFLICT (address_hash) DO UPDATE SET resent = known.resent
         RETURNING GREATEST(last_sent_at, '1970-01-01') AS \"last_sent_at!\", sent_on, resent",
        address_hash,
    )
    .fetch_one(connection)
    .await?;
    Ok(requests)
}

pub async fn update_code_requests(
    connection: &mut PgConnection,
    address_hash: &[u8],
    requests: &CodeRequests,
) -> Result<()> {
    query!(
        "INSERT INTO code_requests (address_hash, last_sent_at, sent_on, resent)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (address_hash) DO UPDATE SET last_sent_at = $2, sent_on = $3, resent = $4",
        address_hash,
        requests.last_sent_at,
        requests.sent_on,
        requests.resent,
    )
    .execute(connection)
    .await?;
    Ok(())
}
