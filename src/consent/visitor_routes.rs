//! HTTP routes that visitors' pages call, from any origin and without credentials.

use rocket::http::Status;
use rocket::response::Responder;
use rocket::response::status::Custom;
use rocket::{State, get, post};

use super::check::{self, Check, CheckRequest, ReceiptAnswer};
use super::directory::Directory;
use super::record::{Desk, RecordRequest, Recorded};
use super::recorder::Recorder;
use super::signing::{Signer, Verdict, VerifyRequest};
use super::standings::Standings;
use super::store;
use super::terms::Purpose;
use super::visitor_messages::{Saved, ShownRequest, SiteMismatch};
use crate::error::{FieldError, Result};
use crate::http::body::Body;
use crate::http::client::SecGpc;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::rate_limit::{Limited, Visits};
use crate::http::refusals::refusals;
use crate::ids::{PixelRef, VisitorId};
use crate::pixels::host::PageUrl;
use crate::platform::Platform;

described_routes![record, fire, shown, check_visitor, receipt, api_receipt, verify];

#[derive(Responder)]
enum RecordAnswer {
    Saved(Box<Custom<Json<Saved>>>),
    Ignored(Status),
    SiteMismatch(Custom<Json<SiteMismatch>>),
}

refusals!(RecordRefusals: [Limited<Visits>, Body, Platform] Busy { retry_after: 1 });

/// Record a visitor's choice
///
/// Written by the popup. The answer is sent after the receipt is durable. Readable whatever
/// `Content-Type` says.
#[utoipa::path(
    tag = "Visitors",
    operation_id = "record_consent",
    security(()),
    request_body = RecordRequest,
    responses(
        (status = 202, description = "The receipt of a choice that counts", body = Saved),
        (status = 204, description = "Ignored, nothing is stored: bad JSON or shape, Global Privacy Control, an unknown pixel or one whose popup is off, an acceptance that is not affirmative, of a stale policy, or of a purpose that is not asked for"),
        (status = 403, description = "The page is of another site", body = SiteMismatch),
        RecordRefusals,
    ),
)]
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

/// Record a visitor's choice, at its second address
#[utoipa::path(
    tag = "Visitors",
    operation_id = "fire_pixel",
    security(()),
    request_body = RecordRequest,
    responses(
        (status = 202, description = "The receipt of a choice that counts", body = Saved),
        (status = 204, description = "Ignored, nothing is stored: bad JSON or shape, Global Privacy Control, an unknown pixel or one whose popup is off, an acceptance that is not affirmative, of a stale policy, or of a purpose that is not asked for"),
        (status = 403, description = "The page is of another site", body = SiteMismatch),
        RecordRefusals,
    ),
)]
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

refusals!(ShownRefusals: [Limited<Visits>, Body, Platform]);

/// Count that the popup opened
///
/// Once per visitor, pixel and UTC day. Always 204: nobody learns from it which pixels exist.
#[utoipa::path(
    tag = "Visitors",
    operation_id = "count_shown",
    security(()),
    request_body = ShownRequest,
    responses((status = 204, description = "Counted, or not"), ShownRefusals),
)]
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

refusals!(CheckVisitorRefusals: [Platform] InvalidRequiredPurpose,
    Validation(vec![FieldError::new(&["query", "visitor_id"], "field required", "missing")]));

/// May something be done with a visitor?
///
/// The latest receipt and the current policy decide. An unknown pixel or visitor has
/// `no_consent_record`.
#[utoipa::path(
    tag = "Visitors",
    operation_id = "check_consent",
    security(()),
    params(
        ("pixel_id" = PixelRef, Query, description = "Canonical id or alias."),
        ("visitor_id" = VisitorId, Query),
        ("required_purpose" = Option<Purpose>, Query, description = "What is to be done with the visitor."),
    ),
    responses((status = 200, description = "The answer, with the latest receipt if there is one", body = Check), CheckVisitorRefusals),
)]
#[get("/v1/consent/check")]
async fn check_visitor(
    platform: &State<Platform>,
    standings: &State<Standings>,
    query: Query,
) -> Result<Json<Check>> {
    check::check(platform, standings, check_request(&query)?).await.map(Json)
}

refusals!(ReceiptRefusals: [Platform] InvalidRequiredPurpose, NoConsentRecord,
    Validation(vec![FieldError::new(&["query", "visitor_id"], "field required", "missing")]));

/// A visitor's latest receipt
#[utoipa::path(
    tag = "Visitors",
    operation_id = "read_receipt",
    security(()),
    params(
        ("pixel_id" = PixelRef, Query, description = "Canonical id or alias."),
        ("visitor_id" = VisitorId, Query),
        ("required_purpose" = Option<Purpose>, Query, description = "What is to be done with the visitor."),
    ),
    responses((status = 200, description = "The receipt", body = ReceiptAnswer), ReceiptRefusals),
)]
#[get("/v1/consent/receipt")]
async fn receipt(
    platform: &State<Platform>,
    standings: &State<Standings>,
    signer: &State<Signer>,
    query: Query,
) -> Result<Json<ReceiptAnswer>> {
    check::receipt(platform, standings, signer, check_request(&query)?).await.map(Json)
}

/// A visitor's latest receipt, at its second address
#[utoipa::path(
    tag = "Visitors",
    operation_id = "api_read_receipt",
    security(()),
    params(
        ("pixel_id" = PixelRef, Query, description = "Canonical id or alias."),
        ("visitor_id" = VisitorId, Query),
        ("required_purpose" = Option<Purpose>, Query, description = "What is to be done with the visitor."),
    ),
    responses((status = 200, description = "The receipt", body = ReceiptAnswer), ReceiptRefusals),
)]
#[get("/api/v1/consent/receipt")]
async fn api_receipt(
    platform: &State<Platform>,
    standings: &State<Standings>,
    signer: &State<Signer>,
    query: Query,
) -> Result<Json<ReceiptAnswer>> {
    receipt(platform, standings, signer, query).await
}

refusals!(VerifyRefusals: [Body] InvalidRequest, ReceiptRequired);

/// Is this receipt the service's own?
#[utoipa::path(
    tag = "Visitors",
    operation_id = "verify_receipt",
    security(()),
    request_body = VerifyRequest,
    responses((status = 200, description = "Whether it is", body = Verdict), VerifyRefusals),
)]
#[post("/v1/consent/verify", data = "<body>")]
async fn verify(signer: &State<Signer>, body: Body) -> Result<Json<Verdict>> {
    signer.judge(body.json::<VerifyRequest>()?).map(Json)
}
