use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::receipts::signing::Signer;

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

/// Whether the receipt is the service's own; not without a signature.
pub fn verify(signer: &Signer, request: VerifyRequest) -> Result<Verdict> {
    let receipt = request.receipt.filter(|receipt| !receipt.is_empty());
    let receipt = Value::Object(receipt.ok_or(Error::ReceiptRequired)?);
    let signature = request.signature.unwrap_or_default();
    Ok(Verdict { valid: signer.verifies(&receipt, &signature) })
}
