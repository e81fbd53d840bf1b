use chrono::Duration;
use rocket::http::ContentType;
use rocket::{State, get};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::clock::rfc3339;
use crate::http::described::described_routes;
use crate::http::json::Json;

/// RFC 9116 requires an expiry within a year, so that outdated addresses are not trusted.
const CONTACT_LIFE: Duration = Duration::days(180);
/// The day on which the support of Global Privacy Control was last reviewed.
const GPC_REVIEWED: &str = "2026-11-21";

described_routes![security_txt, gpc, robots];

/// Where to report a vulnerability (RFC 9116)
#[utoipa::path(
    tag = "Service",
    responses((status = 200, description = "The text", content_type = "text/plain", body = String)),
)]
#[get("/.well-known/security.txt")]
fn security_txt(app: &State<App>) -> (ContentType, String) {
    let base_url = app.infra.base_url();
    let expires = rfc3339(app.infra.clock.now() + CONTACT_LIFE);
    let contact = app.infra.base_host();
    let text = format!(
        "Contact: mailto:security@{contact}\nExpires: {expires}\nPreferred-Languages: en\n\
         Canonical: {base_url}/.well-known/security.txt\n"
    );
    (ContentType::Plain, text)
}

/// How the service treats the Global Privacy Control signal (the GPC specification, "GPC Support
/// Resource").
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct GpcSupport {
    /// Whether the signal is obeyed.
    gpc: bool,
    /// The day of the last review, `YYYY-MM-DD`.
    #[serde(rename = "lastUpdate")]
    last_update: &'static str,
}

/// How Global Privacy Control is treated
#[utoipa::path(
    tag = "Service",
    operation_id = "gpc_support",
    responses((status = 200, description = "The support resource", body = GpcSupport)),
)]
#[get("/.well-known/gpc.json")]
fn gpc() -> Json<GpcSupport> {
    Json(GpcSupport { gpc: true, last_update: GPC_REVIEWED })
}

/// What crawlers may read
#[utoipa::path(
    tag = "Service",
    responses((status = 200, description = "The text", content_type = "text/plain", body = String)),
)]
#[get("/robots.txt")]
fn robots(app: &State<App>) -> (ContentType, String) {
    let text = format!(
        "User-agent: *\nDisallow: /v1/\nDisallow: /api/\nDisallow: /external_api/\n\
         Disallow: /mcp\nDisallow: /demo/\nAllow: /v1/policy/\n\nSitemap: {}/sitemap.xml\n",
        app.infra.base_url()
    );
    (ContentType::Plain, text)
}
