//! What a browser says of itself.

use rocket::Request;
use rocket::request::{FromRequest, Outcome};

/// The `Accept-Language` header.
pub struct AcceptLanguage<'r>(pub Option<&'r str>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for AcceptLanguage<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self(request.headers().get_one("Accept-Language")))
    }
}

/// `Sec-GPC: 1`, the Global Privacy Control signal.
pub struct SecGpc(pub bool);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for SecGpc {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let header = request.headers().get_one("Sec-GPC").map(str::trim);
        Outcome::Success(Self(header == Some("1")))
    }
}
