//! Headers that every answer carries.

use std::borrow::Cow;

use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{Header, HeaderMap, Method};
use rocket::request::{FromRequest, Outcome};
use rocket::{Data, Request, Response};

use super::cors;
use super::request_id::{Arrival, RequestId};

/// Pages may only load what the service itself serves.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// What is no page loads nothing, wherever a browser shows it.
const DATA_POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
/// RFC 6797: for two years browsers reach this host and what lies below it by https only.
const STAY_WITH_TLS: &str = "max-age=63072000; includeSubDomains";

/// The policy of a page that also loads scripts from another origin.
pub fn page_policy_with_scripts_of(origin: &str) -> String {
    PAGE_POLICY.replace("script-src 'self'", &format!("script-src 'self' {origin}"))
}

/// The first value of a header. Rocket's own lookup hashes the name letter by letter, which takes
/// far longer than to look through the few headers that there are.
pub fn header_of<'a>(headers: &'a HeaderMap<'_>, name: &str) -> Option<Cow<'a, str>> {
    headers.iter().find(|header| header.name == name).map(|header| header.value)
}

/// Sets the request id and the security headers, and notes how a request came.
pub struct CommonHeaders {
    /// Whether the public address is one with TLS, which a proxy before the service ends.
    pub has_tls: bool,
}

#[rocket::async_trait]
impl Fairing for CommonHeaders {
    fn info(&self) -> Info {
        Info { name: "Common headers", kind: Kind::Request | Kind::Response }
    }

    async fn on_request(&self, request: &mut Request<'_>, _: &mut Data<'_>) {
        Arrival::of(request);
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        // Every answer's type is our own, so a part of its text tells enough; to parse it takes
        // longer than all else here.
        let kind = header_of(response.headers(), "Content-Type").unwrap_or_default();
        let is_page = kind.starts_with("text/html");
        let is_script = kind.contains("/javascript");
        let says_how_kept = header_of(response.headers(), "Cache-Control").is_some();
        let has_policy = header_of(response.headers(), "Content-Security-Policy").is_some();
        let is_shared = cors::is_visitor_path(request.uri().path().as_str());
        // A script from memory has caused no line of the log that an id could lead to.
        let id = if is_script { RequestId::made(request) } else { Some(RequestId::of(request)) };
        if let Some(id) = id {
            response.set_header(Header::new("x-request-id", id.as_str()));
        }
        response.set_header(Header::new("X-Content-Type-Options", "nosniff"));
        if is_shared {
            cors::share(response);
        } else {
            response.set_header(Header::new("Cross-Origin-Resource-Policy", "same-origin"));
        }
        if self.has_tls {
            response.set_header(Header::new("Strict-Transport-Security", STAY_WITH_TLS));
        }
        // What scripts and the answers to them have no use for.
        if is_page || !is_shared {
            response.set_header(Header::new("Referrer-Policy", "strict-origin-when-cross-origin"));
            response.set_header(Header::new("X-Frame-Options", "SAMEORIGIN"));
            response.set_header(Header::new("Permissions-Policy", "interest-cohort=()"));
        }
        // Scripts say themselves how they may be kept.
        if is_page {
            response.set_header(Header::new("Cross-Origin-Opener-Policy", "same-origin"));
        } else if !is_script && !says_how_kept {
            response.set_header(Header::new("Cache-Control", "no-store"));
        }
        // A script obeys the policy of its page.
        if !is_script && !has_policy {
            let policy = if is_page { PAGE_POLICY } else { DATA_POLICY };
            response.set_header(Header::new("Content-Security-Policy", policy));
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
