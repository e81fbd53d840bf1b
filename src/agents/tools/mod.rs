//! The tools, by the feature that they serve.
//!
//! A tool reads its arguments, finds the caller and calls the function that the HTTP route calls.
//! Its description is the doc comment: what an agent needs to choose it and to go on from it.

mod accounts;
mod billing;
mod consent;
mod contacts;
mod pixels;
mod visitors;

use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Key, OperatorKey, OptionalToken, Parameters, Token, TokenOrKey};
use super::server::ToolServer;

impl ToolServer {
    /// All tools. None takes arguments that it does not name.
    pub(super) fn tools() -> ToolRouter<Self> {
        let mut tools = Self::account_tools()
            + Self::billing_tools()
            + Self::pixel_tools()
            + Self::consent_tools()
            + Self::visitor_tools()
            + Self::contact_tools();
        for tool in tools.map.values_mut() {
            let schema = Arc::make_mut(&mut tool.attr.input_schema);
            schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        tools
    }
}

/// Arguments of a tool that needs only a key.
#[derive(Deserialize, JsonSchema)]
struct KeyOnly {
    #[serde(flatten)]
    _key: Key,
}

/// Arguments of a tool about one pixel.
#[derive(Deserialize, JsonSchema)]
struct PixelArguments {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    #[serde(flatten)]
    _key: Key,
}
