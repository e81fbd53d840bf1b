//! The caller that presents an app's token: the account, limited to what the member has allowed.

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
pub struct GrantCaller {
    pub grant_id: String,
    pub client_id: String,
    pub account: Account,
    pub scope: Scope,
    /// The sites of the member who gave the grant.
    pub sites: Sites,
}

/// Whether a member may grant a scope to an app: members with the role `full` may grant any, others only their own.
pub fn may_grant(role: Scope, scope: Scope) -> bool {
    role == Scope::Full || role == scope
}

/// Finds the holder of a grant. `None` when it has ended, its account is not active, or the member who gave it
/// has left or could no longer give it.
pub async fn find(
    connection: &mut PgConnection,
    grant_id: &str,
    now: DateTime<Utc>,
) -> Result<Option<GrantCaller>> {
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
    Ok(Some(GrantCaller { grant_id, client_id, account, scope, sites }))
}
