use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::accounts::account::{Account, Plan, Status, TRIAL};
use crate::error::Result;
use crate::types::ids::AccountId;

pub struct NewAccount<'a> {
    pub account_id: &'a AccountId,
    pub email: &'a str,
    pub display_name: &'a str,
    pub external_user_id: Option<&'a str>,
    pub external_user_id_vouched: bool,
    pub referral_code: Option<&'a str>,
    pub status: Status,
    pub plan: Plan,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub trial_ends_at: DateTime<Utc>,
    pub confirmation_mailed_at: Option<DateTime<Utc>>,
    /// Whether the address may belong to another account already.
    pub shares_address: bool,
}

impl<'a> NewAccount<'a> {
    pub fn unlimited(
        account_id: &'a AccountId,
        email: &'a str,
        display_name: &'a str,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            account_id,
            email,
            display_name,
            external_user_id: None,
            external_user_id_vouched: false,
            referral_code: None,
            status: Status::Active,
            plan: Plan::Unlimited,
            email_verified_at: Some(now),
            created_at: now,
            trial_ends_at: now + TRIAL,
            confirmation_mailed_at: None,
            shares_address: false,
        }
    }
}

macro_rules! select_account {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Account,
            "SELECT account_id, email, display_name, external_user_id, status, plan,
                 email_verified_at, created_at, trial_ends_at, paid_until
             FROM accounts " + $rest,
            $($argument),+
        )
    };
}

macro_rules! insert_account {
    ($new:ident $(, $on_conflict:literal)?) => {
        query!(
            "INSERT INTO accounts (account_id, email, display_name, external_user_id,
                 external_user_id_vouched, referral_code, status, plan, email_verified_at,
                 created_at, trial_ends_at, confirmation_mailed_at, shares_address)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
                $(+ $on_conflict)?,
            $new.account_id.as_str(),
            $new.email,
            $new.display_name,
            $new.external_user_id,
            $new.external_user_id_vouched,
            $new.referral_code,
            $new.status.as_str(),
            $new.plan.as_str(),
            $new.email_verified_at,
            $new.created_at,
            $new.trial_ends_at,
            $new.confirmation_mailed_at,
            $new.shares_address,
        )
    };
}

pub async fn insert_account(connection: &mut PgConnection, new: &NewAccount<'_>) -> Result<()> {
    insert_account!(new).execute(connection).await?;
    Ok(())
}

pub async fn insert_account_unless_there(
    connection: &mut PgConnection,
    new: &NewAccount<'_>,
) -> Result<()> {
    insert_account!(new, " ON CONFLICT DO NOTHING").execute(connection).await?;
    Ok(())
}

pub async fn find_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<Account>> {
    let account = select_account!("WHERE account_id = $1", account_id.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(account)
}

/// Locks the account's row until the transaction ends. Everything that counts against an allowance takes this lock.
pub async fn lock_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<Account>> {
    let account = select_account!("WHERE account_id = $1 FOR UPDATE", account_id.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(account)
}

/// The account that was signed up with the address. Accounts that share the address are left out.
pub async fn find_account_by_email(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Option<Account>> {
    let account = select_account!("WHERE email = $1 AND NOT shares_address", email)
        .fetch_optional(connection)
        .await?;
    Ok(account)
}

/// All accounts of an address: confirmed ones first, and among equals the one that was signed up with it.
pub async fn list_accounts_by_email(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Vec<Account>> {
    let accounts = select_account!(
        "WHERE email = $1
         ORDER BY email_verified_at IS NULL, shares_address, created_at, account_id",
        email,
    )
    .fetch_all(connection)
    .await?;
    Ok(accounts)
}

pub async fn list_accounts(
    connection: &mut PgConnection,
    account_ids: &[String],
) -> Result<Vec<Account>> {
    let accounts =
        select_account!("WHERE account_id = ANY($1)", account_ids).fetch_all(connection).await?;
    Ok(accounts)
}

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

pub async fn update_claimed_external_user_id_taken(
    connection: &mut PgConnection,
    external_user_id: &str,
) -> Result<Option<AccountId>> {
    let account_id = query_scalar!(
        "UPDATE accounts SET external_user_id = NULL
         WHERE external_user_id = $1 AND NOT external_user_id_vouched RETURNING account_id",
        external_user_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(account_id.map(AccountId::from))
}

pub async fn update_email(
    connection: &mut PgConnection,
    account_id: &AccountId,
    email: &str,
    verified_at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "UPDATE accounts SET email = $2, email_verified_at = COALESCE($3, email_verified_at)
         WHERE account_id = $1",
        account_id.as_str(),
        email,
        verified_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_display_name(
    connection: &mut PgConnection,
    account_id: &AccountId,
    display_name: &str,
) -> Result<()> {
    query!(
        "UPDATE accounts SET display_name = $2 WHERE account_id = $1",
        account_id.as_str(),
        display_name,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Marks an account for deletion; its keys are refused from now on.
pub async fn update_deleting(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE accounts
         SET status = 'suspended', suspended_from = CASE status WHEN 'suspended'
                 THEN suspended_from ELSE status END,
             deleting_since = COALESCE(deleting_since, $2)
         WHERE account_id = $1",
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn list_deleting(connection: &mut PgConnection) -> Result<Vec<AccountId>> {
    let account_ids = query_scalar!(
        "SELECT account_id FROM accounts WHERE deleting_since IS NOT NULL ORDER BY deleting_since",
    )
    .fetch_all(connection)
    .await?;
    Ok(account_ids.into_iter().map(AccountId::from).collect())
}
