use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};
use uuid::Uuid;

use crate::error::Result;
use crate::infra::deletion;
use crate::types::ids::AccountId;

pub struct NewRow<'a> {
    pub token_hash: &'a [u8],
    pub address: &'a str,
    /// For a sign-up: the account whose confirmation code completes it.
    pub account_id: Option<&'a AccountId>,
    pub destination: Option<&'a Destination>,
    pub code_hash: &'a [u8],
    pub expires_at: DateTime<Utc>,
}

/// The account to sign in to, and the id of the membership (`None` for the account's own address).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub account_id: AccountId,
    pub member_id: Option<Uuid>,
}

pub struct Row {
    pub address: String,
    pub account_id: Option<AccountId>,
    pub destination: Option<Destination>,
    pub code_hash: Vec<u8>,
    pub wrong_tries: i32,
    pub expires_at: DateTime<Utc>,
}

pub async fn insert_sign_in(connection: &mut PgConnection, new: &NewRow<'_>) -> Result<()> {
    query!(
        "INSERT INTO sign_ins (token_hash, address, account_id, into_account_id, into_member_id,
             code_hash, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        new.token_hash,
        new.address,
        new.account_id.map(AccountId::as_str),
        new.destination.map(|to| to.account_id.as_str()),
        new.destination.and_then(|to| to.member_id),
        new.code_hash,
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The account of a sign-in, which must be locked before the sign-in itself.
pub async fn find_account_of_sign_in(
    connection: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<AccountId>> {
    let account_id = query_scalar!(
        "SELECT COALESCE(account_id, into_account_id) AS account_id FROM sign_ins
         WHERE token_hash = $1",
        token_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(account_id.flatten().map(AccountId::from))
}

pub async fn find_address(
    connection: &mut PgConnection,
    token_hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let address = query_scalar!(
        "SELECT address FROM sign_ins WHERE token_hash = $1 AND expires_at > $2",
        token_hash,
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(address)
}

/// Locks the sign-in until the transaction ends, so that guesses are counted one by one.
pub async fn lock_sign_in(connection: &mut PgConnection, token_hash: &[u8]) -> Result<Option<Row>> {
    let row = query!(
        "SELECT address, account_id, into_account_id, into_member_id, code_hash, wrong_tries,
             expires_at
         FROM sign_ins WHERE token_hash = $1 FOR UPDATE",
        token_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Row {
        address: row.address,
        account_id: row.account_id.map(AccountId::from),
        destination: row.into_account_id.map(|account_id| Destination {
            account_id: AccountId::from(account_id),
            member_id: row.into_member_id,
        }),
        code_hash: row.code_hash,
        wrong_tries: row.wrong_tries,
        expires_at: row.expires_at,
    }))
}

pub async fn update_account(
    connection: &mut PgConnection,
    token_hash: &[u8],
    account_id: &AccountId,
) -> Result<()> {
    query!(
        "UPDATE sign_ins SET account_id = $2 WHERE token_hash = $1",
        token_hash,
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns `false` when the sign-in no longer exists.
pub async fn update_destination(
    connection: &mut PgConnection,
    token_hash: &[u8],
    destination: &Destination,
) -> Result<bool> {
    let changed = query!(
        "UPDATE sign_ins SET into_account_id = $2, into_member_id = $3 WHERE token_hash = $1",
        token_hash,
        destination.account_id.as_str(),
        destination.member_id,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

pub async fn is_waiting(
    connection: &mut PgConnection,
    token_hash: &[u8],
    now: DateTime<Utc>,
) -> Result<bool> {
    let is_waiting = query_scalar!(
        "SELECT EXISTS (SELECT FROM sign_ins WHERE token_hash = $1 AND expires_at > $2) AS \"is!\"",
        token_hash,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(is_waiting)
}

pub async fn update_wrong_tries(connection: &mut PgConnection, token_hash: &[u8]) -> Result<()> {
    query!("UPDATE sign_ins SET wrong_tries = wrong_tries + 1 WHERE token_hash = $1", token_hash)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_sign_in(connection: &mut PgConnection, token_hash: &[u8]) -> Result<()> {
    query!("DELETE FROM sign_ins WHERE token_hash = $1", token_hash).execute(connection).await?;
    Ok(())
}

deletion!(delete_expired, "sign_ins", "token_hash", "expires_at <= $1");

pub async fn delete_of_address(connection: &mut PgConnection, address: &str) -> Result<u64> {
    let deleted =
        query!("DELETE FROM sign_ins WHERE address = $1", address).execute(connection).await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_into(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM sign_ins
         WHERE address = $2 AND (into_account_id = $1 OR account_id = $1)",
        account_id.as_str(),
        address,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_all_into(connection: &mut PgConnection, account_id: &AccountId) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM sign_ins WHERE into_account_id = $1 OR account_id = $1",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
