//! Whether the reader is a person with a browser, and the pages for them.

use rocket::http::{Accept, Status};
use rocket::request::{FromRequest, Outcome};
use rocket::response::{self, Responder};
use rocket::{Request, Response};
use rocket_dyn_templates::{Template, context};

use crate::error::Error;

/// Whether `Accept` asks for `text/html` by name.
#[derive(Clone, Copy)]
pub struct WantsHtml(pub bool);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for WantsHtml {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let names_html = |accept: &Accept| accept.iter().any(|media| media.is_html());
        Outcome::Success(Self(request.accept().is_some_and(names_html)))
    }
}

/// A page with a status.
pub struct Page {
    status: Status,
    template: Template,
}

impl Page {
    pub fn ok(template: Template) -> Self {
        Self { status: Status::Ok, template }
    }

    pub fn with_status(status: u16, template: Template) -> Self {
        Self { status: Status::new(status), template }
    }

    /// A page of one heading and a few sentences. `tone` is `ok` or `problem`.
    pub fn message(status: u16, tone: &str, heading: &str, paragraphs: &[&str]) -> Self {
        let context = context! { base_url: "", page_title: heading, heading, paragraphs, tone, lang: "en", dir: "ltr" };
        Self::with_status(status, Template::render("pages/message", context))
    }

    /// The page of an error, with the sentence that the problem document would have.
    pub fn of_error(error: &Error) -> Self {
        let heading = Status::new(error.status()).reason_lossy();
        Self::message(error.status(), "problem", heading, &[&error.to_string()])
    }
}

impl<'r> Responder<'r, 'static> for Page {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let page = self.template.respond_to(request)?;
        Response::build_from(page).status(self.status).raw_header("Cache-Control", "no-store").ok()
    }
}
