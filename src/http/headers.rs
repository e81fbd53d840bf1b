//! Headers that every answer carries.

use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{ContentType, Header, Method};
use rocket::request::{FromRequest, Outcome};
use rocket::{Data, Request, Response};

use super::request_id::{Arrival, RequestId};

/// Pages may only load what the service itself serves.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// The policy of a page that also loads scripts from another origin.
pub fn page_policy_with_scripts_of(origin: &str) -> String {
    PAGE_POLICY.replace("script-src 'self'", &format!("script-src 'self' {origin}"))
}

/// Sets the request id and the security headers, and notes how a request came.
pub struct CommonHeaders;

#[rocket::async_trait]
impl Fairing for CommonHeaders {
    fn info(&self) -> Info {
        Info { name: "Common headers", kind: Kind::Request | Kind::Response }
    }

    async fn on_request(&self, request: &mut Request<'_>, _: &mut Data<'_>) {
        Arrival::of(request);
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        response
            .set_header(Header::new("x-request-id", RequestId::of(request).as_str().to_owned()));
        response.set_header(Header::new("Referrer-Policy", "strict-origin-when-cross-origin"));
        if !response.headers().contains("Cross-Origin-Resource-Policy") {
            response.set_header(Header::new("Cross-Origin-Resource-Policy", "same-origin"));
        }
        if response.content_type().is_some_and(|kind| kind == ContentType::HTML) {
            response.set_header(Header::new("Cross-Origin-Opener-Policy", "same-origin"));
            if !response.headers().contains("Content-Security-Policy") {
                response.set_header(Header::new("Content-Security-Policy", PAGE_POLICY));
            }
        } else if !response.headers().contains("Cache-Control") {
            response.set_header(Header::new("Cache-Control", "no-store"));
        }
    }
}

/// Whether the request was sent as `HEAD`, which must never have an effect.
pub struct IsHead(pub bool);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for IsHead {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self(Arrival::of(request).method == Method::Head))
    }
}
