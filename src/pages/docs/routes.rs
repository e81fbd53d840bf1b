//! HTTP routes of the API's description.

use std::sync::Arc;

use rocket::http::{ContentType, Header};
use rocket::{Responder, State, get};
use rocket_dyn_templates::context;

use super::ApiDescription;
use crate::http::described::described_routes;
use crate::http::html::Page;
use crate::pages::layout::page;
use crate::platform::Platform;

described_routes![document, docs];

#[derive(Responder)]
struct Document {
    json: Arc<str>,
    kind: ContentType,
    cache: Header<'static>,
    sharing: Header<'static>,
}

/// This description, as OpenAPI 3.1
#[utoipa::path(
    tag = "Service",
    operation_id = "read_description",
    responses((status = 200, description = "The document", content_type = "application/json", body = Object)),
)]
#[get("/openapi.json")]
fn document(description: &State<ApiDescription>) -> Document {
    Document {
        json: Arc::clone(&description.get().json),
        kind: ContentType::JSON,
        cache: Header::new("Cache-Control", "public, max-age=300"),
        sharing: Header::new("Access-Control-Allow-Origin", "*"),
    }
}

/// This description, as a page
#[utoipa::path(
    tag = "Pages",
    operation_id = "docs_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/docs")]
fn docs(platform: &State<Platform>, description: &State<ApiDescription>) -> Page {
    let api = &description.get().page;
    Page::ok(page(platform, "pages/docs", "API", context! { api }))
}
