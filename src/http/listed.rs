//! Lists: every response with a list names the next page, in the member `next` and in the header `Link`.

use futures_util::stream::BoxStream;
use rocket::Request;
use rocket::http::ContentType;
use rocket::request::{FromRequest, Outcome};
use rocket::response::stream::ByteStream;
use rocket::response::{self, Responder};
use serde::Serialize;

use super::json::Json;
use crate::app::App;
use crate::types::page_address::PageAddress;

pub trait List: Serialize {
    /// The query parameter that names the next page, and its value; `None` on the last page.
    fn next(&self) -> Option<(&'static str, String)>;
}

pub struct Listed<T>(pub T);

#[derive(Serialize)]
struct WithNext<'a, T> {
    #[serde(flatten)]
    list: &'a T,
    next: Option<&'a str>,
}

impl<'r, T: List> Responder<'r, 'static> for Listed<T> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let next = self.0.next();
        let next = next.map(|(parameter, value)| address_of(request).of_page(parameter, &value));
        let document = WithNext { list: &self.0, next: next.as_deref() };
        let mut response = Json(document).respond_to(request)?;
        if let Some(next) = next {
            response.set_raw_header("Link", link_to(&next));
        }
        Ok(response)
    }
}

/// A list that is streamed while it is generated.
pub struct ListedText {
    pub pieces: BoxStream<'static, Vec<u8>>,
    pub next: Option<String>,
}

impl<'r> Responder<'r, 'r> for ListedText {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'r> {
        let text = (ContentType::JSON, ByteStream(self.pieces));
        let mut response = text.respond_to(request)?;
        if let Some(next) = self.next {
            response.set_raw_header("Link", link_to(&next));
        }
        Ok(response)
    }
}

pub fn link_to(next: &str) -> String {
    format!("<{next}>; rel=\"next\"")
}

fn address_of(request: &Request<'_>) -> PageAddress {
    let app = request.rocket().state::<App>();
    let base_url = app.map_or("", |app| app.infra.base_url());
    let uri = request.uri();
    let query = uri.query().map_or("", |query| query.as_str());
    PageAddress::new(format!("{base_url}{}", uri.path()), query)
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for PageAddress {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(address_of(request))
    }
}
