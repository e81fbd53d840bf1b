//! API keys.

use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::capabilities::keys::*;
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::input::OfKey;
use crate::accounts::keys::KeyList;
use crate::accounts::keys::key_issuing::{IssuedKey, KeyOrder, KeyRequest};
use crate::mcp::call::{Keyed, Parameters, TokenedOrKeyed};
use crate::mcp::outcome::{Json, Refusal};
use crate::mcp::tool_server::ToolServer;

#[derive(Deserialize, JsonSchema)]
struct OfHolder {
    /// Whose key it is; needed with a signup token, left out with a key.
    account_id: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct KeyArguments {
    #[schemars(flatten)]
    holder: OfHolder,
    #[schemars(flatten)]
    request: KeyRequest,
}

#[tool_router(router = key_tools, vis = "pub(super)")]
impl ToolServer {
    /// Issues an API key: the first one with the signup token and `account_id` once the address is
    /// confirmed, another one with a key. The secret is shown only in this answer.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn issue_api_key(
        &self,
        call: Parameters<TokenedOrKeyed<KeyArguments>>,
    ) -> Result<Json<IssuedKey>, Refusal> {
        // What is wrong with it is for whoever may have a key.
        let request = call.input::<KeyRequest>(IssueApiKey::INVALID_INPUT);
        let order = |OfHolder { account_id }| KeyOrder { account_id, request };
        Ok(Json(self.ask::<IssueApiKey, OfHolder>(&call, order).await?))
    }

    /// Lists the account's API keys that work: prefix, name, when they were issued and last used
    /// (to the hour). Secrets are never shown again.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_api_keys(
        &self,
        call: Parameters<Keyed<NoInput>>,
    ) -> Result<Json<KeyList>, Refusal> {
        self.run::<ListApiKeys>(&call).await
    }

    /// Ends an API key at once, for good. The key of this call may be ended too.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn revoke_api_key(
        &self,
        call: Parameters<Keyed<OfKey>>,
    ) -> Result<Json<RevokedKey>, Refusal> {
        self.run::<RevokeApiKey>(&call).await
    }
}
