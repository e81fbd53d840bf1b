use rocket::response::{self, Redirect, Responder};
use rocket::{Request, Response};

use crate::http::html::{Page, Template};

/// A page, or a redirect. Neither sends a referrer to other sites.
pub struct Reply {
    kind: Kind,
    again_after: Option<u32>,
}

enum Kind {
    Page(Box<Page>),
    To(String),
}

impl Reply {
    pub fn page(status: u16, template: Template) -> Self {
        Self::of(Kind::Page(Box::new(Page::with_status(status, template))))
    }

    /// Redirects within the console with a `GET`.
    pub fn to(address: impl Into<String>) -> Self {
        Self::of(Kind::To(address.into()))
    }

    /// Makes the browser reload the page after some seconds, without a script.
    pub fn again_after(self, seconds: u32) -> Self {
        Self { again_after: Some(seconds), ..self }
    }

    fn of(kind: Kind) -> Self {
        Self { kind, again_after: None }
    }
}

impl<'r> Responder<'r, 'static> for Reply {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let response = match self.kind {
            Kind::Page(page) => page.respond_to(request)?,
            Kind::To(address) => Redirect::to(address).respond_to(request)?,
        };
        let mut response = Response::build_from(response);
        response.raw_header("Referrer-Policy", "same-origin");
        if let Some(seconds) = self.again_after {
            response.raw_header("Refresh", seconds.to_string());
        }
        response.ok()
    }
}
