//! What anyone may ask about a visitor's consent, without a key.

use rmcp::handler::server::wrapper::Json;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Parameters, ToolServer};
use crate::agents::outcome::Refusal;
use crate::consent::check::{self, Check, CheckRequest, ReceiptAnswer};
use crate::consent::signing::{Verdict, VerifyRequest};
use crate::consent::terms::Purpose;
use crate::http::body::present;

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
    /// What the visitor must have granted.
    #[schemars(with = "Option<Purpose>")]
    required_purpose: Option<String>,
}

#[tool_router(router = visitor_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells whether something is permitted with a visitor: the latest receipt decides, against the
    /// current policy. `permitted` is true only when `reason` is `ok`. Needs no key.
    #[tool(annotations(title = "Check a consent", read_only_hint = true, open_world_hint = false))]
    async fn check_consent(
        &self,
        call: Parameters<CheckArguments>,
    ) -> Result<Json<Check>, Refusal> {
        let CheckArguments { visitor, required_purpose } = call.validated()?;
        let request = visitor.request(present(required_purpose.as_deref()))?;
        Ok(Json(check::check(&self.platform, &self.standings, request).await?))
    }

    /// Fetches the visitor's latest receipt with its signature. Needs no key.
    #[tool(annotations(title = "Fetch a receipt", read_only_hint = true, open_world_hint = false))]
    async fn get_receipt(
        &self,
        call: Parameters<VisitorArguments>,
    ) -> Result<Json<ReceiptAnswer>, Refusal> {
        let request = call.validated()?.request(None)?;
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
        call: Parameters<VerifyRequest>,
    ) -> Result<Json<Verdict>, Refusal> {
        Ok(Json(self.signer.judge(call.json()?)?))
    }
}

impl VisitorArguments {
    fn request(&self, purpose: Option<&str>) -> crate::error::Result<CheckRequest> {
        CheckRequest::parse(self.pixel_id.as_deref(), self.visitor_id.as_deref(), purpose)
    }
}
