//! What the operator does from the command line.

use super::account::{Plan, Status, TRIAL};
use super::credentials::{ApiKey, issue_api_key};
use super::email::Email;
use super::store::{self, NewAccount};
use crate::ids::AccountId;
use crate::platform::Platform;

/// A refusal in one sentence for the terminal.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("{email} has an account of plan {plan}; pass --upgrade to make it unlimited")]
    OtherPlan { email: String, plan: &'static str },
    #[error("no API key has the prefix {0}")]
    NoSuchPrefix(String),
    #[error("no account has the id {0}")]
    NoSuchAccount(String),
    #[error(transparent)]
    Failed(#[from] crate::error::Error),
}

impl From<sqlx::Error> for OperatorError {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Finds or opens an active, confirmed account of plan `unlimited` and issues a key to it.
///
/// An account of another plan is refused unless `upgrade` is set.
pub async fn unlimited_key(
    platform: &Platform,
    email: &str,
    upgrade: bool,
) -> std::result::Result<ApiKey, OperatorError> {
    let now = platform.clock.now();
    let email = Email::parse(email)?;
    let mut transaction = platform.pool.begin().await?;
    let account_id = match store::find_account_by_email(&mut transaction, email.as_str()).await? {
        None => {
            let account_id = AccountId::random();
            let new = NewAccount {
                account_id: &account_id,
                email: email.as_str(),
                display_name: email.as_str(),
                external_user_id: None,
                referral_code: None,
                status: Status::Active,
                plan: Plan::Unlimited,
                email_verified_at: Some(now),
                created_at: now,
                trial_ends_at: now + TRIAL,
                confirmation_mailed_at: None,
            };
            store::insert_account(&mut transaction, &new).await?;
            account_id
        }
        Some(account) if account.plan == Plan::Unlimited || upgrade => {
            store::update_plan(&mut transaction, &account.account_id, Plan::Unlimited).await?;
            store::update_email_verified(&mut transaction, &account.account_id, now).await?;
            account.account_id
        }
        Some(account) => {
            return Err(OperatorError::OtherPlan {
                email: account.email,
                plan: account.plan.as_str(),
            });
        }
    };
    let key = issue_api_key(&mut transaction, now, &account_id).await?;
    transaction.commit().await?;
    Ok(key)
}

/// Revokes the key with a 12-character prefix.
pub async fn revoke_key(
    platform: &Platform,
    prefix: &str,
) -> std::result::Result<(), OperatorError> {
    let mut connection = platform.pool.acquire().await?;
    match store::update_key_revoked(&mut connection, prefix, platform.clock.now()).await? {
        true => Ok(()),
        false => Err(OperatorError::NoSuchPrefix(prefix.to_owned())),
    }
}

/// Suspends an account: its keys are refused and its tags are gone, on every node at once. Doing it
/// twice changes nothing.
pub async fn suspend(
    platform: &Platform,
    account_id: &str,
) -> std::result::Result<(), OperatorError> {
    let unknown = || OperatorError::NoSuchAccount(account_id.to_owned());
    let id = AccountId::parse(account_id).ok_or_else(unknown)?;
    let mut transaction = platform.pool.begin().await?;
    if !store::update_suspended(&mut transaction, &id).await? {
        return Err(unknown());
    }
    platform.changes.commit(transaction).await?;
    Ok(())
}

/// Ends a suspension: the account has the status again that it had before. An account that is not
/// suspended stays as it is.
pub async fn resume(
    platform: &Platform,
    account_id: &str,
) -> std::result::Result<(), OperatorError> {
    let unknown = || OperatorError::NoSuchAccount(account_id.to_owned());
    let id = AccountId::parse(account_id).ok_or_else(unknown)?;
    let mut transaction = platform.pool.begin().await?;
    if !store::update_resumed(&mut transaction, &id).await? {
        return Err(unknown());
    }
    platform.changes.commit(transaction).await?;
    Ok(())
}
