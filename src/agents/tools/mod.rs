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

use rmcp::handler::server::router::tool::ToolRouter;
use schemars::JsonSchema;
use serde::Deserialize;

use super::sender::{Key, Sender, Token};
use super::server::ToolServer;

impl ToolServer {
    /// All tools.
    pub(super) fn tools() -> ToolRouter<Self> {
        Self::account_tools()
            + Self::billing_tools()
            + Self::pixel_tools()
            + Self::consent_tools()
            + Self::visitor_tools()
            + Self::contact_tools()
    }
}

/// Arguments of a tool that needs only a key.
#[derive(Deserialize, JsonSchema)]
struct KeyOnly {
    #[serde(flatten)]
    key: Key,
}

/// Arguments of a tool about one pixel.
#[derive(Deserialize, JsonSchema)]
struct PixelArguments {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    #[serde(flatten)]
    key: Key,
}
