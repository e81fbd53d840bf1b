//! A second authorisation check, under the lock of the account's row. The key may have been revoked, the
//! session ended or the role changed since the first check, so calls that grant or change access check
//! again.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::access::Caller;
use super::actor::Actor;
use super::grants::grant_caller;
use super::keys::key_refusals::KeyRefusals;
use super::members::member::membership_in;
use super::sessions::store::is_open;
use super::store;
use crate::error::{Error, Result};

pub async fn recheck(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    caller: &Caller,
) -> Result<()> {
    let account_id = caller.account_id();
    let (scope, sites) = match (&caller.actor, caller.session_id) {
        (Actor::Key(prefix), _) => {
            let scope = store::find_scope_of_live_key(connection, account_id, prefix, now).await?;
            // The sites of a key never change.
            (scope.ok_or(KeyRefusals::who_am_i().revoked)?, caller.sites.clone())
        }
        (Actor::Member(address), Some(session_id)) => {
            if !is_open(connection, account_id, session_id, now).await? {
                return Err(Error::SignInRequired);
            }
            let membership = membership_in(connection, account_id, address).await?;
            let membership = membership.ok_or(Error::SignInRequired)?;
            (membership.role, membership.sites)
        }
        (Actor::App(grant_id), _) => {
            let holder = grant_caller::find(connection, grant_id, now).await?;
            let holder = holder.ok_or(KeyRefusals::who_am_i().revoked)?;
            (holder.scope, holder.sites)
        }
        _ => return Ok(()),
    };
    (scope == caller.scope && sites == caller.sites).then_some(()).ok_or(Error::ScopeNotAllowed)
}
