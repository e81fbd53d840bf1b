use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::accounts::access::Anybody;
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::tool::Tool;
use crate::error::{Error, Result, wrong_field};
use crate::infra::limits::per_client::Limit;
use crate::proof::format::note::Verifier;
use crate::proof::format::policy::TrustPolicy;
use crate::proof::verdict::ProofVerdict;
use crate::proof::verifying;
use crate::receipts::service::Receipts;

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

pub struct VerifyProof;

impl Capability for VerifyProof {
    const NAME: &'static str = "verify_proof";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Verify a proof",
        "Judges a file from `get_proof`: what it shows, or which part of it was changed. Needs \
         no key.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::LogReads);
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Receipts;
    type Access = Anybody;
    type Input = VerifyProofRequest;
    type Output = ProofVerdict;

    fn refusals() -> Vec<Error> {
        vec![
            wrong_field("proof", "must be an object"),
            Error::ProofRequired,
            no_key(),
            Error::NoLog,
        ]
    }

    async fn run(receipts: &Receipts, (): (), request: VerifyProofRequest) -> Result<ProofVerdict> {
        let proof = request.proof.filter(|proof| !proof.is_empty()).ok_or(Error::ProofRequired)?;
        let proof = Value::Object(proof).to_string();
        let trusted = match request.key.as_deref() {
            Some(key) => TrustPolicy::of_log(Verifier::parse(key).ok_or_else(no_key)?),
            None => receipts.log.trust()?,
        };
        Ok(verifying::verify(&proof, &trusted, request.against.as_deref()))
    }
}

fn no_key() -> Error {
    wrong_field("key", "must be a verifier key: name, id and key with + in between")
}
