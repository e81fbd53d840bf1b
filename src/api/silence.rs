use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{get, patch, post};

use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::pixels::input::{OfPixel, OnPixel};
use crate::silence::given::GivenReport;
use crate::silence::intake::{SubmitWatchReport, SubmittedReport};
use crate::silence::reading::{ListWatchReports, OfReport, PageRequest, ReadWatchReport};
use crate::silence::settings::{ChangeWatch, ShowWatch, WatchSettings};
use crate::silence::view::{WatchReportDetail, WatchReportPage, WatchReportView, WatchView};
use crate::types::ids::{PixelId, PixelParam};

/// Room for a report of 1 MiB, whose quotes are escaped, and its note.
type ReportBody = Body<2304>;

described_routes![
    show of ShowWatch: [Infra],
    change of ChangeWatch: [Body, Infra],
    submit of SubmitWatchReport: [ReportBody, Infra],
    list of ListWatchReports: [Infra],
    read of ReadWatchReport: [Infra],
];

/// Whether a site is silent
///
/// What the newest report says, and how the site is watched.
#[utoipa::path(
    tag = "Watch",
    params(("pixel_id" = PixelId, Path)),
    responses((status = 200, description = "The site", body = WatchView)),
)]
#[get("/v1/pixels/<pixel_id>/watch")]
async fn show(call: Call<'_, ShowWatch>, pixel_id: PixelParam) -> Result<Json<WatchView>> {
    call.with(OfPixel { pixel_id }).await.map(Json)
}

/// Change how a site is watched
///
/// What is left out stays.
#[utoipa::path(
    tag = "Watch",
    params(("pixel_id" = PixelId, Path)),
    request_body = WatchSettings,
    responses((status = 200, description = "The site", body = WatchView)),
)]
#[patch("/v1/pixels/<pixel_id>/watch", data = "<body>")]
async fn change(
    call: Call<'_, ChangeWatch>,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Json<WatchView>> {
    let on_pixel = |input: WatchSettings| OnPixel { pixel_id, input };
    call.with_body(&body, on_pixel).await.map(Json)
}

/// Submit the report of a watcher
///
/// The report that `assent watch` has written, with its signed note. Its pages must be on the pixel's
/// host, and its hash enters the public log. A report that was submitted before is answered as it is.
#[utoipa::path(
    tag = "Watch",
    params(("pixel_id" = PixelId, Path)),
    request_body = GivenReport,
    responses((status = 201, description = "The stored report", body = WatchReportView)),
)]
#[post("/v1/pixels/<pixel_id>/watch-reports", data = "<body>")]
async fn submit(
    call: Call<'_, SubmitWatchReport>,
    pixel_id: PixelParam,
    body: ReportBody,
) -> Result<Custom<Json<WatchReportView>>> {
    let of_pixel = |given| SubmittedReport { pixel_id, given };
    let report = call.with_body(&body, of_pixel).await?;
    Ok(Custom(Status::Created, Json(report)))
}

/// What visits of a site found
///
/// Newest first; follow `next_before` until it is null. Reports are kept for 400 days.
#[utoipa::path(
    tag = "Watch",
    params(
        ("pixel_id" = PixelId, Path),
        ("before" = Option<uuid::Uuid>, Query, description = "The `next_before` of the page before."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 200, description = "Reports of one page; 200 when left out."),
    ),
    responses((status = 200, description = "A page of them", body = WatchReportPage)),
)]
#[get("/v1/pixels/<pixel_id>/watch-reports")]
async fn list(
    call: Call<'_, ListWatchReports>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Listed<WatchReportPage>> {
    let text = |name| query.get(name).map(str::to_owned);
    let (before, limit) = (text("before"), text("limit"));
    call.with(PageRequest { pixel_id, before, limit }).await.map(Listed)
}

/// A report, with its leaks
///
/// Also the report and its note as they were signed, which `assent verify` checks.
#[utoipa::path(
    tag = "Watch",
    params(("pixel_id" = PixelId, Path), ("report_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The report", body = WatchReportDetail)),
)]
#[get("/v1/pixels/<pixel_id>/watch-reports/<report_id>")]
async fn read(
    call: Call<'_, ReadWatchReport>,
    pixel_id: PixelParam,
    report_id: &str,
) -> Result<Json<WatchReportDetail>> {
    call.with(OfReport { pixel_id, report_id: report_id.into() }).await.map(Json)
}
