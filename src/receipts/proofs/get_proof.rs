use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::proof_file::{ProofFile, file_of, wrong_size};
use crate::accounts::access::Anybody;
use crate::accounts::capability::Capability;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::limits::per_client::Limit;
use crate::proof::proving::NOT_SEALED_YET;
use crate::receipts::check::check_request::{CheckRequest, OfVisitor, no_visitor};
use crate::receipts::service::Receipts;
use crate::receipts::store::leaves;
use crate::receipts::store::named_pixels::find_named;
use crate::types::text::present;

/// Whose choice is to be proved.
#[derive(Deserialize, JsonSchema)]
pub struct ProofRequest {
    #[serde(flatten)]
    pub visitor: OfVisitor,
    /// One of the visitor's receipts; the latest when left out.
    #[schemars(with = "Option<Uuid>")]
    pub receipt_id: Option<String>,
    /// Tell how the log grew since it had so many entries, in digits.
    pub old_size: Option<String>,
}

/// Proves a choice of a visitor. A choice recorded without a log is added to it by this call.
pub struct GetProof;

impl Capability for GetProof {
    const NAME: &'static str = "get_proof";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Get a proof",
        "Fetches a file that proves a visitor's choice, the latest or one by `receipt_id`, to \
         people who do not trust this service. `not sealed yet`: ask again after some seconds. \
         Needs no key.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::LogReads);
    type Service = Receipts;
    type Access = Anybody;
    type Input = ProofRequest;
    type Output = ProofFile;

    fn refusals() -> Vec<Error> {
        vec![Error::NoLog, Error::NoConsentRecord, NOT_SEALED_YET, no_visitor(), wrong_size()]
    }

    async fn run(receipts: &Receipts, (): (), request: ProofRequest) -> Result<ProofFile> {
        receipts.log.verifier()?;
        let receipt_id = present(request.receipt_id.as_deref()).map(Uuid::parse_str).transpose();
        let old_size = present(request.old_size.as_deref()).map(parse_size).transpose()?;
        let visitor = CheckRequest { visitor: request.visitor, required_purpose: None }.parse()?;
        let (Some(pixel), Some(visitor_id), Ok(receipt_id)) =
            (visitor.pixel, visitor.visitor_id, receipt_id)
        else {
            return Err(Error::NoConsentRecord);
        };
        let mut connection = receipts.infra.pool.acquire().await?;
        let pixel_id = find_named(&mut connection, pixel.as_str()).await?.pixel_id;
        let found =
            leaves::find_provable(&mut connection, &pixel_id, &visitor_id, receipt_id).await?;
        file_of(&mut connection, &receipts.log, found.ok_or(Error::NoConsentRecord)?, old_size)
            .await
    }
}

fn parse_size(text: &str) -> Result<u64> {
    text.parse().map_err(|_| wrong_size())
}
