use sqlx::PgPool;

use super::endpoint::{EndpointList, EndpointView};
use super::endpoints::is_seen_by;
use super::store::endpoints as store;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::{Reads, Scope};
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::Infra;
use crate::types::ids::AccountId;

pub async fn list(pool: &PgPool, clock: &Clock, caller: &Caller) -> Result<EndpointList> {
    let mut connection = pool.acquire().await?;
    let now = clock.now();
    let endpoints = store::list_endpoints(&mut connection, caller.account_id()).await?;
    let seen = endpoints.into_iter().filter(|endpoint| is_seen_by(endpoint, caller));
    let views = seen.map(|endpoint| EndpointView::at(endpoint, now));
    // Addresses may contain secrets for writing to other services, so `read` sees them shortened.
    let webhooks = match caller.scope {
        Scope::Read => views.map(EndpointView::without_secrets).collect(),
        Scope::Operate | Scope::Full => views.collect(),
    };
    Ok(EndpointList { webhooks })
}

/// The account's endpoints that fail, as a `read` key sees them.
pub async fn list_failing(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
) -> Result<Vec<EndpointView>> {
    let mut connection = pool.acquire().await?;
    let now = clock.now();
    let endpoints = store::list_endpoints(&mut connection, account_id).await?;
    let views = endpoints.into_iter().map(|endpoint| EndpointView::at(endpoint, now));
    Ok(views.filter(EndpointView::is_failing).map(EndpointView::without_secrets).collect())
}

pub struct ListWebhooks;

impl Capability for ListWebhooks {
    const NAME: &'static str = "list_webhooks";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List webhooks",
        "Lists the account's webhooks, and which of them are paused or fail.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = NoInput;
    type Output = EndpointList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<EndpointList> {
        list(&infra.pool, &infra.clock, &caller).await
    }
}
