//! HTTP routes with which a pixel's owner configures consent and reads what came of it.

use futures_util::stream::BoxStream;
use rocket::http::{ContentType, Status};
use rocket::response::stream::ByteStream;
use rocket::{State, delete, get, post};

use super::configuration::{self, Configured, ConsentRequest};
use super::export;
use super::log::{self, ConsentLog};
use super::stats::{self, DayRange, Stats};
use super::terms::ConsentState;
use crate::accounts::guards::ActiveAccount;
use crate::error::{Error, FieldError, Result};
use crate::http::body::Body;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::ids::PixelId;
use crate::platform::Platform;

described_routes![configure, turn_off, read_log, read_stats, read_export];

refusals!(ConfigureRefusals: [ActiveAccount, Body, Platform] InvalidRequest, ControllerNameRequired, PurposeRequired,
    ControllerTypeUnknown, SitePolicyUrlNotHttps, ContrastTooLow, PixelNotFound);

/// Publish a policy and turn the popup on
///
/// The same text keeps its version; another one gets the next, and visitors are asked again.
#[utoipa::path(
    tag = "Consent",
    operation_id = "configure_consent",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path)),
    request_body = ConsentRequest,
    responses((status = 200, description = "The policy in force", body = Configured), ConfigureRefusals),
)]
#[post("/v1/pixels/<pixel_id>/consent", data = "<body>")]
async fn configure(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
    body: Body,
) -> Result<Json<Configured>> {
    let settings = body.json::<ConsentRequest>()?.check()?;
    let revised = configuration::configure(platform, &caller.0, pixel_id, settings).await?;
    Ok(Json(revised.configured))
}

refusals!(ReadLogRefusals: [ActiveAccount, Platform] InvalidState, PixelNotFound);

/// The newest choices
#[utoipa::path(
    tag = "Consent",
    operation_id = "read_consent_log",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), ("state" = Option<ConsentState>, Query, description = "Choices of this kind only.")),
    responses((status = 200, description = "Newest first, at most 200", body = ConsentLog), ReadLogRefusals),
)]
#[get("/v1/pixels/<pixel_id>/consent")]
async fn read_log(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
    query: Query,
) -> Result<Json<ConsentLog>> {
    let state = match query.get("state") {
        None => None,
        Some(text) => Some(ConsentState::parse(text).ok_or(Error::InvalidState)?),
    };
    log::read_log(platform, &caller.0, pixel_id, state).await.map(Json)
}

refusals!(TurnOffRefusals: [ActiveAccount, Platform] PixelNotFound);

/// Turn the popup off
///
/// Policies and receipts stay: they prove what was asked and answered.
#[utoipa::path(
    tag = "Consent",
    operation_id = "turn_consent_off",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path)),
    responses((status = 204, description = "It is off"), TurnOffRefusals),
)]
#[delete("/v1/pixels/<pixel_id>/consent")]
async fn turn_off(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
) -> Result<Status> {
    configuration::turn_off(platform, &caller.0, pixel_id).await?;
    Ok(Status::NoContent)
}

refusals!(ReadStatsRefusals: [ActiveAccount, Platform] PixelNotFound,
    Validation(vec![FieldError::new(&["query", "from"], "must not be after to", "value_error")]));

/// Counts per day
///
/// Of how often the popup was shown, and what was answered. At most 400 days.
#[utoipa::path(
    tag = "Consent",
    operation_id = "read_consent_stats",
    security(("api_key" = []), ("x_api_key" = [])),
    params(
        ("pixel_id" = PixelId, Path),
        ("from" = Option<chrono::NaiveDate>, Query, description = "The first UTC day; without it there are 30."),
        ("to" = Option<chrono::NaiveDate>, Query, description = "The last UTC day; today when left out."),
    ),
    responses((status = 200, description = "Every day of the range, oldest first", body = Stats), ReadStatsRefusals),
)]
#[get("/v1/pixels/<pixel_id>/consent/stats")]
async fn read_stats(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
    query: Query,
) -> Result<Json<Stats>> {
    let today = platform.clock.now().date_naive();
    let range = DayRange::parse(query.present("from"), query.present("to"), today)?;
    stats::count(platform, &caller.0, pixel_id, range).await.map(Json)
}

/// Lines that are sent while they are made.
type NdJson = (ContentType, ByteStream<BoxStream<'static, Vec<u8>>>);

refusals!(ReadExportRefusals: [ActiveAccount, Platform] PixelNotFound);

/// All that is stored of a pixel's consent
///
/// One JSON document per line: every policy version (`PolicyLine`), then every receipt
/// (`ReceiptEnvelope`), oldest first. A last line with `error` says that the export broke off.
#[utoipa::path(
    tag = "Consent",
    operation_id = "export_consent",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path)),
    responses((status = 200, description = "The lines", content_type = "application/x-ndjson", body = String), ReadExportRefusals),
)]
#[get("/v1/pixels/<pixel_id>/consent/export")]
async fn read_export(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
) -> Result<NdJson> {
    let lines = export::export(platform, &caller.0, pixel_id).await?;
    Ok((ContentType::new("application", "x-ndjson"), ByteStream(Box::pin(lines))))
}
