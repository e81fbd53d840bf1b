//! Headers that every answer carries.

use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{Header, Method};
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
        response.set_header(Header::new("x-request-id", RequestId::of(request).as_str()));
        response.set_header(Header::new("X-Content-Type-Options", "nosniff"));
        // Every answer's type is our own, so a part of its text tells enough; to parse it takes
        // longer than all else here.
        let kind = response.headers().get_one("Content-Type").unwrap_or_default();
        let is_page = kind.starts_with("text/html");
        let is_script = kind.contains("/javascript");
        let is_shared = cors::is_visitor_path(request.uri().path().as_str());
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
        } else if !is_script && !response.headers().contains("Cache-Control") {
            response.set_header(Header::new("Cache-Control", "no-store"));
        }
        // A script obeys the policy of its page.
        if !is_script && !response.headers().contains("Content-Security-Policy") {
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
