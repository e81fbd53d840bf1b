//! The SQL of accounts and their credentials.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::account::{Account, Plan, Status};
use crate::error::Result;
use crate::ids::AccountId;

pub mod erasure;
pub mod proofs;

pub use proofs::*;

pub struct NewAccount<'a> {
    pub account_id: &'a AccountId,
    pub email: &'a str,
    pub display_name: &'a str,
    pub external_user_id: Option<&'a str>,
    pub referral_code: Option<&'a str>,
    pub status: Status,
    pub plan: Plan,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub trial_ends_at: DateTime<Utc>,
    pub confirmation_mailed_at: Option<DateTime<Utc>>,
}

pub async fn insert_account(connection: &mut PgConnection, new: &NewAccount<'_>) -> Result<()> {
    query!(
        "INSERT INTO accounts (account_id, email, display_name, external_user_id, referral_code,
             status, plan, email_verified_at, created_at, trial_ends_at, confirmation_mailed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        new.account_id.as_str(),
        new.email,
        new.display_name,
        new.external_user_id,
        new.referral_code,
        new.status.as_str(),
        new.plan.as_str(),
        new.email_verified_at,
        new.created_at,
        new.trial_ends_at,
        new.confirmation_mailed_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// As [`insert_account`], but leaves an account that is there already as it is.
pub async fn insert_account_unless_there(
    connection: &mut PgConnection,
    new: &NewAccount<'_>,
) -> Result<()> {
    query!(
        "INSERT INTO accounts (account_id, email, display_name, external_user_id, referral_code,
             status, plan, email_verified_at, created_at, trial_ends_at, confirmation_mailed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT DO NOTHING",
        new.account_id.as_str(),
        new.email,
        new.display_name,
        new.external_user_id,
        new.referral_code,
        new.status.as_str(),
        new.plan.as_str(),
        new.email_verified_at,
        new.created_at,
        new.trial_ends_at,
        new.confirmation_mailed_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<Account>> {
    let account = query_as!(
        Account,
        "SELECT account_id, email, display_name, external_user_id, status, plan,
             email_verified_at, trial_ends_at, paid_until
         FROM accounts WHERE account_id = $1",
        account_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(account)
}

/// The account row, locked until the transaction ends: what counts against an allowance waits
/// here for its turn.
pub async fn lock_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<Account>> {
    let account = query_as!(
        Account,
        "SELECT account_id, email, display_name, external_user_id, status, plan,
             email_verified_at, trial_ends_at, paid_until
         FROM accounts WHERE account_id = $1 FOR UPDATE",
        account_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(account)
}

pub async fn find_account_by_email(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Option<Account>> {
    let account = query_as!(
        Account,
        "SELECT account_id, email, display_name, external_user_id, status, plan,
             email_verified_at, trial_ends_at, paid_until
         FROM accounts WHERE email = $1",
        email,
    )
    .fetch_optional(connection)
    .await?;
    Ok(account)
}

/// The id of the account that an operator's own system knows by this name.
pub async fn find_account_id_by_external_user_id(
    connection: &mut PgConnection,
    external_user_id: &str,
) -> Result<Option<AccountId>> {
    let account_id = query_scalar!(
        "SELECT account_id FROM accounts WHERE external_user_id = $1",
        external_user_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(account_id.map(AccountId::from))
}

pub async fn delete_account(connection: &mut PgConnection, account_id: &AccountId) -> Result<()> {
    query!("DELETE FROM accounts WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Marks the address as confirmed and a pending account as active. `false` when it was confirmed
/// before.
pub async fn update_email_verified(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let changed = query!(
        "UPDATE accounts
         SET email_verified_at = $2,
             status = CASE status WHEN 'pending_email' THEN 'active' ELSE status END,
             suspended_from = CASE suspended_from WHEN 'pending_email' THEN 'active' ELSE suspended_from END
         WHERE account_id = $1 AND email_verified_at IS NULL",
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Makes an account that waits for its confirmation active.
pub async fn update_activated(connection: &mut PgConnection, account_id: &AccountId) -> Result<()> {
    query!(
        "UPDATE accounts SET status = 'active' WHERE account_id = $1 AND status = 'pending_email'",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Suspends an account and keeps the status to go back to. `false` when there is no such account.
pub async fn update_suspended(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<bool> {
    let changed = query!(
        "UPDATE accounts
         SET suspended_from = CASE status WHEN 'suspended' THEN suspended_from ELSE status END,
             status = 'suspended'
         WHERE account_id = $1",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Gives a suspended account its former status back. `false` when there is no such account.
pub async fn update_resumed(connection: &mut PgConnection, account_id: &AccountId) -> Result<bool> {
    let changed = query!(
        "UPDATE accounts SET status = COALESCE(suspended_from, status), suspended_from = NULL
         WHERE account_id = $1",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

pub async fn update_plan(
    connection: &mut PgConnection,
    account_id: &AccountId,
    plan: Plan,
) -> Result<()> {
    query!(
        "UPDATE accounts SET plan = $2 WHERE account_id = $1",
        account_id.as_str(),
        plan.as_str()
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Claims the right to send a confirmation mail: at most one since `not_since`. Gives the time
/// of the one before (to put back should sending fail), or says that it is too soon.
pub async fn claim_confirmation_mail(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
    not_since: DateTime<Utc>,
) -> Result<std::result::Result<Option<DateTime<Utc>>, DateTime<Utc>>> {
    let before = query_scalar!(
        "SELECT confirmation_mailed_at FROM accounts WHERE account_id = $1 FOR UPDATE",
        account_id.as_str(),
    )
    .fetch_one(&mut *connection)
    .await?;
    if let Some(last) = before.filter(|&last| last > not_since) {
        return Ok(Err(last));
    }
    update_confirmation_mailed_at(connection, account_id, Some(now)).await?;
    Ok(Ok(before))
}

pub async fn update_confirmation_mailed_at(
    connection: &mut PgConnection,
    account_id: &AccountId,
    mailed_at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "UPDATE accounts SET confirmation_mailed_at = $2 WHERE account_id = $1",
        account_id.as_str(),
        mailed_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn insert_api_key(
    connection: &mut PgConnection,
    account_id: &AccountId,
    key_hash: &[u8],
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO api_keys (key_hash, account_id, prefix, created_at) VALUES ($1, $2, $3, $4)",
        key_hash,
        account_id.as_str(),
        prefix,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct ApiKeyRow {
    pub account_id: AccountId,
    pub prefix: String,
    pub revoked_at: Option<DateTime<Utc>>,
}

pub async fn find_api_key(
    connection: &mut PgConnection,
    key_hash: &[u8],
) -> Result<Option<ApiKeyRow>> {
    let row = query_as!(
        ApiKeyRow,
        "SELECT account_id, prefix, revoked_at FROM api_keys WHERE key_hash = $1",
        key_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// `false` when no key has the prefix. A second revocation keeps the first time.
pub async fn update_key_revoked(
    connection: &mut PgConnection,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let changed = query!(
        "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE prefix = $1",
        prefix,
        now,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}
