//! HTTP routes of pixel setup.

use rocket::http::Status;
use rocket::request::{FromRequest, Outcome};
use rocket::response::status::Custom;
use rocket::{Request, Route, State, get, post, routes};
use serde::{Deserialize, Serialize};

use super::host::SiteHost;
use super::pixel::{self, PixelSummary, PixelView};
use crate::accounts::guards::GoodStanding;
use crate::error::{Error, Result};
use crate::http::body::{Body, present};
use crate::http::json::Json;
use crate::http::problem;
use crate::http::query::Query;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![create, list, show]
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
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for OfferedMethod {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let query = Query::of(request);
        problem::outcome(request, Self::check(query.get("method")).map(|()| Self))
    }
}

#[derive(Deserialize)]
struct PixelRequest {
    domain: Option<String>,
    method: Option<String>,
}

impl PixelRequest {
    fn host(&self, platform: &Platform) -> Result<SiteHost> {
        OfferedMethod::check(self.method.as_deref())?;
        let domain = present(self.domain.as_deref()).ok_or(Error::DomainRequired)?;
        SiteHost::parse(domain, &platform.base_host())
    }
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

#[derive(Serialize)]
struct PixelList {
    pixels: Vec<PixelSummary>,
}

#[get("/v1/pixels")]
async fn list(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
) -> Result<Json<PixelList>> {
    let pixels = pixel::list(platform, caller.0.account_id()).await?;
    Ok(Json(PixelList { pixels: pixels.into_iter().map(PixelSummary::from).collect() }))
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
