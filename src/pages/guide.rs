//! The guide for people, programs and agents.

use rocket::http::ContentType;
use rocket::{State, get};
use rocket_dyn_templates::context;

use super::layout::page;
use crate::guide;
use crate::http::described::described_routes;
use crate::http::html::Page;
use crate::platform::Platform;

described_routes![guide_page, guide_markdown, llms_txt];

/// The guide
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/guide")]
fn guide_page(platform: &State<Platform>) -> Page {
    let guide = guide::html(platform.base_url());
    Page::ok(page(platform, "pages/guide", "Guide", context! { guide }))
}

/// The guide as Markdown
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The guide", content_type = "text/markdown", body = String)),
)]
#[get("/guide.md")]
fn guide_markdown(platform: &State<Platform>) -> (ContentType, String) {
    let kind = ContentType::new("text", "markdown").with_params(("charset", "utf-8"));
    (kind, guide::markdown(platform.base_url()))
}

/// What language models should read
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The text", content_type = "text/plain", body = String)),
)]
#[get("/llms.txt")]
fn llms_txt(platform: &State<Platform>) -> (ContentType, String) {
    (ContentType::Plain, guide::llms_txt(platform.base_url()))
}
