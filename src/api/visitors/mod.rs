//! HTTP routes that visitors' pages call, from any origin and without credentials.

pub mod modules;
pub mod scripts;
pub mod visitor_request;

use rocket::http::Status;
use rocket::response::Responder;
use rocket::response::status::Custom;
use rocket::{State, get, post};

use self::visitor_request::VisitorRequest;
use crate::app::App;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::infra::Infra;
use crate::receipts::check::check_request::{CheckRequest, OfVisitor};
use crate::receipts::check::{Check, CheckConsent, ReadReceipt, ReceiptAnswer};
use crate::receipts::history::{History, HistoryRequest, ReadConsentHistory};
use crate::receipts::proofs::verify::{Verdict, VerifyReceipt, VerifyRequest};
use crate::receipts::record::choice::{RecordRequest, wrong_act, wrong_automated, wrong_seen};
use crate::receipts::record::shown::ShownRequest;
use crate::receipts::record::{Recorded, Saved, SiteMismatch};
use crate::types::consent::Purpose;
use crate::types::ids::{PixelRef, VisitorId};

described_routes![
    record,
    fire,
    shown,
    check_visitor of CheckConsent: [Infra],
    receipt of ReadReceipt: [Infra],
    api_receipt,
    history of ReadConsentHistory: [Body, Infra],
    verify of VerifyReceipt: [Body],
];

#[derive(Responder)]
enum RecordAnswer {
    Saved(Box<Custom<Json<Saved>>>),
    Ignored(Status),
    SiteMismatch(Custom<Json<SiteMismatch>>),
}

const IGNORED: &str = "Ignored, nothing is stored: bad JSON or shape, Global Privacy Control, an \
    unknown pixel or one whose popup is off, an acceptance that is not affirmative, of a stale policy, \
    or of a purpose that is not asked for";
const OTHER_SITE: &str = "The page, or the origin that the browser names, is of another site";
const REQUIRED_PURPOSE: &str = "What is to be done with the visitor.";

refusals!(
    RecordRefusals: [VisitorRequest<'_>, Body, Infra] Busy { retry_after: 1 }, wrong_act(),
    wrong_seen(), wrong_automated()
);

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
        (status = 204, description = IGNORED),
        (status = 403, description = OTHER_SITE, body = SiteMismatch),
        RecordRefusals,
    ),
)]
#[post("/v1/consent/record", data = "<body>")]
async fn record(
    app: &State<App>,
    visitor_request: VisitorRequest<'_>,
    body: Body,
) -> Result<RecordAnswer> {
    let request = body.json::<RecordRequest>();
    visitor_request.admit(request.as_ref().is_ok_and(RecordRequest::is_refusal))?;
    let Ok(request) = request else { return Ok(RecordAnswer::Ignored(Status::NoContent)) };
    Ok(match app.receipts.record(request, &visitor_request.provenance).await? {
        Recorded::Saved(signed) => {
            RecordAnswer::Saved(Box::new(Custom(Status::Accepted, Json(Saved::from(*signed)))))
        }
        Recorded::Ignored => RecordAnswer::Ignored(Status::NoContent),
        Recorded::SiteMismatch(mismatch) => {
            RecordAnswer::SiteMismatch(Custom(Status::Forbidden, Json(mismatch)))
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
        (status = 204, description = IGNORED),
        (status = 403, description = OTHER_SITE, body = SiteMismatch),
        RecordRefusals,
    ),
)]
#[post("/api/v1/pixel/fire", data = "<body>")]
async fn fire(
    app: &State<App>,
    visitor_request: VisitorRequest<'_>,
    body: Body,
) -> Result<RecordAnswer> {
    record(app, visitor_request, body).await
}

refusals!(ShownRefusals: [VisitorRequest<'_>, Body, Infra]);

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
    app: &State<App>,
    visitor_request: VisitorRequest<'_>,
    body: Body,
) -> Result<Status> {
    visitor_request.admit(false)?;
    if let Ok(request) = body.json::<ShownRequest>() {
        app.receipts.count_shown(&request, &visitor_request.provenance).await?;
    }
    Ok(Status::NoContent)
}

fn check_request(query: &Query) -> CheckRequest {
    let text = |name: &str| query.get(name).map(str::to_owned);
    CheckRequest {
        visitor: OfVisitor { pixel_id: text("pixel_id"), visitor_id: text("visitor_id") },
        required_purpose: text("required_purpose"),
    }
}

/// May something be done with a visitor?
///
/// The latest receipt and the current policy decide. An unknown pixel or visitor has
/// `no_consent_record`.
#[utoipa::path(
    tag = "Visitors",
    security(()),
    params(
        ("pixel_id" = PixelRef, Query, description = "Canonical id, alias or test id."),
        ("visitor_id" = VisitorId, Query),
        ("required_purpose" = Option<Purpose>, Query, description = REQUIRED_PURPOSE),
    ),
    responses((status = 200, description = "The answer, with the latest receipt if there is one", body = Check)),
)]
#[get("/v1/consent/check")]
async fn check_visitor(call: Call<'_, CheckConsent>, query: Query) -> Result<Json<Check>> {
    call.with(check_request(&query)).await.map(Json)
}

refusals!(ReceiptRefusals of ReadReceipt: [Infra]);

/// A visitor's latest receipt
#[utoipa::path(
    tag = "Visitors",
    security(()),
    params(
        ("pixel_id" = PixelRef, Query, description = "Canonical id, alias or test id."),
        ("visitor_id" = VisitorId, Query),
        ("required_purpose" = Option<Purpose>, Query, description = REQUIRED_PURPOSE),
    ),
    responses((status = 200, description = "The receipt", body = ReceiptAnswer)),
)]
#[get("/v1/consent/receipt")]
async fn receipt(call: Call<'_, ReadReceipt>, query: Query) -> Result<Json<ReceiptAnswer>> {
    call.with(check_request(&query)).await.map(Json)
}

/// A visitor's latest receipt, at its second address
#[utoipa::path(
    tag = "Visitors",
    operation_id = "api_read_receipt",
    security(()),
    params(
        ("pixel_id" = PixelRef, Query, description = "Canonical id, alias or test id."),
        ("visitor_id" = VisitorId, Query),
        ("required_purpose" = Option<Purpose>, Query, description = REQUIRED_PURPOSE),
    ),
    responses((status = 200, description = "The receipt", body = ReceiptAnswer), ReceiptRefusals),
)]
#[get("/api/v1/consent/receipt")]
async fn api_receipt(call: Call<'_, ReadReceipt>, query: Query) -> Result<Json<ReceiptAnswer>> {
    receipt(call, query).await
}

/// All that a visitor answered at one site
///
/// For the page on which visitors see their data. An unknown pixel or visitor has no receipts. Pages
/// of other origins cannot read the answer.
#[utoipa::path(
    tag = "Visitors",
    security(()),
    params(("before" = Option<String>, Query, description = "As in the body, which it goes before.")),
    request_body = HistoryRequest,
    responses((status = 200, description = "The visitor's receipts", body = History)),
)]
#[post("/v1/consent/history", data = "<body>")]
async fn history(
    call: Call<'_, ReadConsentHistory>,
    query: Query,
    body: Body,
) -> Result<Listed<History>> {
    let before = query.get("before").map(str::to_owned);
    let page =
        |request: HistoryRequest| HistoryRequest { before: before.or(request.before), ..request };
    call.with_body(&body, page).await.map(Listed)
}

/// Is this receipt the service's own?
#[utoipa::path(
    tag = "Visitors",
    security(()),
    request_body = VerifyRequest,
    responses((status = 200, description = "Whether it is", body = Verdict)),
)]
#[post("/v1/consent/verify", data = "<body>")]
async fn verify(call: Call<'_, VerifyReceipt>, body: Body) -> Result<Json<Verdict>> {
    call.with_body(&body, |request: VerifyRequest| request).await.map(Json)
}
