//! HTTP routes of moves to another domain.

use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{get, post};

use super::install_method::{MethodQuery, OfferedMethod};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::infra::Infra;
use crate::pixels::input::{OfPixel, OnPixel, PixelRequest};
use crate::pixels::moves::{EndMove, MoveView, ShowMove};
use crate::pixels::view::PixelView;
use crate::policies::moving::{CancelMove, MovePixel};
use crate::types::ids::{PixelId, PixelParam};

described_routes![
    start of MovePixel: [OfferedMethod, Body, Infra],
    show_move of ShowMove: [OfferedMethod, Infra],
    end of EndMove: [OfferedMethod, Infra],
    cancel of CancelMove: [OfferedMethod, Infra],
];

/// Move a site to another domain
///
/// Installed or not. Snippet, receipts, contacts and notices stay with the pixel, and its install is
/// not checked. For 30 days the former domain is served too, so that its visitors can change their
/// choices.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = PixelRequest,
    responses((status = 201, description = "The move", body = MoveView)),
)]
#[post("/v1/pixels/<pixel_id>/move", data = "<body>")]
async fn start(
    call: Call<'_, MovePixel>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Custom<Json<MoveView>>> {
    let on_pixel = |input: PixelRequest| OnPixel { pixel_id, input };
    let moved = call.with_body(&body, on_pixel).await?;
    Ok(Custom(Status::Created, Json(moved)))
}

/// The move that is under way
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    responses((status = 200, description = "The move", body = MoveView)),
)]
#[get("/v1/pixels/<pixel_id>/move")]
async fn show_move(
    call: Call<'_, ShowMove>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
) -> Result<Json<MoveView>> {
    call.with(OfPixel { pixel_id }).await.map(Json)
}

/// End a move before its time
///
/// The former domain is no longer served, and others can add it.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    responses((status = 200, description = "The pixel", body = PixelView)),
)]
#[post("/v1/pixels/<pixel_id>/move/end")]
async fn end(
    call: Call<'_, EndMove>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
) -> Result<Json<PixelView>> {
    call.with(OfPixel { pixel_id }).await.map(Json)
}

/// Take a move back
///
/// The pixel has its former domain again, and the new one is free.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    responses((status = 200, description = "The pixel", body = PixelView)),
)]
#[post("/v1/pixels/<pixel_id>/move/cancel")]
async fn cancel(
    call: Call<'_, CancelMove>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
) -> Result<Json<PixelView>> {
    call.with(OfPixel { pixel_id }).await.map(Json)
}
