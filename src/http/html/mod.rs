pub mod markdown;
mod notices;
pub mod reader;
mod template;

use rocket::http::{Method, Status};
use rocket::request::{FromRequest, Outcome};
use rocket::response::content::RawHtml;
use rocket::response::{self, Responder};
use rocket::{Request, Response};
use rocket_dyn_templates::context;

use self::markdown::negotiated;
pub use self::notices::{ACCOUNT, Step};
use self::notices::{Words, words_at};
pub use self::reader::Reader;
pub use self::template::Template;
use super::header_value::list_of;
use super::request_id::Arrival;
use crate::error::Error;
use crate::infra::templates::Message;
use crate::types::weighted::{Closeness, fit_of_media_type};

const HTML: &str = "text/html";
const TEXT: &str = "text/plain";
pub const PROBLEM_JSON: &str = "application/problem+json";
const LANGUAGE: &str = "Content-Language";
/// The request headers that determine the language of a page.
const OF_READER: &str = "Accept-Language, Cookie";

/// Whether `Accept` prefers HTML: it names HTML or `text/*`, and does not prefer JSON.
#[derive(Clone, Copy)]
pub struct WantsHtml(pub bool);

impl WantsHtml {
    fn of(request: &Request<'_>) -> Self {
        Self(list_of(request.headers(), "Accept").is_some_and(|accept| wants_html(&accept)))
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for WantsHtml {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self::of(request))
    }
}

fn wants_html(accept: &str) -> bool {
    let fit = |media_type| fit_of_media_type(accept, media_type);
    let (html, json) = (fit(HTML), fit(PROBLEM_JSON).max(fit("application/json")));
    html.weight > 0 && html.closeness > Closeness::Any && html >= json
}

/// Whether `Accept` names `text/plain` and prefers it to HTML.
#[derive(Clone, Copy)]
pub struct WantsText(pub bool);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for WantsText {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let accept = list_of(request.headers(), "Accept");
        Outcome::Success(Self(accept.is_some_and(|accept| wants_text(&accept))))
    }
}

fn wants_text(accept: &str) -> bool {
    let (text, html) = (fit_of_media_type(accept, TEXT), fit_of_media_type(accept, HTML));
    text.weight > 0 && text.closeness == Closeness::Name && text > html
}

/// Whether a person may have opened a link or sent a form, so that the response depends on `Accept`.
fn may_be_page(request: &Request<'_>) -> bool {
    let is_form = || request.content_type().is_some_and(|kind| kind.is_form());
    matches!(Arrival::of(request).method, Method::Get | Method::Head) || is_form()
}

pub struct Page {
    status: Status,
    template: Template,
    kept: &'static str,
    is_public: bool,
    source: Option<String>,
}

impl Page {
    pub fn ok(template: Template) -> Self {
        Self::with_status(200, template)
    }

    pub fn with_status(status: u16, template: Template) -> Self {
        let status = Status::new(status);
        Self { status, template, kept: "no-store", is_public: false, source: None }
    }

    /// A page that is the same for everybody: cacheable, with an entity tag.
    pub fn for_everybody(template: Template) -> Self {
        Self { kept: "no-cache", ..Self::ok(template).public() }
    }

    /// Makes the page available as Markdown too.
    pub fn public(self) -> Self {
        Self { is_public: true, ..self }
    }

    /// Sets the Markdown from which the page was made.
    pub fn with_source(self, source: String) -> Self {
        Self { source: Some(source), ..self }
    }

    /// A page of one heading and a few sentences. `tone` is `ok`, `problem`, or `calm`.
    pub fn message(status: u16, tone: &str, heading: Message, paragraphs: &[Message]) -> Self {
        let context =
            context! { base_url: "", page_title: &heading, heading: &heading, paragraphs, tone };
        Self::with_status(status, Template::render("pages/message.html", context))
    }

    pub fn message_with_step(
        status: u16,
        tone: &str,
        heading: Message,
        paragraphs: &[Message],
        step: Step,
    ) -> Self {
        let context = context! {
            base_url: "", page_title: &heading, heading: &heading, paragraphs, tone,
            step_href: step.href, step_label: step.label,
        };
        Self::with_status(status, Template::render("pages/message.html", context))
    }

    /// The page of an error: an explanation, a next step, and the sentence of the problem document.
    fn of_error(path: &str, error: &Error) -> Self {
        let Words { heading, explanation, step } = words_at(path, error);
        let title = Status::new(error.status()).reason_lossy();
        let said = match error {
            Error::Validation(problems) => {
                problems.iter().map(|problem| problem.msg.as_str()).collect::<Vec<_>>().join("; ")
            }
            other => other.to_string(),
        };
        let context = context! {
            base_url: "", page_title: &heading, heading: &heading, paragraphs: [explanation], tone: "problem",
            step_href: step.href, step_label: step.label, status: error.status(), title, said,
        };
        Self::with_status(error.status(), Template::render("pages/message.html", context))
    }
}

impl<'r> Responder<'r, 'static> for Page {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let Self { status, template, kept, is_public, source } = self;
        let shown = template.html(request, is_public).ok_or(Status::InternalServerError)?;
        let mut page = Response::build_from(RawHtml(shown.html).respond_to(request)?);
        page.status(status).raw_header("Cache-Control", kept);
        if let Some(language) = shown.language {
            page.raw_header(LANGUAGE, language.tag).raw_header_adjoin("Vary", OF_READER);
        }
        let page = page.finalize();
        Ok(if is_public { negotiated(request, page, source) } else { page })
    }
}

pub fn for_people(
    request: &Request<'_>,
    error: &Error,
    mut refusal: Response<'static>,
) -> Response<'static> {
    if !may_be_page(request) {
        return refusal;
    }
    refusal.adjoin_raw_header("Vary", "Accept");
    if !WantsHtml::of(request).0 {
        return refusal;
    }
    let Ok(mut page) = Page::of_error(request.uri().path().as_str(), error).respond_to(request)
    else {
        return refusal;
    };
    refusal.set_raw_header("Content-Type", "text/html; charset=utf-8");
    if let Some(language) = page.headers().get_one(LANGUAGE).map(str::to_owned) {
        refusal.set_raw_header(LANGUAGE, language);
        refusal.adjoin_raw_header("Vary", OF_READER);
    }
    *refusal.body_mut() = page.body_mut().take();
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_sent_if_html_is_accepted_as_much_as_json() {
        for accept in [
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "text/html",
            "Text/HTML;q=0.5",
            "text/*",
            "application/json, text/html",
            "application/json;q=0.9, text/html;q=0.9",
            "text/html;charset=utf-8, */*",
        ] {
            assert!(wants_html(accept), "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "application/json",
            "text/html;q=0",
            "text/html;q=0.0, */*",
            "text/html;q=0.5, application/json",
            "text/html;q=0.5, */*",
            "text/*;q=0.3, application/problem+json;q=0.4",
            "text/plain, */*",
            "text/html;q=high",
            "image/png",
        ] {
            assert!(!wants_html(accept), "{accept}");
        }
    }

    #[test]
    fn plain_text_is_sent_if_it_is_named_and_preferred_to_html() {
        for accept in [
            "text/plain",
            "text/plain, */*",
            "text/plain;q=0.9, text/html;q=0.1",
            "text/plain, text/html;q=0",
        ] {
            assert!(wants_text(accept), "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/*",
            "text/plain;q=0",
            "text/html, text/plain",
            "text/plain;q=0.1, */*",
        ] {
            assert!(!wants_text(accept), "{accept}");
        }
    }
}
