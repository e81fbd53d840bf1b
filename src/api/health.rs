//! The health check: the service reaches the database by the same paths as visitors' choices, and the
//! database accepts writes.

use rocket::{State, get};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::{Error, Result};
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::refusals::refusals;
use crate::infra::postgres::timeouts::PING_TIMEOUT;

described_routes![healthz];

/// The service and its database answer.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Health {
    /// Always true.
    pub ok: bool,
    /// `paused` while nothing is added to the public log; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<&'static str>,
}

refusals!(HealthzRefusals: [] DatabaseUnavailable);

/// Whether the service and its database answer
#[utoipa::path(
    tag = "Service",
    responses((status = 200, description = "Both answer", body = Health), HealthzRefusals),
)]
#[get("/healthz")]
async fn healthz(app: &State<App>) -> Result<Json<Health>> {
    let infra = &app.infra;
    let probing = async {
        tokio::join!(infra.database.takes_writes(&infra.clock), app.receipts.are_in_reach())
    };
    match timeout(PING_TIMEOUT, probing).await {
        Ok((true, true)) => {
            Ok(Json(Health { ok: true, log: app.log.is_paused().then_some("paused") }))
        }
        _ => Err(Error::DatabaseUnavailable),
    }
}
