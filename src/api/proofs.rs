use rocket::{get, post};

use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::proof::verdict::ProofVerdict;
use crate::receipts::check::check_request::OfVisitor;
use crate::receipts::proofs::get_proof::{GetProof, ProofRequest};
use crate::receipts::proofs::proof_file::ProofFile;
use crate::receipts::proofs::verify_proof::{VerifyProof, VerifyProofRequest};
use crate::types::ids::{PixelRef, VisitorId};

/// Room for a proof with 1 MiB of watch reports, whose quotes are escaped twice.
type ProofBody = Body<4096>;

described_routes![
    proof of GetProof: [Infra],
    verify of VerifyProof: [ProofBody],
];

/// What proves a visitor's choice without us
///
/// One file: the receipt, the words that it answers, and what shows that both were in the public log. A
/// choice is in it some seconds after it was recorded; one from before there was a log, some seconds after
/// its proof was first asked for.
#[utoipa::path(
    tag = "Visitors",
    security(()),
    params(
        ("pixel_id" = PixelRef, Query, description = "Canonical id or alias."),
        ("visitor_id" = VisitorId, Query),
        ("receipt_id" = Option<uuid::Uuid>, Query, description = "One of the visitor's receipts; the latest when left out."),
        ("old_size" = Option<u64>, Query, description = "Tell also how the log grew since it had so many entries."),
    ),
    responses((status = 200, description = "The proof", body = ProofFile)),
)]
#[get("/v1/consent/proof")]
async fn proof(call: Call<'_, GetProof>, query: Query) -> Result<Json<ProofFile>> {
    let text = |name: &str| query.get(name).map(str::to_owned);
    let request = ProofRequest {
        visitor: OfVisitor { pixel_id: text("pixel_id"), visitor_id: text("visitor_id") },
        receipt_id: text("receipt_id"),
        old_size: text("old_size"),
    };
    call.with(request).await.map(Json)
}

/// Is this proof whole?
///
/// `assent verify` and the page `/verify` do the same without asking us.
#[utoipa::path(
    tag = "Visitors",
    security(()),
    request_body = VerifyProofRequest,
    responses((status = 200, description = "What it shows, or which part of it is broken", body = ProofVerdict)),
)]
#[post("/v1/consent/proof/verify", data = "<body>")]
async fn verify(call: Call<'_, VerifyProof>, body: ProofBody) -> Result<Json<ProofVerdict>> {
    call.with_body(&body, |request: VerifyProofRequest| request).await.map(Json)
}
