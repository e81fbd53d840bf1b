//! HTTP routes of pixel setup.

use rocket::http::Status;
use rocket::request::{FromRequest, Outcome};
use rocket::response::status::{Custom, NoContent};
use rocket::{Request, State, delete, get, patch, post};
use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::change;
use super::host::SiteHost;
use super::install_check::{self, InstallView};
use super::pipeline::{self, PipelinePixel, PipelineRequest};
use super::pixel::{self, PixelList, PixelView, Setup};
use super::snippet::{self, CommerceAction, CommerceSnippet};
use super::snippet_mail::{self, SnippetMail, SnippetMailRequest};
use crate::accounts::email::Email;
use crate::accounts::guards::{GoodStanding, PipelineKey};
use crate::error::{Error, Result};
use crate::http::body::{Body, missing_field, present};
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::problem;
use crate::http::query::Query;
use crate::http::rate_limit::{Limited, Mails};
use crate::http::refusals::{Refuses, refusals};
use crate::ids::PixelId;
use crate::platform::Platform;

described_routes![
    setup,
    create,
    list,
    show,
    rename,
    delete,
    check,
    commerce_snippet,
    email_snippet,
    create_pipeline_pixel
];

/// The install method of the query, if it is one that the service offers. The caller's key is
/// looked at first, so that a stranger learns nothing from this.
pub struct OfferedMethod;

impl OfferedMethod {
    /// `cms`, `gtm` and `utm` are installed by other means; every other word is fine.
    pub fn check(method: Option<&str>) -> Result<()> {
        match method.map(|method| method.trim().to_ascii_lowercase()).as_deref() {
            Some("cms" | "gtm" | "utm") => Err(Error::InstallMethodUnavailable),
            _ => Ok(()),
        }
    }

    /// As [`OfferedMethod::check`], for a body that the route has no need of: whatever else it
    /// may hold is ignored.
    fn check_unneeded(body: &Body) -> Result<()> {
        let request = body.json::<MethodRequest>();
        Self::check(request.ok().and_then(|request| request.method).as_deref())
    }
}

/// The query parameter that [`OfferedMethod`] reads.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "describes the parameter")]
pub struct MethodQuery {
    /// `cms`, `gtm` and `utm` are refused; every other word is accepted.
    method: Option<String>,
}

impl Refuses for OfferedMethod {
    fn refusals() -> Vec<Error> {
        vec![Error::InstallMethodUnavailable]
    }
}

/// A body that may name an install method.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct MethodRequest {
    /// `cms`, `gtm` and `utm` are refused; every other word is accepted.
    pub method: Option<String>,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for OfferedMethod {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let query = Query::of(request);
        problem::outcome(request, Self::check(query.get("method")).map(|()| Self))
    }
}

/// The site that a pixel is for.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct PixelRequest {
    /// The site's host. A leading `https://` or `www.` is dropped; a path, port or address is
    /// refused.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "shop.example")]
    pub domain: Option<String>,
    /// `cms`, `gtm` and `utm` are refused; every other word is accepted.
    pub method: Option<String>,
}

impl PixelRequest {
    /// The host, if the service offers what the request asks for.
    pub fn host(&self, platform: &Platform) -> Result<SiteHost> {
        OfferedMethod::check(self.method.as_deref())?;
        let domain = present(self.domain.as_deref()).ok_or(Error::DomainRequired)?;
        SiteHost::parse(domain, &platform.base_host())
    }
}

refusals!(SetupRefusals: [GoodStanding, OfferedMethod, Platform]);

/// How far the setup has come
#[utoipa::path(
    tag = "Pixels",
    operation_id = "show_setup",
    security(("api_key" = []), ("x_api_key" = [])),
    params(MethodQuery),
    responses((status = 200, description = "Counts of pixels", body = Setup), SetupRefusals),
)]
#[get("/v1/setup")]
async fn setup(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
) -> Result<Json<Setup>> {
    pixel::setup(platform, caller.0.account_id()).await.map(Json)
}

refusals!(CreateRefusals: [GoodStanding, OfferedMethod, Body, Platform] DomainRequired, DomainIsPage, DomainNotHost,
    DomainRegistered, PixelAllowanceReached { remaining: 0 }, PixelNotCreated,
    missing_field("domain"));

/// Create a pixel for a site
///
/// The account's own host gives the pixel that it has there. A host belongs to one account.
#[utoipa::path(
    tag = "Pixels",
    operation_id = "create_pixel",
    security(("api_key" = []), ("x_api_key" = [])),
    params(MethodQuery),
    request_body = PixelRequest,
    responses((status = 201, description = "The pixel", body = PixelView), CreateRefusals),
)]
#[post("/v1/pixels", data = "<body>")]
async fn create(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    body: Body,
) -> Result<Custom<Json<PixelView>>> {
    let host = body.validated::<PixelRequest>()?.host(platform)?;
    let pixel = pixel::create_pixel(platform, caller.0.account_id(), &host).await?;
    Ok(Custom(Status::Created, Json(PixelView::of(pixel, platform.base_url()))))
}

refusals!(ListRefusals: [GoodStanding, OfferedMethod, Platform]);

/// The account's pixels
#[utoipa::path(
    tag = "Pixels",
    operation_id = "list_pixels",
    security(("api_key" = []), ("x_api_key" = [])),
    params(MethodQuery),
    responses((status = 200, description = "Oldest first", body = PixelList), ListRefusals),
)]
#[get("/v1/pixels")]
async fn list(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
) -> Result<Json<PixelList>> {
    let pixels = pixel::list(platform, caller.0.account_id()).await?;
    Ok(Json(pixels.into()))
}

refusals!(ShowRefusals: [GoodStanding, OfferedMethod, Platform] PixelNotFound);

/// A pixel with its snippet
#[utoipa::path(
    tag = "Pixels",
    operation_id = "show_pixel",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), MethodQuery),
    responses((status = 200, description = "The pixel", body = PixelView), ShowRefusals),
)]
#[get("/v1/pixels/<pixel_id>")]
async fn show(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
) -> Result<Json<PixelView>> {
    let pixel = pixel::find_for(platform, &caller.0, pixel_id).await?;
    Ok(Json(PixelView::of(pixel, platform.base_url())))
}

refusals!(RenameRefusals: [GoodStanding, OfferedMethod, Body, Platform] DomainRequired, DomainIsPage, DomainNotHost,
    PixelNotFound, InstalledPixelRename, DomainRegistered, missing_field("domain"));

/// Move a pixel to another host
///
/// Its install is then not checked. To its present host nothing changes.
#[utoipa::path(
    tag = "Pixels",
    operation_id = "rename_pixel",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = PixelRequest,
    responses((status = 200, description = "The pixel", body = PixelView), RenameRefusals),
)]
#[patch("/v1/pixels/<pixel_id>", data = "<body>")]
async fn rename(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    body: Body,
) -> Result<Json<PixelView>> {
    let host = body.validated::<PixelRequest>()?.host(platform)?;
    let pixel = change::rename_pixel(platform, &caller.0, pixel_id, &host).await?;
    Ok(Json(PixelView::of(pixel, platform.base_url())))
}

refusals!(DeleteRefusals: [GoodStanding, OfferedMethod, Body, Platform] PixelNotFound, InstalledPixelDelete);

/// Delete a pixel
///
/// Its contacts go with it. Its receipts and policies stay: they prove that choices were made.
#[utoipa::path(
    tag = "Pixels",
    operation_id = "delete_pixel",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = Option<MethodRequest>,
    responses((status = 204, description = "It is gone"), DeleteRefusals),
)]
#[delete("/v1/pixels/<pixel_id>", data = "<body>")]
async fn delete(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    body: Body,
) -> Result<NoContent> {
    OfferedMethod::check_unneeded(&body)?;
    change::delete_pixel(platform, &caller.0, pixel_id).await?;
    Ok(NoContent)
}

refusals!(CheckRefusals: [GoodStanding, OfferedMethod, Body, Platform] PixelNotFound, InstallCheckerOff,
    Busy { retry_after: 5 });

/// Look whether the pixel is on its site
///
/// Fetches `https://{domain}/` and looks for the pixel's id, for a few seconds at most.
#[utoipa::path(
    tag = "Pixels",
    operation_id = "check_install",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = Option<MethodRequest>,
    responses((status = 200, description = "What was found", body = InstallView), CheckRefusals),
)]
#[post("/v1/pixels/<pixel_id>/check", data = "<body>")]
async fn check(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    body: Body,
) -> Result<Json<InstallView>> {
    OfferedMethod::check_unneeded(&body)?;
    let pixel = install_check::check_install(platform, &caller.0, pixel_id).await?;
    Ok(Json(pixel.into()))
}

refusals!(CommerceSnippetRefusals: [GoodStanding, OfferedMethod, Platform] PixelNotFound, SnippetNotFound);

/// The snippet for an action of a shop
#[utoipa::path(
    tag = "Pixels",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), ("action" = CommerceAction, Path), MethodQuery),
    responses((status = 200, description = "The snippet", body = CommerceSnippet), CommerceSnippetRefusals),
)]
#[get("/v1/pixels/<pixel_id>/snippets/<action>")]
async fn commerce_snippet(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    action: &str,
) -> Result<Json<CommerceSnippet>> {
    let pixel = pixel::find_for(platform, &caller.0, pixel_id).await?;
    let action = CommerceAction::parse(action).ok_or(Error::SnippetNotFound)?;
    Ok(Json(snippet::commerce(action, pixel.pixel_id, platform.base_url())))
}

refusals!(EmailSnippetRefusals: [Limited<Mails>, GoodStanding, OfferedMethod, Body, Platform] InvalidEmail, PixelNotFound,
    SnippetMailTooSoon { retry_after: 600 }, SnippetMailFailed, missing_field("email"));

/// Mail the immediate snippet to whoever can paste it
///
/// Once in ten minutes. The consent tag comes with its configuration instead.
#[utoipa::path(
    tag = "Pixels",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = SnippetMailRequest,
    responses((status = 200, description = "What became of the mail", body = SnippetMail), EmailSnippetRefusals),
)]
#[post("/v1/pixels/<pixel_id>/email-snippet", data = "<body>")]
async fn email_snippet(
    platform: &State<Platform>,
    _limited: Limited<Mails>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    body: Body,
) -> Result<Json<SnippetMail>> {
    let request = body.validated::<SnippetMailRequest>()?;
    OfferedMethod::check(request.method.as_deref())?;
    let email = Email::required(request.email.as_deref())?;
    snippet_mail::mail_snippet(platform, &caller.0, pixel_id, &email).await.map(Json)
}

refusals!(CreatePipelinePixelRefusals: [PipelineKey, Body, Platform] PipelineUnknown, CustomerRequired, DomainRequired,
    DomainIsPage, DomainNotHost, CustomerNotInGoodStanding, AccountNotFound, DomainRegistered,
    PixelNotCreated, missing_field("domain"));

/// Create a pixel for a customer
///
/// For unlimited keys.
#[utoipa::path(
    tag = "Pixels",
    security(("api_key" = []), ("x_api_key" = [])),
    request_body = PipelineRequest,
    responses((status = 201, description = "The pixel, new or as it was", body = PipelinePixel), CreatePipelinePixelRefusals),
)]
#[post("/v1/pixels/pipeline", data = "<body>")]
async fn create_pipeline_pixel(
    platform: &State<Platform>,
    _caller: PipelineKey,
    body: Body,
) -> Result<Custom<Json<PipelinePixel>>> {
    let order = body.validated::<PipelineRequest>()?.check(&platform.base_host())?;
    let pixel = pipeline::create_pipeline_pixel(platform, order).await?;
    Ok(Custom(Status::Created, Json(pixel)))
}
