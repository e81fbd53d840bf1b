use rocket::Either;
use rocket::http::{ContentType, Status};
use rocket::response::stream::ByteStream;
use rocket::{delete, get, post};

use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::csv::Csv;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::pixels::input::OfPixel;
use crate::policies::configuration::{ConfigureConsent, ConfigureRequest};
use crate::policies::configured::Configured;
use crate::policies::consent_request::ConsentRequest;
use crate::policies::history::{ConsentConfiguration, ReadConsentConfiguration};
use crate::policies::turning_off::TurnOffConsent;
use crate::receipts::consent_log::{ConsentLog, LogRequest, ReadConsentLog};
use crate::receipts::daily_counts::stats::{ReadConsentStats, Stats, StatsRequest};
use crate::receipts::export::{ExportFormat, ExportRequest, Lines};
use crate::receipts::export_consent::ExportConsent;
use crate::receipts::log_query::{LogFilter, MAX_ROWS};
use crate::receipts::table;
use crate::types::consent::ConsentState;
use crate::types::csv::Format;
use crate::types::ids::{PixelId, PixelParam, VisitorId};
use crate::types::page_address::PageAddress;
use crate::types::parameter::wrong;

described_routes![
    configure of ConfigureConsent: [Body, Infra],
    read_configuration of ReadConsentConfiguration: [Infra],
    turn_off of TurnOffConsent: [Infra],
    read_log of ReadConsentLog: [Infra],
    read_stats of ReadConsentStats: [Infra],
    read_export of ExportConsent: [Infra],
];

/// Publish a policy and turn the popup on
///
/// The same text keeps its version; another one gets the next, and visitors are asked again.
#[utoipa::path(
    tag = "Consent",
    params(("pixel_id" = PixelId, Path)),
    request_body = ConsentRequest,
    responses((status = 200, description = "The policy in force", body = Configured)),
)]
#[post("/v1/pixels/<pixel_id>/consent", data = "<body>")]
async fn configure(
    call: Call<'_, ConfigureConsent>,
    pixel_id: PixelParam,
    body: Body,
) -> Result<Json<Configured>> {
    let request = |settings: ConsentRequest| ConfigureRequest { pixel_id, dry_run: None, settings };
    let outcome = call.with_body(&body, request).await?;
    Ok(Json(outcome.configured))
}

/// How a pixel asks
///
/// The settings in force, and every version of what visitors were told.
#[utoipa::path(
    tag = "Consent",
    params(("pixel_id" = PixelId, Path)),
    responses((status = 200, description = "The configuration", body = ConsentConfiguration)),
)]
#[get("/v1/pixels/<pixel_id>/consent/configuration")]
async fn read_configuration(
    call: Call<'_, ReadConsentConfiguration>,
    pixel_id: PixelParam,
) -> Result<Json<ConsentConfiguration>> {
    call.with(OfPixel { pixel_id }).await.map(Json)
}

const LOG_PARAMETERS: &[&str] = &[
    "state",
    "visitor_id",
    "receipt_id",
    "policy_hash",
    "from",
    "to",
    "limit",
    "before",
    "format",
];

type OrTable<T> = Either<T, Csv>;

fn format(query: &Query) -> Result<Format> {
    Format::read(query.present("format")).map_err(|wrong| Error::Validation(vec![wrong]))
}

/// The newest choices, and by pages the older ones
///
/// Follow `next_before` with the same filters until it is null: no choice that was answered before
/// the first page was read is missed. As CSV the next page is in the header `Link`.
#[utoipa::path(
    tag = "Consent",
    params(
        ("pixel_id" = PixelId, Path),
        ("state" = Option<ConsentState>, Query, description = "Choices of this kind only."),
        ("visitor_id" = Option<VisitorId>, Query, description = "Choices of this visitor only."),
        ("receipt_id" = Option<uuid::Uuid>, Query, description = "The choice with this receipt only."),
        ("policy_hash" = Option<String>, Query, pattern = "^[0-9a-f]{64}$", description = "Choices on this version of the policy only."),
        ("from" = Option<chrono::NaiveDate>, Query, description = "The first UTC day."),
        ("to" = Option<chrono::NaiveDate>, Query, description = "The last UTC day."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 200, description = "Choices of one page; 200 when left out."),
        ("before" = Option<String>, Query, description = "The `next_before` of the page before."),
        ("format" = inline(Option<Format>), Query, description = "JSON when left out."),
    ),
    responses((
        status = 200,
        description = "Newest first",
        content((ConsentLog = "application/json"), (String = "text/csv")),
    )),
)]
#[get("/v1/pixels/<pixel_id>/consent")]
async fn read_log(
    call: Call<'_, ReadConsentLog>,
    pixel_id: PixelParam,
    query: Query,
    address: PageAddress,
) -> Result<OrTable<Listed<ConsentLog>>> {
    query.only(LOG_PARAMETERS)?;
    let format = format(&query)?;
    let filter = LogFilter {
        state: text(&query, "state"),
        visitor_id: text(&query, "visitor_id"),
        receipt_id: text(&query, "receipt_id"),
        policy_hash: text(&query, "policy_hash"),
        from: text(&query, "from"),
        to: text(&query, "to"),
        before: text(&query, "before"),
    };
    let limit = query.present("limit").map_or_else(|| MAX_ROWS.to_string(), str::to_owned);
    let log = call.with(LogRequest { pixel_id, filter, limit }).await?;
    if format == Format::Json {
        return Ok(Either::Left(Listed(log)));
    }
    let name = format!("consent-log-{}", log.pixel_id.as_str());
    let table = Csv::whole(name, table::of_log(&log)?);
    let next = log.next_before.map(|position| address.of_page("before", &position));
    Ok(Either::Right(Csv { next, ..table }))
}

fn text(query: &Query, name: &str) -> Option<String> {
    query.get(name).map(str::to_owned)
}

/// Turn the popup off
///
/// Policies and receipts stay: they prove what was asked and answered.
#[utoipa::path(
    tag = "Consent",
    params(("pixel_id" = PixelId, Path)),
    responses((status = 204, description = "It is off")),
)]
#[delete("/v1/pixels/<pixel_id>/consent")]
async fn turn_off(call: Call<'_, TurnOffConsent>, pixel_id: PixelParam) -> Result<Status> {
    call.with(OfPixel { pixel_id }).await.map(|_| Status::NoContent)
}

const EXPORT_PARAMETERS: &[&str] = &["from", "to", "proofs", "format"];
const STATS_PARAMETERS: &[&str] = &["from", "to", "format"];

/// Counts per day
///
/// Of how often the popup was shown, and what was answered, also for each version of the policy. At
/// most 400 days. A table has the days only.
#[utoipa::path(
    tag = "Consent",
    params(
        ("pixel_id" = PixelId, Path),
        ("from" = Option<chrono::NaiveDate>, Query, description = "The first UTC day; without it there are 30."),
        ("to" = Option<chrono::NaiveDate>, Query, description = "The last UTC day; today when left out."),
        ("format" = inline(Option<Format>), Query, description = "JSON when left out."),
    ),
    responses((
        status = 200,
        description = "Every day of the range, oldest first",
        content((Stats = "application/json"), (String = "text/csv")),
    )),
)]
#[get("/v1/pixels/<pixel_id>/consent/stats")]
async fn read_stats(
    call: Call<'_, ReadConsentStats>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<OrTable<Json<Stats>>> {
    query.only(STATS_PARAMETERS)?;
    let format = format(&query)?;
    let (from, to) = (text(&query, "from"), text(&query, "to"));
    let stats = call.with(StatsRequest { pixel_id, from, to }).await?;
    if format == Format::Json {
        return Ok(Either::Left(Json(stats)));
    }
    let Stats { pixel_id, from, to, .. } = &stats;
    let name = format!("consent-stats-{}-{from}-{to}", pixel_id.as_str());
    Ok(Either::Right(Csv::whole(name, table::of_stats(&stats)?)))
}

type Export = (ContentType, ByteStream<Lines>);

/// All that is stored of a pixel's consent
///
/// One JSON document per line: every policy version (`PolicyLine`), then every receipt
/// (`ReceiptLine`), oldest first; `from` and `to` choose among the receipts. A last line with `error` says that the export broke off.
/// As `dpv` it is one JSON-LD document: a consent record of ISO/IEC TS 27560 for each receipt, in the words
/// of the Data Privacy Vocabulary.
#[utoipa::path(
    tag = "Consent",
    params(
        ("pixel_id" = PixelId, Path),
        ("from" = Option<chrono::NaiveDate>, Query, description = "The first UTC day of the receipts."),
        ("to" = Option<chrono::NaiveDate>, Query, description = "The last UTC day of the receipts."),
        ("proofs" = Option<bool>, Query, description = "True for receipts with their proofs: some kilobytes each."),
        ("format" = inline(Option<ExportFormat>), Query, description = "Lines of JSON when left out."),
    ),
    responses((
        status = 200,
        description = "The lines, or the document",
        content(
            (String = "application/x-ndjson"),
            (HashMap<String, serde_json::Value> = "application/ld+json"),
        ),
    )),
)]
#[get("/v1/pixels/<pixel_id>/consent/export")]
async fn read_export(
    call: Call<'_, ExportConsent>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Export> {
    query.only(EXPORT_PARAMETERS)?;
    let [from, to, proofs] = ["from", "to", "proofs"].map(|name| text(&query, name));
    let format = match query.present("format") {
        None => ExportFormat::Ndjson,
        Some(name) => {
            ExportFormat::parse(name).ok_or_else(|| wrong("format", "must be ndjson or dpv"))?
        }
    };
    let lines = call.with(ExportRequest { pixel_id, from, to, proofs, format }).await?;
    let subtype = match format {
        ExportFormat::Ndjson => "x-ndjson",
        ExportFormat::Dpv => "ld+json",
    };
    Ok((ContentType::new("application", subtype), ByteStream(lines)))
}
