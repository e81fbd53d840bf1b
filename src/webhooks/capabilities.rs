//! The capabilities of webhooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::delivery::{self, DeliveryList, DeliveryView};
use super::endpoint::{EndpointList, EndpointView, EndpointWithSecret};
use super::endpoints;
use super::format::Format;
use super::input::{self, EndpointChange, NewEndpoint, OfEndpoint};
use super::replay::{self, ReplayRequest, Replayed};
use super::trial;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::{Governs, Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::events::EventKind;
use crate::types::ids::PixelId;

/// Creates an endpoint. Its secret is shown only here.
pub struct CreateWebhook;

impl Capability for CreateWebhook {
    const NAME: &'static str = "create_webhook";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Has a server told what happens, by signed messages. The secret is shown only in this \
         answer.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = NewEndpoint;
    type Output = EndpointWithSecret;

    fn refusals() -> Vec<Error> {
        vec![WebhookAllowanceReached, PixelNotFound, input::not_public(), input::too_many_pixels()]
    }

    async fn run(infra: &Infra, caller: Caller, new: NewEndpoint) -> Result<EndpointWithSecret> {
        endpoints::create(infra, &caller, new).await
    }
}

/// Lists the account's endpoints, without their secrets.
pub struct ListWebhooks;

impl Capability for ListWebhooks {
    const NAME: &'static str = "list_webhooks";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("Lists the account's webhooks, and which of them are paused or fail."),
    );
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = NoInput;
    type Output = EndpointList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<EndpointList> {
        endpoints::list(infra, &caller).await
    }
}

/// What is to be another of which endpoint; what is left out stays.
#[derive(Deserialize, JsonSchema)]
pub struct OnEndpoint {
    pub endpoint_id: String,
    /// An https address on a public host.
    pub url: Option<String>,
    /// Empty for all.
    pub events: Option<Vec<EventKind>>,
    /// At most 100; empty for all.
    #[schemars(with = "Option<Vec<PixelId>>")]
    pub pixels: Option<Vec<String>>,
    pub format: Option<Format>,
    /// True pauses; false resumes, and what waits is sent.
    pub paused: Option<bool>,
}

impl OnEndpoint {
    pub fn new(endpoint_id: &str, change: EndpointChange) -> Self {
        let EndpointChange { url, events, pixels, format, paused } = change;
        Self { endpoint_id: endpoint_id.to_owned(), url, events, pixels, format, paused }
    }
}

/// Changes, pauses or resumes an endpoint.
pub struct ChangeWebhook;

impl Capability for ChangeWebhook {
    const NAME: &'static str = "change_webhook";
    const TOOL: Option<Tool> = Some(
        Tool::ADDITIVE
            .idempotent()
            .open_world()
            .described("Changes, pauses or resumes a webhook; what is left out stays."),
    );
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OnEndpoint;
    type Output = EndpointView;

    fn refusals() -> Vec<Error> {
        vec![WebhookNotFound, PixelNotFound, input::not_public(), input::too_many_pixels()]
    }

    async fn run(infra: &Infra, caller: Caller, request: OnEndpoint) -> Result<EndpointView> {
        let OnEndpoint { endpoint_id, url, events, pixels, format, paused } = request;
        let change = EndpointChange { url, events, pixels, format, paused };
        endpoints::change(infra, &caller, input::id_of(&endpoint_id)?, change).await
    }
}

/// An endpoint that is gone.
#[derive(Serialize, JsonSchema)]
pub struct DeletedWebhook {
    endpoint_id: Uuid,
    /// Always true.
    deleted: bool,
}

/// Deletes an endpoint and its pending deliveries.
pub struct DeleteWebhook;

impl Capability for DeleteWebhook {
    const NAME: &'static str = "delete_webhook";
    const TOOL: Option<Tool> =
        Some(Tool::DESTRUCTIVE.described("Deletes a webhook with what waits for it."));
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfEndpoint;
    type Output = DeletedWebhook;

    fn refusals() -> Vec<Error> {
        vec![WebhookNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<DeletedWebhook> {
        let endpoint_id = request.id()?;
        endpoints::delete(infra, &caller, endpoint_id).await?;
        Ok(DeletedWebhook { endpoint_id, deleted: true })
    }
}

/// Replaces an endpoint's secret. The new one is shown only here.
pub struct RotateWebhookSecret;

impl Capability for RotateWebhookSecret {
    const NAME: &'static str = "rotate_webhook_secret";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Gives a webhook a new secret, shown only in this answer; the one before signs too for \
         a day.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfEndpoint;
    type Output = EndpointWithSecret;

    fn refusals() -> Vec<Error> {
        vec![WebhookNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<EndpointWithSecret> {
        endpoints::rotate(infra, &caller, request.id()?).await
    }
}

/// Sends a test event and returns the result.
pub struct TestWebhook;

impl Capability for TestWebhook {
    const NAME: &'static str = "test_webhook";
    const TOOL: Option<Tool> = Some(
        Tool::ADDITIVE
            .open_world()
            .described("Sends a test event to a webhook and tells how it was answered."),
    );
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OfEndpoint;
    type Output = DeliveryView;

    fn refusals() -> Vec<Error> {
        vec![WebhookNotFound, TooManyRequests { retry_after: 6 }]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<DeliveryView> {
        trial::send(infra, &caller, request.id()?).await
    }
}

/// Lists the latest deliveries to an endpoint.
pub struct ListDeliveries;

impl Capability for ListDeliveries {
    const NAME: &'static str = "list_webhook_deliveries";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Lists the last 50 deliveries to a webhook: state, status and beginning of the answer.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfEndpoint;
    type Output = DeliveryList;

    fn refusals() -> Vec<Error> {
        vec![WebhookNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<DeliveryList> {
        delivery::list(infra, &caller, request.id()?).await
    }
}

/// An event that was sent to an endpoint.
#[derive(Deserialize, JsonSchema)]
pub struct OfDelivery {
    pub endpoint_id: String,
    pub event_id: String,
}

/// Sends one event again.
pub struct ReplayDelivery;

impl Capability for ReplayDelivery {
    const NAME: &'static str = "replay_webhook_delivery";
    const TOOL: Option<Tool> =
        Some(Tool::ADDITIVE.open_world().described("Sends one event to a webhook again."));
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OfDelivery;
    type Output = Replayed;

    fn refusals() -> Vec<Error> {
        vec![WebhookNotFound, DeliveryNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfDelivery) -> Result<Replayed> {
        let endpoint_id = input::id_of(&request.endpoint_id)?;
        replay::replay_one(infra, &caller, endpoint_id, &request.event_id).await
    }
}

/// Since when all is sent again to which endpoint.
#[derive(Deserialize, JsonSchema)]
pub struct SinceOfEndpoint {
    pub endpoint_id: String,
    /// RFC 3339.
    pub since: String,
}

/// Sends all events since a time again.
pub struct ReplayWebhook;

impl Capability for ReplayWebhook {
    const NAME: &'static str = "replay_webhook";
    const TOOL: Option<Tool> = Some(
        Tool::ADDITIVE
            .open_world()
            .described("Sends all again to a webhook that happened since a moment and is kept."),
    );
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = SinceOfEndpoint;
    type Output = Replayed;

    fn refusals() -> Vec<Error> {
        vec![WebhookNotFound, replay::no_time()]
    }

    async fn run(infra: &Infra, caller: Caller, request: SinceOfEndpoint) -> Result<Replayed> {
        let endpoint_id = input::id_of(&request.endpoint_id)?;
        let since = ReplayRequest { since: request.since };
        replay::replay_since(infra, &caller, endpoint_id, &since).await
    }
}
