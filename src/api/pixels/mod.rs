pub mod claims;
pub(super) mod install_method;
pub mod moves;

use rocket::http::Status;
use rocket::response::status::{Custom, NoContent};
use rocket::{delete, get, patch, post};

use self::install_method::{MethodQuery, OfferedMethod, UnneededBody, check_unneeded};
use crate::accounts::capability::NoInput;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::infra::Infra;
use crate::pixels::change::{DeletePixel, RenamePixel};
use crate::pixels::input::{OfPixel, OnPixel, PixelRequest};
use crate::pixels::install_check::{CheckInstall, InstallView, ShowInstall};
use crate::pixels::pipeline::{CreatePipelinePixel, PipelinePixel, PipelineRequest};
use crate::pixels::setup::{CreatePixel, ListPixels, Setup, ShowPixel, ShowSetup};
use crate::pixels::snippets::commerce_snippet::{CommerceRequest, GetCommerceSnippet};
use crate::pixels::snippets::snippet::{CommerceAction, CommerceSnippet};
use crate::pixels::snippets::snippet_mail::{EmailSnippet, SnippetMail, SnippetMailRequest};
use crate::pixels::view::{PixelList, PixelView};
use crate::types::ids::{PixelId, PixelParam};

described_routes![
    setup of ShowSetup: [OfferedMethod, Infra],
    create of CreatePixel: [OfferedMethod, Body, Infra],
    list of ListPixels: [OfferedMethod, Infra],
    show of ShowPixel: [OfferedMethod, Infra],
    rename of RenamePixel: [OfferedMethod, Body, Infra],
    delete of DeletePixel: [OfferedMethod, Body, Infra],
    check of CheckInstall: [OfferedMethod, Body, Infra],
    show_install of ShowInstall: [OfferedMethod, Infra],
    get_commerce_snippet of GetCommerceSnippet: [OfferedMethod, Infra],
    email_snippet of EmailSnippet: [OfferedMethod, Body, Infra],
    create_pipeline_pixel of CreatePipelinePixel: [Body, Infra],
];

/// How far the setup has come
#[utoipa::path(
    tag = "Pixels",
    params(MethodQuery),
    responses((status = 200, description = "Counts of pixels", body = Setup)),
)]
#[get("/v1/setup")]
async fn setup(call: Call<'_, ShowSetup>, _method: OfferedMethod) -> Result<Json<Setup>> {
    call.with(NoInput {}).await.map(Json)
}

/// Create a pixel for a site
///
/// The account's own host gives the pixel that it has there. A host belongs to one account.
#[utoipa::path(
    tag = "Pixels",
    params(MethodQuery),
    request_body = PixelRequest,
    responses((status = 201, description = "The pixel", body = PixelView)),
)]
#[post("/v1/pixels", data = "<body>")]
async fn create(
    call: Call<'_, CreatePixel>,
    _method: OfferedMethod,
    body: Body,
) -> Result<Custom<Json<PixelView>>> {
    let pixel = call.with_body(&body, |request: PixelRequest| request).await?;
    Ok(Custom(Status::Created, Json(pixel)))
}

/// The account's pixels
#[utoipa::path(
    tag = "Pixels",
    params(MethodQuery),
    responses((status = 200, description = "Oldest first", body = PixelList)),
)]
#[get("/v1/pixels")]
async fn list(call: Call<'_, ListPixels>, _method: OfferedMethod) -> Result<Listed<PixelList>> {
    call.with(NoInput {}).await.map(Listed)
}

/// A pixel with its snippet
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    responses((status = 200, description = "The pixel", body = PixelView)),
)]
#[get("/v1/pixels/<pixel_id>")]
async fn show(
    call: Call<'_, ShowPixel>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
) -> Result<Json<PixelView>> {
    call.with(OfPixel { pixel_id }).await.map(Json)
}

/// Move a pixel to another host
///
/// Its install is then not checked. To its present host nothing changes.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = PixelRequest,
    responses((status = 200, description = "The pixel", body = PixelView)),
)]
#[patch("/v1/pixels/<pixel_id>", data = "<body>")]
async fn rename(
    call: Call<'_, RenamePixel>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Json<PixelView>> {
    call.with_body(&body, |input: PixelRequest| OnPixel { pixel_id, input }).await.map(Json)
}

/// Delete a pixel
///
/// Its contacts go with it. Its receipts and policies stay: they prove that choices were made.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = Option<UnneededBody>,
    responses((status = 204, description = "It is gone")),
)]
#[delete("/v1/pixels/<pixel_id>", data = "<body>")]
async fn delete(
    call: Call<'_, DeletePixel>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    body: Body,
) -> Result<NoContent> {
    check_unneeded(&body)?;
    call.with(OfPixel { pixel_id }).await.map(|_| NoContent)
}

/// Look whether the pixel is on its site
///
/// Fetches `https://{domain}/` and looks for the pixel's id, for a few seconds at most, and for what
/// is in its way.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = Option<UnneededBody>,
    responses((status = 200, description = "What was found", body = InstallView)),
)]
#[post("/v1/pixels/<pixel_id>/check", data = "<body>")]
async fn check(
    call: Call<'_, CheckInstall>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Json<InstallView>> {
    check_unneeded(&body)?;
    call.with(OfPixel { pixel_id }).await.map(Json)
}

/// What the last look at the site has found
///
/// Installed pixels are looked at once a day. One that three looks in a row do not find is not
/// installed any more, and its owner gets a mail.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    responses((status = 200, description = "What was found", body = InstallView)),
)]
#[get("/v1/pixels/<pixel_id>/check")]
async fn show_install(
    call: Call<'_, ShowInstall>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
) -> Result<Json<InstallView>> {
    call.with(OfPixel { pixel_id }).await.map(Json)
}

/// The snippet for an action of a shop
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), ("action" = CommerceAction, Path), MethodQuery),
    responses((status = 200, description = "The snippet", body = CommerceSnippet)),
)]
#[get("/v1/pixels/<pixel_id>/snippets/<action>")]
async fn get_commerce_snippet(
    call: Call<'_, GetCommerceSnippet>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    action: &str,
) -> Result<Json<CommerceSnippet>> {
    let input = CommerceRequest { action: action.to_owned() };
    call.with(OnPixel { pixel_id, input }).await.map(Json)
}

/// Mail a snippet to whoever can paste it
///
/// Once in ten minutes. The immediate one, unless `snippet` is `present`.
#[utoipa::path(
    tag = "Pixels",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = SnippetMailRequest,
    responses((status = 200, description = "What became of the mail", body = SnippetMail)),
)]
#[post("/v1/pixels/<pixel_id>/email-snippet", data = "<body>")]
async fn email_snippet(
    call: Call<'_, EmailSnippet>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Json<SnippetMail>> {
    let on_pixel = |input: SnippetMailRequest| OnPixel { pixel_id, input };
    call.with_body(&body, on_pixel).await.map(Json)
}

/// Create a pixel for a customer
///
/// For unlimited keys.
#[utoipa::path(
    tag = "Pixels",
    request_body = PipelineRequest,
    responses((status = 201, description = "The pixel, new or as it was", body = PipelinePixel)),
)]
#[post("/v1/pixels/pipeline", data = "<body>")]
async fn create_pipeline_pixel(
    call: Call<'_, CreatePipelinePixel>,
    body: Body,
) -> Result<Custom<Json<PipelinePixel>>> {
    let pixel = call.with_body(&body, |request: PipelineRequest| request).await?;
    Ok(Custom(Status::Created, Json(pixel)))
}
