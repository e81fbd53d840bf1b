//! The SQL of accounts and their credentials.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::account::{Account, Plan, Status};
use crate::error::Result;
use crate::ids::AccountId;

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

/// When the account's token with this hash ends.
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

/// Puts a fresh code in the place of the account's old one.
pub async fn upsert_confirmation_code(
    connection: &mut PgConnection,
    account_id: &AccountId,
    code_hash: &[u8],
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO confirmation_codes (account_id, code_hash, expires_at) VALUES ($1, $2, $3)
         ON CONFLICT (account_id)
         DO UPDATE SET code_hash = $2, expires_at = $3, wrong_tries = 0",
        account_id.as_str(),
        code_hash,
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct ConfirmationCode {
    pub code_hash: Vec<u8>,
    pub expires_at: DateTime<Utc>,
    pub wrong_tries: i32,
}

/// The account's code, locked until the transaction ends, so that guesses are counted one by one.
pub async fn lock_confirmation_code(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<ConfirmationCode>> {
    let code = query_as!(
        ConfirmationCode,
        "SELECT code_hash, expires_at, wrong_tries FROM confirmation_codes
         WHERE account_id = $1 FOR UPDATE",
        account_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(code)
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

pub async fn delete_confirmation_code(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<()> {
    query!("DELETE FROM confirmation_codes WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

pub struct CodeRequests {
    pub last_sent_at: DateTime<Utc>,
    pub sent_on: NaiveDate,
    pub resent: i32,
}

/// What was sent to an address before, locked until the transaction ends; a first row is made
/// when there is none, so that two first requests at once are counted one after the other.
pub async fn lock_code_requests(
    connection: &mut PgConnection,
    address_hash: &[u8],
) -> Result<CodeRequests> {
    query!(
        "INSERT INTO code_requests (address_hash, last_sent_at, sent_on, resent)
         VALUES ($1, '-infinity', '1970-01-01', 0) ON CONFLICT DO NOTHING",
        address_hash,
    )
    .execute(&mut *connection)
    .await?;
    let requests = query_as!(
        CodeRequests,
        "SELECT GREATEST(last_sent_at, '1970-01-01') AS \"last_sent_at!\", sent_on, resent
         FROM code_requests WHERE address_hash = $1 FOR UPDATE",
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
