use rocket::Request;
use rocket::response::{self, Responder};
use serde_json::json;

use super::reply::Reply;
use super::words;
use crate::error::Error;
use crate::http::html::Template;
use crate::http::problem;
use crate::http::request_id::RequestId;
use crate::infra::templates::{Message, tr};

pub struct Refusal(Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl<'r> Responder<'r, 'static> for Refusal {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let Self(error) = self;
        problem::log(&error);
        let heading = heading_of(&error);
        let content = json!({
            "base_url": "",
            "page_title": heading,
            "heading": heading,
            "sentence": words::sentence(&error),
            "request_id": (error.status() >= 500).then(|| RequestId::of(request).as_str()),
        });
        let page = Template::render("console/refusal.html", content);
        Reply::page(error.status(), page).respond_to(request)
    }
}

fn heading_of(error: &Error) -> Message {
    match (error, error.status()) {
        (Error::NotInGoodStanding | Error::AccountNotActive, _) => tr("This account is on hold"),
        (Error::PaymentProvider { .. }, _) => tr("The payment provider did not answer as expected"),
        (_, 404) => tr("Page not found"),
        (_, 429) => tr("One moment, please"),
        (_, 500..) => tr("Something went wrong on our side"),
        _ => tr("Permission denied"),
    }
}
