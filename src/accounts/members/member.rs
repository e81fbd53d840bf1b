//! The members of an account. The account's own address is its first member: it has full scope, no
//! row, and changes with the address. Other members are rows of `members`, with a scope as their
//! role. An address may be a member of several accounts.

use std::collections::HashMap;

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::accounts::account::Account;
use crate::accounts::preferences::Preferences;
use crate::accounts::scope::Scope;
use crate::accounts::sites::Sites;
use crate::accounts::store::accounts::{
    find_account, list_accounts, list_accounts_by_email, lock_account,
};
use crate::accounts::store::members::{StoredMember, find_member, list_memberships_of};
use crate::error::Result;
use crate::types::ids::AccountId;

/// A sign-in is recent for this long. After that, the browser may have been left unattended.
const FRESH: Duration = Duration::minutes(15);

#[derive(Clone)]
pub struct Member {
    pub account: Account,
    /// `None` for the account's own address.
    pub member_id: Option<Uuid>,
    pub address: String,
    pub role: Scope,
    pub sites: Sites,
    pub preferences: Preferences,
    pub session_id: Uuid,
    pub token_hash: Vec<u8>,
    pub signed_in_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

impl Member {
    pub fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        now - self.signed_in_at < FRESH
    }
}

#[derive(Clone, Debug)]
pub struct Membership {
    pub account: Account,
    pub member_id: Option<Uuid>,
    pub role: Scope,
    pub sites: Sites,
}

impl Membership {
    pub fn of_own(account: Account) -> Self {
        Self { account, member_id: None, role: Scope::Full, sites: Sites::ALL }
    }

    fn of_stored(account: Account, stored: StoredMember) -> Self {
        let (member_id, role) = (Some(stored.member_id), stored.role);
        Self { account, member_id, role, sites: stored.sites }
    }
}

/// The first account of an address: one opened with it, or else the first that invited it.
pub async fn member_of(connection: &mut PgConnection, address: &str) -> Result<Option<Membership>> {
    Ok(memberships_of(connection, address).await?.into_iter().next())
}

pub async fn memberships_of(
    connection: &mut PgConnection,
    address: &str,
) -> Result<Vec<Membership>> {
    let own = list_accounts_by_email(connection, address).await?;
    let stored = list_memberships_of(connection, address).await?;
    let ids = stored.iter().map(|stored| stored.account_id.to_string()).collect::<Vec<_>>();
    let accounts = list_accounts(connection, &ids).await?.into_iter();
    let by_id = accounts.map(|account| (account.account_id.clone(), account));
    let mut accounts = by_id.collect::<HashMap<_, _>>();
    let mut memberships = own.into_iter().map(Membership::of_own).collect::<Vec<_>>();
    for stored in stored {
        let account = accounts.remove(&stored.account_id);
        memberships.extend(account.map(|account| Membership::of_stored(account, stored)));
    }
    Ok(memberships)
}

/// Like [`membership_in`], with the account's row locked, so that the membership cannot end first.
pub async fn lock_membership(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
) -> Result<Option<Membership>> {
    match lock_account(connection, account_id).await? {
        Some(account) => membership_of(connection, account, address).await,
        None => Ok(None),
    }
}

pub async fn membership_in(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
) -> Result<Option<Membership>> {
    match find_account(connection, account_id).await? {
        Some(account) => membership_of(connection, account, address).await,
        None => Ok(None),
    }
}

async fn membership_of(
    connection: &mut PgConnection,
    account: Account,
    address: &str,
) -> Result<Option<Membership>> {
    if account.email == address {
        return Ok(Some(Membership::of_own(account)));
    }
    let stored = find_member(connection, &account.account_id, address).await?;
    Ok(stored.map(|stored| Membership::of_stored(account, stored)))
}
