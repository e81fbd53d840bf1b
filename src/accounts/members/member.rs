//! The people of an account.
//!
//! The account's own address is its first member: it may do everything, needs no row, and changes with
//! the address. Everybody else is a row of `members`, with a role that is a key's scope. An address may
//! be a member of several accounts.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::accounts::account::Account;
use crate::accounts::scope::Scope;
use crate::accounts::store;
use crate::error::Result;
use crate::types::ids::AccountId;

/// For so long a sign-in shows that it is the member, and nobody else in a browser that was left open.
const FRESH: Duration = Duration::minutes(15);

/// Somebody who is signed in.
#[derive(Clone)]
pub struct Member {
    pub account: Account,
    /// `None` for the account's own address.
    pub member_id: Option<Uuid>,
    pub address: String,
    pub role: Scope,
    pub session_id: Uuid,
    /// SHA-256 of the session's secret.
    pub token_hash: Vec<u8>,
    /// The time of the sign-in that opened the session, in whichever account it took place.
    pub signed_in_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

impl Member {
    /// Whether the sign-in was a moment ago.
    pub fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        now - self.signed_in_at < FRESH
    }
}

/// An account, as one of its members has it.
#[derive(Clone, Debug)]
pub struct Membership {
    pub account: Account,
    /// `None` for the account's own address.
    pub member_id: Option<Uuid>,
    pub role: Scope,
}

impl Membership {
    /// The membership of the account's own address.
    pub fn of_own(account: Account) -> Self {
        Self { account, member_id: None, role: Scope::Full }
    }
}

/// The account that an address is a member of: the one that was opened with it, or else the first that
/// invited it.
pub async fn member_of(connection: &mut PgConnection, address: &str) -> Result<Option<Membership>> {
    Ok(memberships_of(connection, address).await?.into_iter().next())
}

/// All accounts that an address is a member of, its own one first.
pub async fn memberships_of(
    connection: &mut PgConnection,
    address: &str,
) -> Result<Vec<Membership>> {
    let own = store::find_account_by_email(connection, address).await?;
    let mut memberships = own.map(Membership::of_own).into_iter().collect::<Vec<_>>();
    for stored in store::list_memberships_of(connection, address).await? {
        let account = store::find_account(connection, &stored.account_id).await?;
        let (member_id, role) = (Some(stored.member_id), stored.role);
        memberships.extend(account.map(|account| Membership { account, member_id, role }));
    }
    Ok(memberships)
}

/// Like [`membership_in`], with the account's row locked: the membership cannot end before the
/// transaction does.
pub async fn lock_membership(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
) -> Result<Option<Membership>> {
    match store::lock_account(connection, account_id).await? {
        Some(account) => membership_of(connection, account, address).await,
        None => Ok(None),
    }
}

/// The account as this address has it now; `None` once the address is no member any more.
pub async fn membership_in(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
) -> Result<Option<Membership>> {
    match store::find_account(connection, account_id).await? {
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
    let stored = store::find_member(connection, &account.account_id, address).await?;
    Ok(stored.map(|stored| Membership {
        account,
        member_id: Some(stored.member_id),
        role: stored.role,
    }))
}
