//! HTTP routes with which a pixel's owner configures consent and reads what came of it.

use futures_util::stream::BoxStream;
use rocket::http::{ContentType, Status};
use rocket::response::stream::ByteStream;
use rocket::{Route, State, delete, get, post, routes};

use super::configuration::{self, Configured, ConsentRequest};
use super::export;
use super::log::{self, ConsentLog};
use super::stats::{self, DayRange, Stats};
use super::terms::ConsentState;
use crate::accounts::guards::ActiveAccount;
use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![configure, turn_off, read_log, read_stats, read_export]
}

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

#[delete("/v1/pixels/<pixel_id>/consent")]
async fn turn_off(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
) -> Result<Status> {
    configuration::turn_off(platform, &caller.0, pixel_id).await?;
    Ok(Status::NoContent)
}

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

#[get("/v1/pixels/<pixel_id>/consent/export")]
async fn read_export(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
) -> Result<NdJson> {
    let lines = export::export(platform, &caller.0, pixel_id).await?;
    Ok((ContentType::new("application", "x-ndjson"), ByteStream(Box::pin(lines))))
}
