use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use super::events::delete_events_of;
use crate::accounts::passkeys::store::delete_unused;
use crate::accounts::preferences;
use crate::error::Result;
use crate::infra::events::delete_events_of_accounts;
use crate::infra::outbox;
use crate::types::ids::AccountId;

pub struct Erased {
    pub accounts: u64,
    pub api_keys: u64,
    /// Signup tokens, confirmation links and codes.
    pub verifications: u64,
    pub members: u64,
    pub events: u64,
}

pub async fn delete_account_and_credentials(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Erased> {
    outbox::delete_mails_of_accounts(connection, &[account_id.to_string()]).await?;
    delete_events_of_accounts(connection, &[account_id.to_string()]).await?;
    let events = delete_events_of(connection, &[account_id.to_string()]).await?;
    let id = account_id.as_str();
    let api_keys =
        query!("DELETE FROM api_keys WHERE account_id = $1", id).execute(&mut *connection).await?;
    let tokens = query!("DELETE FROM signup_tokens WHERE account_id = $1", id)
        .execute(&mut *connection)
        .await?;
    let links = query!("DELETE FROM confirmation_links WHERE account_id = $1", id)
        .execute(&mut *connection)
        .await?;
    let codes = query!("DELETE FROM confirmation_codes WHERE account_id = $1", id)
        .execute(&mut *connection)
        .await?;
    let members =
        query!("DELETE FROM members WHERE account_id = $1", id).execute(&mut *connection).await?;
    let accounts =
        query!("DELETE FROM accounts WHERE account_id = $1", id).execute(&mut *connection).await?;
    delete_unused(connection).await?;
    preferences::delete_unused(connection).await?;
    Ok(Erased {
        accounts: accounts.rows_affected(),
        api_keys: api_keys.rows_affected(),
        verifications: tokens.rows_affected() + links.rows_affected() + codes.rows_affected(),
        members: members.rows_affected(),
        events,
    })
}

pub async fn delete_account(connection: &mut PgConnection, account_id: &AccountId) -> Result<()> {
    outbox::delete_mails_of_accounts(connection, &[account_id.to_string()]).await?;
    delete_events_of(connection, &[account_id.to_string()]).await?;
    query!("DELETE FROM accounts WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_code_requests(
    connection: &mut PgConnection,
    address_hash: &[u8],
) -> Result<u64> {
    let deleted = query!("DELETE FROM code_requests WHERE address_hash = $1", address_hash)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}

/// Whether an account is more than a sign-up: it has or had a pixel or contacts, pays or may be
/// paying, or the operator has activated, suspended or upgraded it. Keys do not count.
pub async fn is_in_use(
    connection: &mut PgConnection,
    account_id: &AccountId,
    checkouts_since: DateTime<Utc>,
) -> Result<bool> {
    let in_use = query_scalar!(
        "SELECT plan <> 'free' OR paid_until IS NOT NULL OR status = 'suspended'
             OR (status = 'active' AND email_verified_at IS NULL)
             OR EXISTS (SELECT FROM pixels WHERE pixels.account_id = $1)
             OR EXISTS (SELECT FROM contact_usage WHERE contact_usage.account_id = $1)
             OR EXISTS (SELECT FROM subscriptions WHERE subscriptions.account_id = $1)
             OR EXISTS (SELECT FROM paid_checkouts WHERE paid_checkouts.account_id = $1)
             OR EXISTS (SELECT FROM checkout_attempts
                 WHERE checkout_attempts.account_id = $1 AND started_at > $2) AS \"in_use!\"
         FROM accounts WHERE account_id = $1",
        account_id.as_str(),
        checkouts_since,
    )
    .fetch_one(&mut *connection)
    .await?;
    Ok(in_use || has_published(connection, account_id).await?)
}

async fn has_published(connection: &mut PgConnection, account_id: &AccountId) -> Result<bool> {
    let found = query_scalar!(
        "SELECT version FROM consent_policies WHERE account_id = $1 LIMIT 1",
        account_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}
