//! The caller with the token of an app: an account, within what a member has allowed.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use crate::accounts::account::{Account, Status};
use crate::accounts::members::member::membership_in;
use crate::accounts::scope::Scope;
use crate::accounts::sites::Sites;
use crate::accounts::store;
use crate::error::Result;

const USED_EVERY: Duration = Duration::hours(1);

#[derive(Clone, Debug)]
pub struct Holder {
    pub grant_id: String,
    pub client_id: String,
    pub account: Account,
    pub scope: Scope,
    /// Those of the member.
    pub sites: Sites,
}

/// Whether a member may let an app do what a scope permits: Admins all, others what they may do themselves.
pub fn may_grant(role: Scope, scope: Scope) -> bool {
    role == Scope::Full || role == scope
}

/// Finds who holds a grant. `None` when it has ended, its account is not active, or the member who gave it
/// has left or may no longer do as much.
pub async fn find(
    connection: &mut PgConnection,
    grant_id: &str,
    now: DateTime<Utc>,
) -> Result<Option<Holder>> {
    let Some(row) = store::find_grant(connection, grant_id, now).await? else { return Ok(None) };
    let membership = membership_in(connection, &row.account_id, &row.address).await?;
    let is_in_force = |membership: &crate::accounts::members::member::Membership| {
        membership.member_id == row.member_id
            && may_grant(membership.role, row.scope)
            && membership.account.status == Status::Active
    };
    let Some(membership) = membership.filter(is_in_force) else { return Ok(None) };
    if row.last_used_at.is_none_or(|used| now - used >= USED_EVERY) {
        store::update_grant_used(connection, grant_id, now).await?;
    }
    let (grant_id, client_id, scope) = (row.grant_id, row.client_id, row.scope);
    let (account, sites) = (membership.account, membership.sites);
    Ok(Some(Holder { grant_id, client_id, account, scope, sites }))
}
