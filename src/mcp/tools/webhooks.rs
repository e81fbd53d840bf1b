//! Telling an account's servers what happens.

use rmcp::{tool, tool_router};

use crate::accounts::capability::NoInput;
use crate::mcp::call::{Keyed, Parameters};
use crate::mcp::outcome::{Json, Refusal};
use crate::mcp::tool_server::ToolServer;
use crate::webhooks::capabilities::*;
use crate::webhooks::delivery::{DeliveryList, DeliveryView};
use crate::webhooks::endpoint::{EndpointList, EndpointView, EndpointWithSecret};
use crate::webhooks::input::{NewEndpoint, OfEndpoint};
use crate::webhooks::replay::Replayed;

#[tool_router(router = webhook_tools, vis = "pub(super)")]
impl ToolServer {
    /// Has a server told what happens, by signed messages. The secret is shown only in this answer.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn create_webhook(
        &self,
        call: Parameters<Keyed<NewEndpoint>>,
    ) -> Result<Json<EndpointWithSecret>, Refusal> {
        self.run::<CreateWebhook>(&call).await
    }

    /// Lists the account's webhooks, and which of them are paused or fail.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_webhooks(
        &self,
        call: Parameters<Keyed<NoInput>>,
    ) -> Result<Json<EndpointList>, Refusal> {
        self.run::<ListWebhooks>(&call).await
    }

    /// Changes, pauses or resumes a webhook; what is left out stays.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = true
    ))]
    async fn change_webhook(
        &self,
        call: Parameters<Keyed<OnEndpoint>>,
    ) -> Result<Json<EndpointView>, Refusal> {
        self.run::<ChangeWebhook>(&call).await
    }

    /// Deletes a webhook with what waits for it.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn delete_webhook(
        &self,
        call: Parameters<Keyed<OfEndpoint>>,
    ) -> Result<Json<DeletedWebhook>, Refusal> {
        self.run::<DeleteWebhook>(&call).await
    }

    /// Gives a webhook a new secret, shown only in this answer; the one before signs too for a day.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn rotate_webhook_secret(
        &self,
        call: Parameters<Keyed<OfEndpoint>>,
    ) -> Result<Json<EndpointWithSecret>, Refusal> {
        self.run::<RotateWebhookSecret>(&call).await
    }

    /// Sends a test event to a webhook and tells how it was answered.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn test_webhook(
        &self,
        call: Parameters<Keyed<OfEndpoint>>,
    ) -> Result<Json<DeliveryView>, Refusal> {
        self.run::<TestWebhook>(&call).await
    }

    /// Lists the last 50 deliveries to a webhook: state, status and beginning of the answer.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_webhook_deliveries(
        &self,
        call: Parameters<Keyed<OfEndpoint>>,
    ) -> Result<Json<DeliveryList>, Refusal> {
        self.run::<ListDeliveries>(&call).await
    }

    /// Sends one event to a webhook again.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn replay_webhook_delivery(
        &self,
        call: Parameters<Keyed<OfDelivery>>,
    ) -> Result<Json<Replayed>, Refusal> {
        self.run::<ReplayDelivery>(&call).await
    }

    /// Sends all again to a webhook that happened since a moment and is kept.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn replay_webhook(
        &self,
        call: Parameters<Keyed<SinceOfEndpoint>>,
    ) -> Result<Json<Replayed>, Refusal> {
        self.run::<ReplayWebhook>(&call).await
    }
}
