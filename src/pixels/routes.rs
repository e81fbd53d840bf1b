//! HTTP routes of pixel setup.

use rocket::http::Status;
use rocket::request::{FromRequest, Outcome};
use rocket::response::status::{Custom, NoContent};
use rocket::{Request, Route, State, delete, get, patch, post, routes};
use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;

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
use crate::http::body::{Body, present};
use crate::http::json::Json;
use crate::http::problem;
use crate::http::query::Query;
use crate::http::rate_limit::{Limited, Mails};
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![
        setup,
        create,
        list,
        show,
        rename,
        delete,
        check,
        commerce_snippet,
        email_snippet,
        create_pipeline_pixel,
    ]
}

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
    #[schema(value_type = String, example = "shop.example")]
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

#[get("/v1/setup")]
async fn setup(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
) -> Result<Json<Setup>> {
    pixel::setup(platform, caller.0.account_id()).await.map(Json)
}

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

#[get("/v1/pixels")]
async fn list(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
) -> Result<Json<PixelList>> {
    let pixels = pixel::list(platform, caller.0.account_id()).await?;
    Ok(Json(pixels.into()))
}

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
