use rocket::http::Status;
use rocket::post;
use rocket::response::status::Custom;

use super::install_method::{MethodQuery, OfferedMethod};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::infra::Infra;
use crate::pixels::claims::claim::VerifyClaim;
use crate::pixels::claims::opening::{ClaimHost, OpenedClaim};
use crate::pixels::input::{OfClaim, PixelRequest};
use crate::pixels::view::PixelView;

described_routes![
    claim_host of ClaimHost: [OfferedMethod, Body, Infra],
    verify_claim of VerifyClaim: [OfferedMethod, Infra],
];

/// Claim a host that another account has
///
/// For the owner of a site whose host somebody else made a pixel for. Prove the claim with a TXT
/// record or the snippet, then verify it.
#[utoipa::path(
    tag = "Pixels",
    params(MethodQuery),
    request_body = PixelRequest,
    responses((status = 201, description = "The claim", body = OpenedClaim)),
)]
#[post("/v1/pixels/claims", data = "<body>")]
async fn claim_host(
    call: Call<'_, ClaimHost>,
    _method: OfferedMethod,
    body: Body,
) -> Result<Custom<Json<OpenedClaim>>> {
    let opened = call.with_body(&body, |request: PixelRequest| request).await?;
    Ok(Custom(Status::Created, Json(opened)))
}

/// Prove a claim, and get the pixel
///
/// Looks for the TXT record `_assent.{domain}` with the token, then for the snippet on
/// `https://{domain}/`, for a few seconds at most. The other account's pixel is deleted.
#[utoipa::path(
    tag = "Pixels",
    params(("token" = String, Path, description = "As claiming gave it."), MethodQuery),
    responses((status = 200, description = "The pixel, which is the caller's now", body = PixelView)),
)]
#[post("/v1/pixels/claims/<token>/verify")]
async fn verify_claim(
    call: Call<'_, VerifyClaim>,
    _method: OfferedMethod,
    token: &str,
) -> Result<Json<PixelView>> {
    call.with(OfClaim { token: token.to_owned() }).await.map(Json)
}
