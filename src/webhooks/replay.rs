use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::endpoints::locked;
use super::input::{self, EventId};
use super::store::deliveries as store;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::types::ids::id_param::IdParam;

/// From when on.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ReplayRequest {
    /// RFC 3339. All that happened since and is kept is sent again.
    #[schema(format = DateTime, example = "2026-03-10T12:00:00Z")]
    pub since: String,
    /// Only events that were tried for a day in vain, without tests; all when left out.
    pub failed_only: Option<bool>,
}

/// How many are sent again.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Replayed {
    pub replayed: u64,
}

/// An event that was sent to an endpoint.
#[derive(Deserialize, JsonSchema)]
pub struct OfDelivery {
    pub endpoint_id: IdParam<Uuid>,
    pub event_id: IdParam<EventId>,
}

/// Replays one event to the endpoint, under the same id.
pub struct ReplayDelivery;

impl Capability for ReplayDelivery {
    const NAME: &'static str = "replay_webhook_delivery";
    const TOOL: Option<Tool> = Some(
        Tool::ADDITIVE
            .open_world()
            .described("Replay a delivery", "Sends one event to a webhook again."),
    );
    type Service = Infra;
    type Access = AllSites<Operates>;
    type Input = OfDelivery;
    type Output = Replayed;

    fn refusals() -> Vec<Error> {
        vec![Error::WebhookNotFound, Error::DeliveryNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfDelivery) -> Result<Replayed> {
        let endpoint_id = input::id_of(request.endpoint_id)?;
        let mut transaction = infra.pool.begin().await?;
        locked(&mut transaction, caller.account_id(), endpoint_id).await?;
        let EventId(event_id) = request.event_id.into_id().ok_or(Error::DeliveryNotFound)?;
        let now = infra.clock.now();
        if !store::update_replayed(&mut transaction, endpoint_id, event_id, now).await? {
            return Err(Error::DeliveryNotFound);
        }
        store::update_retried_now(&mut transaction, endpoint_id).await?;
        transaction.commit().await?;
        infra.events.wake();
        Ok(Replayed { replayed: 1 })
    }
}

/// Since when all is sent again to which endpoint.
#[derive(Deserialize, JsonSchema)]
pub struct SinceOfEndpoint {
    pub endpoint_id: IdParam<Uuid>,
    /// RFC 3339.
    pub since: String,
    /// Only events that were tried for a day in vain, without tests; all when left out.
    pub failed_only: Option<bool>,
}

/// Replays all stored events since a time to the endpoint, in their order.
pub struct ReplayWebhook;

impl Capability for ReplayWebhook {
    const NAME: &'static str = "replay_webhook";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Replay a webhook",
        "Sends all again to a webhook that happened since a moment and is kept.",
    ));
    type Service = Infra;
    type Access = AllSites<Operates>;
    type Input = SinceOfEndpoint;
    type Output = Replayed;

    fn refusals() -> Vec<Error> {
        vec![Error::WebhookNotFound, no_time()]
    }

    async fn run(infra: &Infra, caller: Caller, request: SinceOfEndpoint) -> Result<Replayed> {
        let endpoint_id = input::id_of(request.endpoint_id)?;
        let since = DateTime::parse_from_rfc3339(&request.since);
        let since = since.map(|time| time.with_timezone(&Utc));
        let mut transaction = infra.pool.begin().await?;
        locked(&mut transaction, caller.account_id(), endpoint_id).await?;
        let since = since.map_err(|_| no_time())?;
        let now = infra.clock.now();
        let only = request.failed_only.unwrap_or(false);
        let replayed =
            store::update_replayed_since(&mut transaction, endpoint_id, since, only, now).await?;
        store::update_retried_now(&mut transaction, endpoint_id).await?;
        transaction.commit().await?;
        infra.events.wake();
        Ok(Replayed { replayed })
    }
}

pub fn no_time() -> Error {
    let problem = "must be a time such as 2026-03-10T12:00:00Z";
    Error::Validation(vec![FieldError::new(&["body", "since"], problem, "value_error")])
}
