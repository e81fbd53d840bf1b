pub mod bots;
pub mod client_address;

use std::borrow::Cow;

use rocket::Request;
use rocket::http::HeaderMap;
use rocket::request::{FromRequest, Outcome};

use super::header_value::{header_of, list_of};

pub struct AcceptLanguage<'r>(pub Option<Cow<'r, str>>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for AcceptLanguage<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self(list_of(request.headers(), "Accept-Language")))
    }
}

/// Whether a browser sends `Sec-GPC: 1`, the Global Privacy Control signal.
pub fn sec_gpc(headers: &HeaderMap<'_>) -> bool {
    header_of(headers, "Sec-GPC").is_some_and(|value| value.trim() == "1")
}

/// The host of the request in lowercase, without its port and without a trailing dot.
pub struct RequestHost(pub Option<String>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for RequestHost {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let host = request.host().map(|host| host.domain().as_str().to_ascii_lowercase());
        Outcome::Success(Self(host.map(|host| host.trim_end_matches('.').to_owned())))
    }
}
