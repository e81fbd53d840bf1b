//! HTTP routes for the erasure of visitors, and for erasure requests.

use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{delete, get, post};

use crate::erasure::mailed::{AddErasureRequest, ReceivedRequest, RequestOfPixel};
use crate::erasure::of_visitor::{OwnRequests, ReadOwnRequests};
use crate::erasure::owner::{
    CompleteErasureRequest, ErasureRefusal, ErasureRequestPage, ListErasureRequests, OfRequest,
    PageRequest, RefuseErasureRequest, RefuseRequest,
};
use crate::erasure::request::{ErasureReceived, ErasureRequest, RequestErasure};
use crate::erasure::view::{ErasureRequestStatus, ErasureRequestView};
use crate::erasure::visitor::{EraseVisitor, ErasedVisitor, OfVisitor};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::types::ids::{PixelId, PixelParam, VisitorId};

described_routes![
    erase of EraseVisitor: [Infra],
    request of RequestErasure: [Body, Infra],
    read_own of ReadOwnRequests: [Body, Infra],
    add of AddErasureRequest: [Body, Infra],
    list of ListErasureRequests: [Infra],
    complete of CompleteErasureRequest: [Infra],
    refuse of RefuseErasureRequest: [Body, Infra],
];

/// Erase a visitor
///
/// Receipts, contacts that were ever bound to the visitor, and the days on which the popup was shown. Cannot be undone, and the receipts prove
/// nothing any more. An open request of the visitor is completed by it.
#[utoipa::path(
    tag = "Consent",
    params(("pixel_id" = PixelId, Path), ("visitor_id" = VisitorId, Path)),
    responses((status = 200, description = "What was erased", body = ErasedVisitor)),
)]
#[delete("/v1/pixels/<pixel_id>/visitors/<visitor_id>")]
async fn erase(
    call: Call<'_, EraseVisitor>,
    pixel_id: PixelParam,
    visitor_id: &str,
) -> Result<Json<ErasedVisitor>> {
    call.with(OfVisitor { pixel_id, visitor_id: visitor_id.into() }).await.map(Json)
}

/// Ask the site to erase a visitor
///
/// The same answer for every id: nobody learns from it which pixels and visitors there are. The
/// site's owner has 30 days.
#[utoipa::path(
    tag = "Visitors",
    security(()),
    request_body = ErasureRequest,
    responses((status = 202, description = "Heard", body = ErasureReceived)),
)]
#[post("/v1/consent/erasure-requests", data = "<body>")]
async fn request(
    call: Call<'_, RequestErasure>,
    body: Body,
) -> Result<Custom<Json<ErasureReceived>>> {
    let received = call.with_body(&body, |request: ErasureRequest| request).await?;
    Ok(Custom(Status::Accepted, Json(received)))
}

/// What became of a visitor's requests
///
/// For the page on which visitors see their data. An unknown pixel or visitor has no requests, and a
/// visitor who was erased has none any more. Pages of other origins cannot read the answer.
#[utoipa::path(
    tag = "Visitors",
    security(()),
    request_body = ErasureRequest,
    responses((status = 200, description = "The visitor's requests", body = OwnRequests)),
)]
#[post("/v1/consent/erasure-requests/history", data = "<body>")]
async fn read_own(call: Call<'_, ReadOwnRequests>, body: Body) -> Result<Listed<OwnRequests>> {
    call.with_body(&body, |request: ErasureRequest| request).await.map(Listed)
}

/// Record a request that arrived by email
///
/// The person is named by `hem`. While a person has an open request, the same one is answered.
#[utoipa::path(
    tag = "Consent",
    params(("pixel_id" = PixelId, Path)),
    request_body = ReceivedRequest,
    responses((status = 200, description = "The request", body = ErasureRequestView)),
)]
#[post("/v1/pixels/<pixel_id>/erasure-requests", data = "<body>")]
async fn add(
    call: Call<'_, AddErasureRequest>,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Json<ErasureRequestView>> {
    let of_pixel = |request| RequestOfPixel { pixel_id, request };
    call.with_body(&body, of_pixel).await.map(Json)
}

/// Which visitors ask to be erased
///
/// Oldest first; follow `next_after` until it is null. Closed ones are listed for 400 days.
#[utoipa::path(
    tag = "Consent",
    params(
        ("pixel_id" = PixelId, Path),
        ("status" = Option<ErasureRequestStatus>, Query, description = "Requests with this status only."),
        ("after" = Option<uuid::Uuid>, Query, description = "The `next_after` of the page before."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 200, description = "Requests of one page; 200 when left out."),
    ),
    responses((status = 200, description = "A page of them", body = ErasureRequestPage)),
)]
#[get("/v1/pixels/<pixel_id>/erasure-requests")]
async fn list(
    call: Call<'_, ListErasureRequests>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Listed<ErasureRequestPage>> {
    let text = |name| query.get(name).map(str::to_owned);
    let (status, after, limit) = (text("status"), text("after"), text("limit"));
    call.with(PageRequest { pixel_id, status, after, limit }).await.map(Listed)
}

fn of_request(pixel_id: PixelParam, request_id: &str) -> OfRequest {
    OfRequest { pixel_id, request_id: request_id.into() }
}

/// Meet a request for erasure
///
/// Erases the visitor. Completing it again gives the same answer.
#[utoipa::path(
    tag = "Consent",
    params(("pixel_id" = PixelId, Path), ("request_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The request", body = ErasureRequestView)),
)]
#[post("/v1/pixels/<pixel_id>/erasure-requests/<request_id>/complete")]
async fn complete(
    call: Call<'_, CompleteErasureRequest>,
    pixel_id: PixelParam,
    request_id: &str,
) -> Result<Json<ErasureRequestView>> {
    call.with(of_request(pixel_id, request_id)).await.map(Json)
}

/// Refuse a request for erasure
///
/// Nothing is erased; the visitor may ask again. Refusing it again for the same reason gives the same
/// answer.
#[utoipa::path(
    tag = "Consent",
    params(("pixel_id" = PixelId, Path), ("request_id" = uuid::Uuid, Path)),
    request_body = ErasureRefusal,
    responses((status = 200, description = "The request", body = ErasureRequestView)),
)]
#[post("/v1/pixels/<pixel_id>/erasure-requests/<request_id>/refuse", data = "<body>")]
async fn refuse(
    call: Call<'_, RefuseErasureRequest>,
    pixel_id: PixelParam,
    request_id: &str,
    body: Body,
) -> Result<Json<ErasureRequestView>> {
    let request = of_request(pixel_id, request_id);
    call.with_body(&body, |refusal: ErasureRefusal| RefuseRequest { request, refusal })
        .await
        .map(Json)
}
