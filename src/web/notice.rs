use rocket::http::ContentType;
use rocket::response::{self, Responder};
use rocket::{Request, Response, State, get};

use crate::app::App;
use crate::error::Result;
use crate::http::client::AcceptLanguage;
use crate::http::described::described_routes;
use crate::http::html::{Page, Template, WantsText};
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::infra::Infra;
use crate::policies::configuration::policy_url;
use crate::policies::notice::{self, Notice};
use crate::policies::published::{self, Published};
use crate::types::ids::PixelRef;
use crate::types::locales;

described_routes![policy, api_policy];

/// The notice in the reader's language: a page, or the text whose hash is in receipts.
enum NoticeAnswer {
    Page(Box<Page>),
    Text(String),
}

impl<'r> Responder<'r, 'static> for NoticeAnswer {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let answer = match self {
            Self::Page(page) => page.respond_to(request),
            Self::Text(text) => (ContentType::Plain, text).respond_to(request),
        };
        Response::build_from(answer?)
            .raw_header("Cache-Control", "no-store")
            .raw_header("Vary", "Accept-Language")
            .raw_header_adjoin("Vary", "Accept")
            .ok()
    }
}

refusals!(PolicyRefusals: [Infra] PolicyNotFound);

/// A pixel's privacy notice
#[utoipa::path(
    tag = "Visitors",
    operation_id = "read_policy",
    security(()),
    params(
        ("pixel" = PixelRef, Path, description = "Canonical id, alias or test id."),
        ("lang" = Option<String>, Query, description = "The reader's language, before `Accept-Language`."),
        ("hash" = Option<String>, Query, description = "The version that a receipt names; without it the current one."),
    ),
    responses((status = 200, description = "The notice; as plain text when `Accept` names `text/plain` and wants `text/html` less", content((String = "text/html"), (String = "text/plain"))), PolicyRefusals),
)]
#[get("/v1/policy/<pixel>")]
async fn policy(
    app: &State<App>,
    pixel: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
    wants_text: WantsText,
) -> Result<NoticeAnswer> {
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let found = published::find(&app.infra.pool, &app.sites, pixel, query.get("hash")).await?;
    let Published { pixel_id, policy, is_current } = &found;
    // Adds the hash of the notice to the public log, which contains every notice that was shown.
    app.receipts.notices.find(pixel_id, policy, locale).await;
    if wants_text.0 {
        return Ok(NoticeAnswer::Text(notice::plain_text(policy, locale)));
    }
    let url = policy_url(app.infra.base_url(), pixel_id);
    let notice = Notice { pixel_id, policy, is_current: *is_current, locale, url: &url };
    let page = Page::ok(Template::render("pages/policy.html", notice.context()));
    Ok(NoticeAnswer::Page(Box::new(page.public())))
}

/// A pixel's privacy notice, at its second address
#[utoipa::path(
    tag = "Visitors",
    operation_id = "api_read_policy",
    security(()),
    params(
        ("pixel" = PixelRef, Path, description = "Canonical id, alias or test id."),
        ("lang" = Option<String>, Query, description = "The reader's language, before `Accept-Language`."),
        ("hash" = Option<String>, Query, description = "The version that a receipt names; without it the current one."),
    ),
    responses((status = 200, description = "The notice; as plain text when `Accept` names `text/plain` and wants `text/html` less", content((String = "text/html"), (String = "text/plain"))), PolicyRefusals),
)]
#[get("/api/v1/policy/<pixel>")]
async fn api_policy(
    app: &State<App>,
    pixel: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
    wants_text: WantsText,
) -> Result<NoticeAnswer> {
    policy(app, pixel, query, accepted, wants_text).await
}
