use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::endpoints::find;
use super::input::{OfEndpoint, webhook_id};
use super::store::deliveries::{self as store, Delivery};
use super::store::waiting::KEPT_DELIVERIES;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::{AccountId, PixelId};
use crate::types::text_enum::text_enum;

const MOST_COUNTED: i64 = 10_000;

text_enum! {
    /// What became of a delivery.
    pub enum DeliveryState {
        /// It is sent now, or again after a failure.
        Waiting = "waiting",
        /// It was answered with a status of 200 to 299.
        Delivered = "delivered",
        /// It was tried for a day.
        Failed = "failed",
    }
}

/// A delivery.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct DeliveryView {
    pub event_id: Uuid,
    /// The same id as the header `webhook-id` has it.
    #[schema(example = "evt_01a217b9fd697c1e9a5507c1d2e3f4a5")]
    pub webhook_id: String,
    /// The event's, or `test`.
    #[schema(example = "choice.recorded")]
    pub r#type: String,
    /// Null for what concerns the account as a whole.
    #[schema(required = true, value_type = Option<PixelId>)]
    #[schemars(with = "Option<PixelId>")]
    pub pixel_id: Option<String>,
    pub occurred_at: Timestamp,
    pub state: DeliveryState,
    pub attempts: i32,
    /// The last attempt.
    #[schema(required = true)]
    pub attempted_at: Option<Timestamp>,
    #[schema(required = true)]
    pub next_attempt_at: Option<Timestamp>,
    /// What the last attempt was answered with; null without an answer.
    #[schema(required = true)]
    pub status: Option<i32>,
    /// The beginning of that answer, at most 200 characters.
    #[schema(required = true)]
    pub answer: Option<String>,
    /// Why there was no answer.
    #[schema(required = true)]
    pub failure: Option<String>,
}

impl DeliveryView {
    pub fn of(delivery: Delivery, account_id: &AccountId) -> Self {
        let state = match (delivery.next_attempt_at, delivery.delivered_at) {
            (Some(_), _) => DeliveryState::Waiting,
            (None, Some(_)) => DeliveryState::Delivered,
            (None, None) => DeliveryState::Failed,
        };
        Self {
            event_id: delivery.event_id,
            webhook_id: webhook_id(delivery.event_id),
            r#type: delivery.kind,
            pixel_id: Some(delivery.partition_key).filter(|key| key != account_id.as_str()),
            occurred_at: Timestamp(delivery.occurred_at),
            state,
            attempts: delivery.attempts,
            attempted_at: delivery.attempted_at.map(Timestamp),
            next_attempt_at: delivery.next_attempt_at.map(Timestamp),
            status: delivery.status,
            answer: delivery.answer,
            failure: delivery.failure,
        }
    }
}

/// What was tried last for an endpoint, newest first, at most 50.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct DeliveryList {
    pub deliveries: Vec<DeliveryView>,
    /// How many wait to be sent; counted up to 10,000.
    pub waiting: i64,
}

pub struct ListDeliveries;

impl Capability for ListDeliveries {
    const NAME: &'static str = "list_webhook_deliveries";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List webhook deliveries",
        "Lists the last 50 deliveries to a webhook: state, status and beginning of the answer.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfEndpoint;
    type Output = DeliveryList;

    fn refusals() -> Vec<Error> {
        vec![Error::WebhookNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<DeliveryList> {
        let endpoint_id = request.id()?;
        let mut connection = infra.pool.acquire().await?;
        find(&mut connection, &caller, endpoint_id).await?;
        let mut last = store::list_attempted(&mut connection, endpoint_id, KEPT_DELIVERIES).await?;
        // The endpoint may earlier have received events of sites that the caller must not see.
        last.retain(|delivery| {
            caller.sites.are_all() || caller.sites.include(&delivery.partition_key)
        });
        let waiting = store::count_waiting(&mut connection, endpoint_id, MOST_COUNTED).await?;
        let view = |delivery| DeliveryView::of(delivery, caller.account_id());
        Ok(DeliveryList { deliveries: last.into_iter().map(view).collect(), waiting })
    }
}
