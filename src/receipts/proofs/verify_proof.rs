use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::error::{Error, Result, wrong_field};
use crate::proof::format::note::Verifier;
use crate::proof::format::policy::Policy;
use crate::proof::log::Log;
use crate::proof::verdict::ProofVerdict;
use crate::proof::verifying;

/// A proof file, and what to trust.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct VerifyProofRequest {
    /// The whole file.
    #[schemars(with = "Map<String, Value>")]
    #[schema(value_type = Object)]
    pub proof: Option<Map<String, Value>>,
    /// The verifier key of the log; this service's own when left out.
    #[schema(example = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")]
    pub key: Option<String>,
    /// A checkpoint that was kept, as it was read.
    pub against: Option<String>,
}

pub fn verify(log: &Log, request: VerifyProofRequest) -> Result<ProofVerdict> {
    let proof = request.proof.filter(|proof| !proof.is_empty()).ok_or(Error::ProofRequired)?;
    let proof = Value::Object(proof).to_string();
    let trusted = match request.key.as_deref() {
        Some(key) => Policy::of_log(Verifier::parse(key).ok_or_else(no_key)?),
        None => log.trust()?,
    };
    Ok(verifying::verify(&proof, &trusted, request.against.as_deref()))
}

pub fn no_key() -> Error {
    wrong_field("key", "must be a verifier key: name, id and key with + in between")
}
