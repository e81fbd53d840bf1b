//! The guide for people, programs and agents.

use rocket::http::ContentType;
use rocket::{Route, State, get, routes};
use rocket_dyn_templates::context;

use super::layout::page;
use crate::guide;
use crate::http::html::Page;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![guide_page, guide_markdown, llms_txt]
}

#[get("/guide")]
fn guide_page(platform: &State<Platform>) -> Page {
    let guide = guide::html(platform.base_url());
    Page::ok(page(platform, "pages/guide", "Guide", context! { guide }))
}

#[get("/guide.md")]
fn guide_markdown(platform: &State<Platform>) -> (ContentType, String) {
    let kind = ContentType::new("text", "markdown").with_params(("charset", "utf-8"));
    (kind, guide::markdown(platform.base_url()))
}

#[get("/llms.txt")]
fn llms_txt(platform: &State<Platform>) -> (ContentType, String) {
    (ContentType::Plain, guide::llms_txt(platform.base_url()))
}
