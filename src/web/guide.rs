use rocket::http::{ContentType, Header};
use rocket::{Responder, State, get};
use rocket_dyn_templates::context;

use super::layout::page;
use crate::app::App;
use crate::guide::{self, topics};
use crate::http::described::described_routes;
use crate::http::html::Page;

described_routes![
    guide_page,
    tag_page,
    webhooks_page,
    guide_markdown,
    llms_txt,
    llms_full_txt,
    skill,
];

/// The guide
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/guide")]
fn guide_page(app: &State<App>) -> Page {
    let (base_url, name) = (app.infra.base_url(), "pages/guide.html");
    let guide = guide::html(base_url);
    let page = page(app.infra.base_url(), name, "Guide", context! { guide });
    Page::for_everybody(page).with_source(guide::markdown(base_url))
}

/// The consent tag on a page
///
/// Attributes, gated scripts and frames, signals, migration from other tools, the JavaScript API.
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/guide/tag")]
fn tag_page(app: &State<App>) -> Page {
    let guide = guide::tag_html(app.infra.base_url());
    let name = "pages/guide_tag.html";
    let page = page(app.infra.base_url(), name, "The consent tag", context! { guide });
    Page::for_everybody(page).with_source(guide::tag_markdown(app.infra.base_url()))
}

/// How webhooks are received
///
/// Receivers to copy, and recipes for chats, automations and CRMs.
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/guide/webhooks")]
fn webhooks_page(app: &State<App>) -> Page {
    let base_url = app.infra.base_url();
    let guide = guide::webhooks_html(base_url);
    let name = "pages/guide_webhooks.html";
    let page = page(app.infra.base_url(), name, "Webhooks", context! { guide });
    Page::for_everybody(page).with_source(guide::webhooks_markdown(base_url))
}

#[derive(Responder)]
pub struct Text {
    text: String,
    kind: ContentType,
    cache: Header<'static>,
}

impl Text {
    pub fn new(kind: ContentType, text: String) -> Self {
        Self { text, kind, cache: Header::new("Cache-Control", "public, max-age=300") }
    }
}

/// The guide as Markdown
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The guide", content_type = "text/markdown", body = String)),
)]
#[get("/guide.md")]
fn guide_markdown(app: &State<App>) -> Text {
    let kind = ContentType::new("text", "markdown").with_params(("charset", "utf-8"));
    Text::new(kind, guide::markdown(app.infra.base_url()))
}

/// What language models should read
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The text", content_type = "text/plain", body = String)),
)]
#[get("/llms.txt")]
fn llms_txt(app: &State<App>) -> Text {
    Text::new(ContentType::Plain, guide::llms_txt(app.infra.base_url()))
}

/// The guide and all documents in one
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The text", content_type = "text/plain", body = String)),
)]
#[get("/llms-full.txt")]
fn llms_full_txt(app: &State<App>) -> Text {
    Text::new(ContentType::Plain, topics::everything(app.infra.base_url()))
}

/// A skill for coding agents
///
/// In the format of Agent Skills: save it as `skills/assent/SKILL.md`.
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The skill", content_type = "text/markdown", body = String)),
)]
#[get("/SKILL.md")]
fn skill(app: &State<App>) -> Text {
    let kind = ContentType::new("text", "markdown").with_params(("charset", "utf-8"));
    Text::new(kind, guide::skill(app.infra.base_url()))
}
