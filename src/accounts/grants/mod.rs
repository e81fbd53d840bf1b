//! Grants: the access to the tool server that members give to apps. They are listed and revoked beside
//! keys. The protocol by which an app obtains a grant is in `oauth`.

pub mod grant_caller;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use super::access::{Caller, KeyHolder};
use super::actor::Actor;
use super::capability::{Capability, NoInput};
use super::event::ActivityKind;
use super::events;
use super::members::member::Member;
use super::scope::{Governs, Oversees, Scope};
use super::store::{self, GrantRow};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::types::ids::{AccountId, random_text};

pub use super::store::{
    NewGrant, delete_expired_grants, delete_grants_of_session, lock_grant, update_grant_extended,
};

/// The maximum number of grants per account. A new grant beyond it ends the least recently used one.
const MOST_GRANTS: i64 = 50;
const ID_LEN: usize = 20;

/// An app that a member has connected, and what it may do.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct GrantView {
    #[schema(example = "gr_3vTqYb0wK1x8LmNd2RsQ")]
    pub grant_id: String,
    /// What the app calls itself.
    #[schema(example = "Claude")]
    pub app: String,
    /// The host that vouches for the app: the one of its `client_id`. Null for an app that registered itself.
    #[schema(required = true, example = "claude.ai")]
    pub host: Option<String>,
    pub scope: Scope,
    /// The address of the member who connected it.
    #[schema(example = "ann@shop.example")]
    pub made_by: String,
    pub created_at: Timestamp,
    /// To the hour; null for a grant that was never used.
    #[schema(required = true)]
    pub last_used_at: Option<Timestamp>,
}

/// The account's grants, oldest first.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct GrantList {
    pub grants: Vec<GrantView>,
}

impl From<GrantRow> for GrantView {
    fn from(row: GrantRow) -> Self {
        Self {
            grant_id: row.grant_id,
            app: row.client_name,
            host: row.client_host,
            scope: row.scope,
            made_by: row.address,
            created_at: Timestamp(row.created_at),
            last_used_at: row.last_used_at.map(Timestamp),
        }
    }
}

pub async fn list_grants(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
) -> Result<GrantList> {
    let mut connection = pool.acquire().await?;
    let rows = store::list_grants(&mut connection, account_id, clock.now()).await?;
    Ok(GrantList { grants: rows.into_iter().map(GrantView::from).collect() })
}

/// The apps that members have connected to the account.
pub struct ListGrants;

impl Capability for ListGrants {
    const NAME: &'static str = "list_grants";
    type Service = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = GrantList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<GrantList> {
        list_grants(&infra.pool, &infra.clock, caller.account_id()).await
    }
}

/// A grant by its id.
#[derive(Deserialize, JsonSchema)]
pub struct OfGrant {
    pub grant_id: String,
}

/// Ends a grant of the account, on every node at once. One that has ended, or is another account's,
/// is not found.
pub struct RevokeGrant;

impl Capability for RevokeGrant {
    const NAME: &'static str = "revoke_grant";
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OfGrant;
    type Output = ();

    fn refusals() -> Vec<Error> {
        vec![Error::NotFound]
    }

    async fn run(infra: &Infra, caller: Caller, OfGrant { grant_id }: OfGrant) -> Result<()> {
        let (now, mut transaction) = (infra.clock.now(), infra.pool.begin().await?);
        let row = store::lock_grant(&mut transaction, &grant_id, now).await?;
        if row.is_none_or(|row| row.account_id != *caller.account_id()) {
            return Err(Error::NotFound);
        }
        end(&mut transaction, now, &grant_id, &caller.actor).await?;
        transaction.commit().await?;
        Ok(())
    }
}

/// Lists the grants that a member may see: all of the account for the roles `full` and `read` without a
/// restriction, otherwise only the member's own.
pub async fn list_seen(pool: &PgPool, clock: &Clock, member: &Member) -> Result<Vec<GrantView>> {
    let mut grants = list_grants(pool, clock, &member.account.account_id).await?.grants;
    let sees_all = member.role != Scope::Operate && member.sites.are_all();
    grants.retain(|grant| sees_all || grant.made_by == member.address);
    Ok(grants)
}

/// Ends a grant that the member gave, whatever the member's role is. `false` when there is no such grant.
pub async fn end_own(
    pool: &PgPool,
    clock: &Clock,
    member: &Member,
    grant_id: &str,
) -> Result<bool> {
    let (now, mut transaction) = (clock.now(), pool.begin().await?);
    let row = store::lock_grant(&mut transaction, grant_id, now).await?;
    let is_own = |row: &GrantRow| {
        row.account_id == member.account.account_id && row.address == member.address
    };
    if row.filter(is_own).is_none() {
        return Ok(false);
    }
    end(&mut transaction, now, grant_id, &Actor::Member(member.address.clone())).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Stores a grant and returns its id. An app that registered itself is a single installation, so the member's
/// earlier grants to it are replaced. The account must be locked.
pub async fn give(connection: &mut PgConnection, new: NewGrant<'_>) -> Result<String> {
    let grant_id = format!("gr_{}", random_text(ID_LEN));
    let (account_id, now) = (new.account_id, new.created_at);
    let new = NewGrant { grant_id: &grant_id, ..new };
    if new.client_host.is_none() {
        let (address, client_id) = (new.address, new.client_id);
        store::delete_grants_of_app(connection, account_id, address, client_id).await?;
    }
    store::insert_grant(connection, &new).await?;
    store::delete_grants_beyond(connection, account_id, MOST_GRANTS).await?;
    let (actor, kind) = (Actor::Member(new.address.to_owned()), ActivityKind::AppConnected);
    events::record(connection, now, account_id, &actor, kind, Some(&grant_id)).await?;
    tracing::info!(%account_id, "app connected");
    Ok(grant_id)
}

/// Records that an app called a tool that its scope does not permit.
pub async fn record_exceeded(pool: &PgPool, clock: &Clock, grant_id: &str) -> Result<()> {
    let now = clock.now();
    store::update_grant_exceeded(&mut *pool.acquire().await?, grant_id, now).await
}

pub async fn end(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    grant_id: &str,
    actor: &Actor,
) -> Result<()> {
    if let Some(account_id) = store::delete_grant(connection, grant_id).await? {
        let kind = ActivityKind::AppDisconnected;
        events::record(connection, now, &account_id, actor, kind, Some(grant_id)).await?;
        tracing::info!(%account_id, "app disconnected");
    }
    Ok(())
}

pub async fn end_of_session(pool: &PgPool, session_id: Uuid) -> Result<()> {
    delete_grants_of_session(&mut *pool.acquire().await?, session_id).await
}
