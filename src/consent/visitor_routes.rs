//! HTTP routes that visitors' pages call, from any origin and without credentials.

use rocket::http::{Header, Status};
use rocket::response::status::Custom;
use rocket::response::{self, Responder};
use rocket::{Request, Response, Route, State, get, post, routes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::check::{self, Check, CheckRequest, ReceiptAnswer};
use super::directory::Directory;
use super::notice::Notice;
use super::policy::is_hash;
use super::receipt::{ReceiptEnvelope, SignedReceipt};
use super::record::{Desk, RecordRequest, Recorded};
use super::recorder::Recorder;
use super::signing::{Signer, Verdict, VerifyRequest};
use super::store;
use super::terms::Purpose;
use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::client::{AcceptLanguage, SecGpc};
use crate::http::html::Page;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::rate_limit::{Limited, Visits};
use crate::ids::{PixelId, PixelRef, VisitorId};
use crate::locales;
use crate::pixels::SiteHost;
use crate::pixels::host::PageUrl;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![record, fire, shown, check_visitor, receipt, api_receipt, verify, policy, api_policy,]
}

/// A choice that was stored.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Saved {
    /// Always true.
    pub recorded: bool,
    pub receipt_id: uuid::Uuid,
    /// The policy that the receipt names.
    pub policy_version_hash: String,
    /// Sorted by name; empty for a decline or withdrawal.
    pub purposes: Vec<Purpose>,
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
}

impl From<SignedReceipt> for Saved {
    fn from(signed: SignedReceipt) -> Self {
        Self {
            recorded: true,
            receipt_id: signed.receipt.receipt_id,
            policy_version_hash: signed.receipt.policy_hash.clone(),
            purposes: signed.receipt.purposes.clone(),
            envelope: signed.into(),
        }
    }
}

/// A choice that was made on a page of another site.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct SiteMismatch {
    /// Always false.
    pub recorded: bool,
    /// Always `site_mismatch`.
    pub reason: &'static str,
    /// The pixel's host.
    pub domain: SiteHost,
}

#[derive(Responder)]
enum RecordAnswer {
    Saved(Box<Custom<Json<Saved>>>),
    Ignored(Status),
    SiteMismatch(Custom<Json<SiteMismatch>>),
}

#[post("/v1/consent/record", data = "<body>")]
async fn record(
    platform: &State<Platform>,
    _limited: Limited<Visits>,
    directory: &State<Directory>,
    signer: &State<Signer>,
    recorder: &State<Recorder>,
    gpc: SecGpc,
    body: Body,
) -> Result<RecordAnswer> {
    let Ok(request) = body.json::<RecordRequest>() else {
        return Ok(RecordAnswer::Ignored(Status::NoContent));
    };
    let desk = Desk { platform, directory, signer, recorder };
    Ok(match desk.record(request, gpc.0).await? {
        Recorded::Saved(signed) => {
            RecordAnswer::Saved(Box::new(Custom(Status::Accepted, Json(Saved::from(*signed)))))
        }
        Recorded::Ignored => RecordAnswer::Ignored(Status::NoContent),
        Recorded::SiteMismatch { domain } => {
            let answer = SiteMismatch { recorded: false, reason: "site_mismatch", domain };
            RecordAnswer::SiteMismatch(Custom(Status::Forbidden, Json(answer)))
        }
    })
}

#[post("/api/v1/pixel/fire", data = "<body>")]
async fn fire(
    platform: &State<Platform>,
    limited: Limited<Visits>,
    directory: &State<Directory>,
    signer: &State<Signer>,
    recorder: &State<Recorder>,
    gpc: SecGpc,
    body: Body,
) -> Result<RecordAnswer> {
    record(platform, limited, directory, signer, recorder, gpc, body).await
}

/// The popup opened for a visitor.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ShownRequest {
    /// Canonical id or alias.
    #[schemars(with = "PixelRef")]
    #[schema(value_type = PixelRef)]
    pub pixel_id: Option<String>,
    #[schemars(with = "VisitorId")]
    #[schema(value_type = VisitorId)]
    pub visitor_id: Option<String>,
    /// The page, of the pixel's host or a subdomain of it.
    #[schemars(with = "String")]
    #[schema(value_type = String, example = "https://shop.example/cart")]
    pub url: Option<String>,
}

/// Always 204: nobody learns from it which pixels exist.
#[post("/v1/consent/shown", data = "<body>")]
async fn shown(
    platform: &State<Platform>,
    _limited: Limited<Visits>,
    directory: &State<Directory>,
    gpc: SecGpc,
    body: Body,
) -> Result<Status> {
    if let (Ok(request), false) = (body.json::<ShownRequest>(), gpc.0) {
        count_shown(platform, directory, &request).await?;
    }
    Ok(Status::NoContent)
}

async fn count_shown(
    platform: &Platform,
    directory: &Directory,
    request: &ShownRequest,
) -> Result<()> {
    let visitor_id = request.visitor_id.as_deref().and_then(VisitorId::parse);
    let page = request.url.as_deref().and_then(PageUrl::parse);
    let (Some(visitor_id), Some(page)) = (visitor_id, page) else { return Ok(()) };
    let site = directory.find_text(request.pixel_id.as_deref().unwrap_or_default()).await?;
    let Some(site) = site.filter(|site| site.policy_in_force().is_some()) else { return Ok(()) };
    if site.admits(&page, platform) {
        let mut connection = platform.pool.acquire().await?;
        let today = platform.clock.now().date_naive();
        store::counts::insert_shown(&mut connection, &site.pixel.pixel_id, today, &visitor_id)
            .await?;
    }
    Ok(())
}

fn check_request(query: &Query) -> Result<CheckRequest> {
    CheckRequest::parse(
        query.get("pixel_id"),
        query.get("visitor_id"),
        query.get("required_purpose"),
    )
}

#[get("/v1/consent/check")]
async fn check_visitor(platform: &State<Platform>, query: Query) -> Result<Json<Check>> {
    check::check(platform, &check_request(&query)?).await.map(Json)
}

#[get("/v1/consent/receipt")]
async fn receipt(
    platform: &State<Platform>,
    signer: &State<Signer>,
    query: Query,
) -> Result<Json<ReceiptAnswer>> {
    check::receipt(platform, signer, &check_request(&query)?).await.map(Json)
}

#[get("/api/v1/consent/receipt")]
async fn api_receipt(
    platform: &State<Platform>,
    signer: &State<Signer>,
    query: Query,
) -> Result<Json<ReceiptAnswer>> {
    receipt(platform, signer, query).await
}

#[post("/v1/consent/verify", data = "<body>")]
async fn verify(signer: &State<Signer>, body: Body) -> Result<Json<Verdict>> {
    signer.judge(body.json::<VerifyRequest>()?).map(Json)
}

/// The notice, chosen by the reader's language.
struct PolicyPage(Page);

impl<'r> Responder<'r, 'static> for PolicyPage {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        Response::build_from(self.0.respond_to(request)?)
            .header(Header::new("Vary", "Accept-Language"))
            .ok()
    }
}

#[get("/v1/policy/<pixel>")]
async fn policy(
    platform: &State<Platform>,
    directory: &State<Directory>,
    pixel: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PolicyPage> {
    let locale = locales::choose(query.present("lang"), accepted.0);
    let site = directory.find_text(pixel).await?;
    let current = site.as_ref().and_then(|site| site.policy_in_force());
    // A deleted pixel's policies are still found by its canonical id, for its receipts name them.
    let pixel_id = match &site {
        Some(site) => site.pixel.pixel_id.clone(),
        None => PixelId::parse(pixel).ok_or(Error::PolicyNotFound)?,
    };
    let named = match query.present("hash") {
        None => None,
        Some(hash) if !is_hash(hash) => return Err(Error::PolicyNotFound),
        Some(hash) => {
            let mut connection = platform.pool.acquire().await?;
            let named = store::find_policy_by_hash(&mut connection, &pixel_id, hash).await?;
            Some(named.ok_or(Error::PolicyNotFound)?)
        }
    };
    let policy = named.as_ref().or(current).ok_or(Error::PolicyNotFound)?;
    let url = super::configuration::policy_url(platform, &pixel_id);
    let is_current = current.is_some_and(|current| current.hash == policy.hash);
    let notice = Notice { pixel_id: &pixel_id, policy, is_current, locale, url: &url };
    Ok(PolicyPage(Page::ok(notice.render())))
}

#[get("/api/v1/policy/<pixel>")]
async fn api_policy(
    platform: &State<Platform>,
    directory: &State<Directory>,
    pixel: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PolicyPage> {
    policy(platform, directory, pixel, query, accepted).await
}
