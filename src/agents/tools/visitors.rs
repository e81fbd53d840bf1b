//! What anyone may ask about a visitor's consent, without a key.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ToolServer;
use crate::agents::outcome::Refusal;
use crate::consent::check::{self, Check, CheckRequest, ReceiptAnswer};
use crate::consent::signing::{Verdict, VerifyRequest};

#[derive(Deserialize, JsonSchema)]
struct VisitorArguments {
    /// The pixel's id or one of its aliases.
    #[schemars(with = "String")]
    pixel_id: Option<String>,
    /// The visitor's id, as the consent tag made it.
    #[schemars(with = "String")]
    visitor_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct CheckArguments {
    #[serde(flatten)]
    visitor: VisitorArguments,
    /// A purpose that the visitor must have granted, such as `resolution`.
    required_purpose: Option<String>,
}

#[tool_router(router = visitor_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells whether something is permitted with a visitor: the latest receipt decides, against the
    /// current policy. `permitted` is true only when `reason` is `ok`. Needs no key.
    #[tool(annotations(title = "Check a consent", read_only_hint = true, open_world_hint = false))]
    async fn check_consent(
        &self,
        Parameters(arguments): Parameters<CheckArguments>,
    ) -> Result<Json<Check>, Refusal> {
        let CheckArguments { visitor, required_purpose } = arguments;
        let request = visitor.request(required_purpose.as_deref())?;
        Ok(Json(check::check(&self.platform, &self.standings, request).await?))
    }

    /// Fetches the visitor's latest receipt with its signature. Needs no key.
    #[tool(annotations(title = "Fetch a receipt", read_only_hint = true, open_world_hint = false))]
    async fn get_receipt(
        &self,
        Parameters(arguments): Parameters<VisitorArguments>,
    ) -> Result<Json<ReceiptAnswer>, Refusal> {
        let request = arguments.request(None)?;
        Ok(Json(check::receipt(&self.platform, &self.standings, &self.signer, request).await?))
    }

    /// Tells whether a receipt and its signature were made by this service and are unchanged. Needs
    /// no key.
    #[tool(annotations(
        title = "Verify a receipt",
        read_only_hint = true,
        open_world_hint = false
    ))]
    async fn verify_receipt(
        &self,
        Parameters(request): Parameters<VerifyRequest>,
    ) -> Result<Json<Verdict>, Refusal> {
        Ok(Json(self.signer.judge(request)?))
    }
}

impl VisitorArguments {
    fn request(&self, purpose: Option<&str>) -> crate::error::Result<CheckRequest> {
        CheckRequest::parse(self.pixel_id.as_deref(), self.visitor_id.as_deref(), purpose)
    }
}
