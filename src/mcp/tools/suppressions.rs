//! The people whom an account never stores.

use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::contacts::suppressions::capabilities::*;
use crate::contacts::suppressions::entry::ImportStatus;
use crate::contacts::suppressions::list::{PageRequest, SuppressionPage};
use crate::mcp::call::{Keyed, Parameters};
use crate::mcp::outcome::{Json, Refusal};
use crate::mcp::tool_server::ToolServer;

/// Suppressions of one answer when its reader names no number.
const USUAL: i64 = 25;

#[derive(Deserialize, JsonSchema)]
struct ListArguments {
    /// The `next_after` of the page before.
    after: Option<String>,
    /// Suppressions of one page; 25 when left out.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<i64>,
}

#[tool_router(router = suppression_tools, vis = "pub(super)")]
impl ToolServer {
    /// Erases a person on all pixels of the account, and never stores them again. Cannot be undone.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn suppress_person(
        &self,
        call: Parameters<Keyed<OfPerson>>,
    ) -> Result<Json<SuppressionState>, Refusal> {
        self.run::<SuppressPerson>(&call).await
    }

    /// Lets a suppressed person be stored again.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn unsuppress_person(
        &self,
        call: Parameters<Keyed<OfPerson>>,
    ) -> Result<Json<SuppressionState>, Refusal> {
        self.run::<UnsuppressPerson>(&call).await
    }

    /// Lists the people who are never stored, page by page: `after` takes the `next_after` before.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_suppressions(
        &self,
        call: Parameters<Keyed<ListArguments>>,
    ) -> Result<Json<SuppressionPage>, Refusal> {
        let request = |ListArguments { after, limit }| {
            let limit = Some(limit.unwrap_or(USUAL).to_string());
            PageRequest { after, limit }
        };
        Ok(Json(self.ask::<ListSuppressions, _>(&call, request).await?))
    }

    /// Tells how far the import of a list has come; lists are sent to
    /// `POST /v1/suppressions/import`.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn show_suppression_import(
        &self,
        call: Parameters<Keyed<OfImport>>,
    ) -> Result<Json<ImportStatus>, Refusal> {
        self.run::<ShowSuppressionImport>(&call).await
    }
}
