//! HTTP routes of links that show the overview of a site without a sign-in.

use rocket::http::Status;
use rocket::response::status::{Custom, NoContent};
use rocket::{delete, get, post};

use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::infra::Infra;
use crate::pixels::input::{OfPixel, OnPixel};
use crate::sharing::links::{
    CreateSharedLink, ListSharedLinks, OfSharedLink, RevokeSharedLink, SharedLinkRequest,
};
use crate::sharing::view::{NewSharedLink, SharedLinkList};
use crate::types::ids::{PixelId, PixelParam};

described_routes![
    create of CreateSharedLink: [Body, Infra],
    list of ListSharedLinks: [Infra],
    revoke of RevokeSharedLink: [Infra],
];

/// Share the overview of a site
///
/// Whoever has the link sees the numbers of the overview without a sign-in: no visitors, no receipts,
/// no contacts. A pixel has at most 20 that work.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path)),
    request_body = SharedLinkRequest,
    responses((status = 201, description = "The link, shown this once", body = NewSharedLink)),
)]
#[post("/v1/pixels/<pixel_id>/shared-links", data = "<body>")]
async fn create(
    call: Call<'_, CreateSharedLink>,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Custom<Json<NewSharedLink>>> {
    let on_pixel = |input: SharedLinkRequest| OnPixel { pixel_id, input };
    let made = call.with_body(&body, on_pixel).await?;
    Ok(Custom(Status::Created, Json(made)))
}

/// The shared links of a site
///
/// Those that work, oldest first, without their secrets.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path)),
    responses((status = 200, description = "The links", body = SharedLinkList)),
)]
#[get("/v1/pixels/<pixel_id>/shared-links")]
async fn list(
    call: Call<'_, ListSharedLinks>,
    pixel_id: PixelParam,
) -> Result<Listed<SharedLinkList>> {
    call.with(OfPixel { pixel_id }).await.map(Listed)
}

/// Revoke a shared link
///
/// It ends at once.
#[utoipa::path(
    tag = "Pixels",
    params(
        ("pixel_id" = PixelId, Path),
        ("prefix" = String, Path, description = "The link's first 12 characters."),
    ),
    responses((status = 204, description = "Revoked")),
)]
#[delete("/v1/pixels/<pixel_id>/shared-links/<prefix>")]
async fn revoke(
    call: Call<'_, RevokeSharedLink>,
    pixel_id: PixelParam,
    prefix: &str,
) -> Result<NoContent> {
    call.with(OfSharedLink { pixel_id, prefix: prefix.to_owned() }).await.map(|_| NoContent)
}
