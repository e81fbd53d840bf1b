//! HTTP routes with which a pixel's owner configures consent and reads its log.

use rocket::{Route, State, get, post, routes};

use super::configuration::{self, Configured, ConsentRequest};
use super::log::{self, ConsentLog};
use super::terms::ConsentState;
use crate::accounts::guards::ActiveAccount;
use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![configure, read_log]
}

#[post("/v1/pixels/<pixel_id>/consent", data = "<body>")]
async fn configure(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
    body: Body,
) -> Result<Json<Configured>> {
    let settings = body.json::<ConsentRequest>()?.check()?;
    configuration::configure(platform, &caller.0, pixel_id, settings).await.map(Json)
}

#[get("/v1/pixels/<pixel_id>/consent")]
async fn read_log(
    platform: &State<Platform>,
    caller: ActiveAccount,
    pixel_id: &str,
    query: Query,
) -> Result<Json<ConsentLog>> {
    let state = match query.present("state") {
        None => None,
        Some(text) => Some(ConsentState::parse(text).ok_or(Error::InvalidState)?),
    };
    log::read_log(platform, &caller.0, pixel_id, state).await.map(Json)
}
