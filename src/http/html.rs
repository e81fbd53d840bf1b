//! Whether the reader is a person with a browser, and the pages for them.

use rocket::http::{Accept, Method, Status};
use rocket::request::{FromRequest, Outcome};
use rocket::response::{self, Responder};
use rocket::{Request, Response};
use rocket_dyn_templates::{Template, context};

use super::notices::{Words, words_for};
use super::request_id::Arrival;
use crate::error::Error;

/// Whether `Accept` asks for `text/html` by name.
#[derive(Clone, Copy)]
pub struct WantsHtml(pub bool);

impl WantsHtml {
    fn of(request: &Request<'_>) -> Self {
        let names_html = |accept: &Accept| accept.iter().any(|media| media.is_html());
        Self(request.accept().is_some_and(names_html))
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for WantsHtml {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self::of(request))
    }
}

/// Whether `Accept` asks for `text/plain` by name, and not for a page.
#[derive(Clone, Copy)]
pub struct WantsText(pub bool);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for WantsText {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let names_text = |accept: &Accept| accept.iter().any(|media| media.is_plain());
        let is_text = request.accept().is_some_and(names_text);
        Outcome::Success(Self(is_text && !WantsHtml::of(request).0))
    }
}

/// Whether a person opened a link or sent a form, and waits for a page.
fn is_person(request: &Request<'_>) -> bool {
    let is_form = || request.content_type().is_some_and(|kind| kind.is_form());
    let opens = matches!(Arrival::of(request).method, Method::Get | Method::Head) || is_form();
    opens && WantsHtml::of(request).0
}

/// A page with a status.
pub struct Page {
    status: Status,
    template: Template,
    kept: &'static str,
}

impl Page {
    pub fn ok(template: Template) -> Self {
        Self::with_status(200, template)
    }

    pub fn with_status(status: u16, template: Template) -> Self {
        Self { status: Status::new(status), template, kept: "no-store" }
    }

    /// A page that is the same for everybody: it may be kept, and is asked for again by its tag.
    pub fn for_everybody(template: Template) -> Self {
        Self { kept: "no-cache", ..Self::ok(template) }
    }

    /// A page of one heading and a few sentences. `tone` is `ok`, `problem`, or `calm` for what is
    /// neither.
    pub fn message(status: u16, tone: &str, heading: &str, paragraphs: &[&str]) -> Self {
        let context = context! { base_url: "", page_title: heading, heading, paragraphs, tone };
        Self::with_status(status, Template::render("pages/message.html", context))
    }

    /// The page of an error: in words for people, with a step to take, and below it the sentence
    /// that the problem document would have.
    pub fn of_error(error: &Error) -> Self {
        let Words { heading, explanation, step } = words_for(error);
        let title = Status::new(error.status()).reason_lossy();
        let said = match error {
            Error::Validation(problems) => {
                problems.iter().map(|problem| problem.msg.as_str()).collect::<Vec<_>>().join("; ")
            }
            other => other.to_string(),
        };
        let context = context! {
            base_url: "", page_title: heading, heading, paragraphs: [explanation], tone: "problem",
            step_href: step.href, step_label: step.label, status: error.status(), title, said,
        };
        Self::with_status(error.status(), Template::render("pages/message.html", context))
    }
}

impl<'r> Responder<'r, 'static> for Page {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let page = self.template.respond_to(request)?;
        Response::build_from(page).status(self.status).raw_header("Cache-Control", self.kept).ok()
    }
}

/// A refusal as a page, when a person waits for it; programs get it as it is.
pub fn for_people(
    request: &Request<'_>,
    error: &Error,
    mut refusal: Response<'static>,
) -> Response<'static> {
    if !is_person(request) {
        return refusal;
    }
    let Ok(mut page) = Page::of_error(error).respond_to(request) else { return refusal };
    refusal.set_raw_header("Content-Type", "text/html; charset=utf-8");
    refusal.adjoin_raw_header("Vary", "Accept");
    *refusal.body_mut() = page.body_mut().take();
    refusal
}
