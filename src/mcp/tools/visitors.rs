//! What anyone may ask about a visitor's consent, without a key.

use rmcp::{tool, tool_router};

use super::{Parameters, ToolServer};
use crate::mcp::outcome::{Json, Refusal};
use crate::proof::verdict::ProofVerdict;
use crate::receipts::capabilities::{
    CheckConsent, GetProof, ReadConsentHistory, ReadReceipt, VerifyProof, VerifyReceipt,
};
use crate::receipts::check::check_request::{CheckRequest, OfVisitor};
use crate::receipts::check::{Check, ReceiptAnswer};
use crate::receipts::history::{History, HistoryRequest};
use crate::receipts::proofs::proof_file::{ProofFile, ProofRequest};
use crate::receipts::proofs::verify::{Verdict, VerifyRequest};
use crate::receipts::proofs::verify_proof::VerifyProofRequest;
use crate::types::text::present;

#[tool_router(router = visitor_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells whether something is permitted with a visitor: the latest receipt decides, against the
    /// current policy. `permitted` is true only when `reason` is `ok`. Needs no key.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn check_consent(&self, call: Parameters<CheckRequest>) -> Result<Json<Check>, Refusal> {
        let request = |CheckRequest { visitor, required_purpose }| CheckRequest {
            visitor,
            required_purpose: present(required_purpose.as_deref()).map(str::to_owned),
        };
        Ok(Json(self.ask::<CheckConsent, CheckRequest>(&call, request).await?))
    }

    /// Fetches the visitor's latest receipt with its signature. Needs no key.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_receipt(
        &self,
        call: Parameters<OfVisitor>,
    ) -> Result<Json<ReceiptAnswer>, Refusal> {
        let request = |visitor| CheckRequest { visitor, required_purpose: None };
        Ok(Json(self.ask::<ReadReceipt, OfVisitor>(&call, request).await?))
    }

    /// Reads all that a visitor answered at a pixel's site, newest first: signed receipts, and the
    /// notice that each answered. Needs no key.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_consent_history(
        &self,
        call: Parameters<HistoryRequest>,
    ) -> Result<Json<History>, Refusal> {
        self.run::<ReadConsentHistory>(&call).await
    }

    /// Tells whether a receipt and its signature were made by this service and are unchanged. Needs
    /// no key.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn verify_receipt(
        &self,
        call: Parameters<VerifyRequest>,
    ) -> Result<Json<Verdict>, Refusal> {
        self.run::<VerifyReceipt>(&call).await
    }

    /// Fetches a file that proves a visitor's choice, the latest or one by `receipt_id`, to people who do
    /// not trust this service. `not sealed yet`: ask again after some seconds. Needs no key.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn get_proof(&self, call: Parameters<ProofRequest>) -> Result<Json<ProofFile>, Refusal> {
        self.run::<GetProof>(&call).await
    }

    /// Judges a file from `get_proof`: what it shows, or which part of it was changed. Needs no key.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn verify_proof(
        &self,
        call: Parameters<VerifyProofRequest>,
    ) -> Result<Json<ProofVerdict>, Refusal> {
        self.run::<VerifyProof>(&call).await
    }
}
