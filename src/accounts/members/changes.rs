//! Steps shared by the capabilities that change members.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::accounts::access::Caller;
use crate::accounts::account::Account;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::Scope;
use crate::accounts::site_choice::{self, chosen};
use crate::accounts::sites::Sites;
use crate::accounts::store::{self, StoredMember};
use crate::error::{Error, Result};
use crate::types::ids::AccountId;

pub async fn lock(connection: &mut PgConnection, account_id: &AccountId) -> Result<Account> {
    store::lock_account(connection, account_id).await?.ok_or(Error::AccountNotFound)
}

/// The sites of a member with this role. The role `full` cannot be restricted, because it manages the whole account.
pub async fn sites_of(
    connection: &mut PgConnection,
    account_id: &AccountId,
    role: Scope,
    pixels: Option<&[String]>,
) -> Result<Sites> {
    match (role, pixels) {
        (Scope::Full, Some(_)) => Err(site_choice::admin_of_some()),
        _ => chosen(connection, account_id, pixels).await,
    }
}

pub async fn record(
    connection: &mut PgConnection,
    caller: &Caller,
    now: DateTime<Utc>,
    kind: ActivityKind,
    stored: &StoredMember,
) -> Result<()> {
    caller.record(connection, now, &stored.account_id, kind, Some(&stored.email)).await
}
