use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::accounts::access::Anybody;
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::tool::Tool;
use crate::error::{Error, Result, wrong_field};
use crate::receipts::service::Receipts;

/// A receipt and its signature, from record, check or the log.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct VerifyRequest {
    #[schemars(with = "Map<String, Value>")]
    #[schema(value_type = Object)]
    pub receipt: Option<Map<String, Value>>,
    /// 64 hex digits.
    pub signature: Option<String>,
}

/// Whether a signature is the service's own, over just this receipt.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Verdict {
    pub valid: bool,
}

/// Determines whether a receipt is the service's own; not without a signature.
pub struct VerifyReceipt;

impl Capability for VerifyReceipt {
    const NAME: &'static str = "verify_receipt";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Verify a receipt",
        "Tells whether a receipt and its signature were made by this service and are unchanged. \
         Needs no key.",
    ));
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Receipts;
    type Access = Anybody;
    type Input = VerifyRequest;
    type Output = Verdict;

    fn refusals() -> Vec<Error> {
        vec![wrong_field("receipt", "must be an object"), Error::ReceiptRequired]
    }

    async fn run(receipts: &Receipts, (): (), request: VerifyRequest) -> Result<Verdict> {
        let receipt = request.receipt.filter(|receipt| !receipt.is_empty());
        let receipt = Value::Object(receipt.ok_or(Error::ReceiptRequired)?);
        let signature = request.signature.unwrap_or_default();
        Ok(Verdict { valid: receipts.signer.verifies(&receipt, &signature) })
    }
}
