//! Erasing visitors, and answering those who ask for it.

use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::erasure::capabilities::{
    CompleteErasureRequest, EraseVisitor, ListErasureRequests, OfVisitor, RefuseErasureRequest,
    RefuseRequest,
};
use crate::erasure::owner::{ErasureRequestPage, OfRequest, PageRequest};
use crate::erasure::view::{ErasureRequestStatus, ErasureRequestView};
use crate::erasure::visitor::ErasedVisitor;
use crate::mcp::call::{Keyed, Parameters};
use crate::mcp::outcome::{Json, Refusal};
use crate::mcp::tool_server::ToolServer;

/// Requests of one answer when its reader names no number.
const USUAL: i64 = 25;

#[derive(Deserialize, JsonSchema)]
struct ListArguments {
    pixel_id: String,
    /// Only requests with this status.
    #[schemars(with = "Option<ErasureRequestStatus>")]
    status: Option<String>,
    /// The `next_after` of the page before.
    after: Option<String>,
    /// Requests of one page; 25 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

#[tool_router(router = erasure_tools, vis = "pub(super)")]
impl ToolServer {
    /// Erases what the pixel has of a visitor, receipts included. Cannot be undone.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn erase_visitor(
        &self,
        call: Parameters<Keyed<OfVisitor>>,
    ) -> Result<Json<ErasedVisitor>, Refusal> {
        self.run::<EraseVisitor>(&call).await
    }

    /// Lists visitors who ask to be erased, oldest first; each must be answered by `due_at`.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_erasure_requests(
        &self,
        call: Parameters<Keyed<ListArguments>>,
    ) -> Result<Json<ErasureRequestPage>, Refusal> {
        let request = |ListArguments { pixel_id, status, after, limit }| {
            let limit = Some(limit.unwrap_or(USUAL).to_string());
            PageRequest { pixel_id, status, after, limit }
        };
        Ok(Json(self.ask::<ListErasureRequests, _>(&call, request).await?))
    }

    /// Erases the visitor who asks for it. Cannot be undone.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn complete_erasure_request(
        &self,
        call: Parameters<Keyed<OfRequest>>,
    ) -> Result<Json<ErasureRequestView>, Refusal> {
        self.run::<CompleteErasureRequest>(&call).await
    }

    /// Closes a request without erasing anybody, for a reason that the law accepts.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn refuse_erasure_request(
        &self,
        call: Parameters<Keyed<RefuseRequest>>,
    ) -> Result<Json<ErasureRequestView>, Refusal> {
        self.run::<RefuseErasureRequest>(&call).await
    }
}
