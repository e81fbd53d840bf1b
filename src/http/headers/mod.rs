pub mod cors;
pub mod negotiation;

use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{Header, HeaderMap, Method};
use rocket::request::{FromRequest, Outcome};
use rocket::{Data, Request, Response};

use self::negotiation::Negotiation;
use super::header_value::header_of;
use super::request_id::{Arrival, RequestId};
use crate::infra::limits::limit_status::LimitStatus;

/// Pages may only load what the service itself serves.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// The policy for JSON, scripts and pictures, which load nothing when they are opened directly.
const DATA_POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
/// Pages that anybody who knows the address can read.
const SECRET_PAGES: &str = "/shared/";
const FORM: &str = "x-www-form-urlencoded";
/// RFC 6797: browsers use only https for this host and its subdomains for two years.
const STAY_WITH_TLS: &str = "max-age=63072000; includeSubDomains";

pub fn page_policy_with_scripts_of(origin: &str) -> String {
    PAGE_POLICY.replace("script-src 'self'", &format!("script-src 'self' {origin}"))
}

pub fn page_policy_with_forms_to(source: &str) -> String {
    PAGE_POLICY.replace("form-action 'self'", &format!("form-action 'self' {source}"))
}

/// The headers that a route has set, found in one pass for speed (see [`header_of`]).
#[derive(Default)]
struct PresentHeaders {
    is_page: bool,
    is_script: bool,
    has_cache_control: bool,
    has_policy: bool,
    has_referrer_policy: bool,
}

impl PresentHeaders {
    fn in_headers(headers: &HeaderMap<'_>) -> Self {
        let mut present = Self::default();
        for header in headers.iter() {
            if header.name == "Content-Type" {
                // Only our own types occur, so comparing a part of the text is enough. Parsing would
                // take longer than all the rest.
                present.is_page = header.value.starts_with("text/html");
                present.is_script = header.value.contains("/javascript");
            }
            present.has_cache_control |= header.name == "Cache-Control";
            present.has_referrer_policy |= header.name == "Referrer-Policy";
            present.has_policy |= header.name == "Content-Security-Policy";
        }
        present
    }
}

pub struct CommonHeaders {
    has_tls: bool,
    negotiation: Negotiation,
}

impl CommonHeaders {
    pub fn new(has_tls: bool) -> Self {
        Self { has_tls, negotiation: Negotiation::default() }
    }
}

#[rocket::async_trait]
impl Fairing for CommonHeaders {
    fn info(&self) -> Info {
        Info { name: "Common headers", kind: Kind::Request | Kind::Response }
    }

    async fn on_request(&self, request: &mut Request<'_>, data: &mut Data<'_>) {
        keep_method(request, data).await;
        Arrival::of(request);
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        let present = PresentHeaders::in_headers(response.headers());
        let is_shared = cors::is_visitor_path(request.uri().path().as_str());
        // A cached script has no log lines that an id could refer to.
        let id =
            if present.is_script { RequestId::made(request) } else { Some(RequestId::of(request)) };
        if let Some(id) = id {
            response.set_header(Header::new("x-request-id", id.as_str()));
        }
        if let Some(left) = Arrival::of(request).limits.get().filter(|left| !left.is_empty()) {
            let (policy, limit) = LimitStatus::headers(left);
            response.set_header(Header::new("RateLimit-Policy", policy));
            response.set_header(Header::new("RateLimit", limit));
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
        let is_secret = request.uri().path().starts_with(SECRET_PAGES);
        if is_secret {
            response.set_header(Header::new("X-Robots-Tag", "noindex"));
        }
        if present.is_page || !is_shared {
            if !present.has_referrer_policy {
                let referred =
                    if is_secret { "no-referrer" } else { "strict-origin-when-cross-origin" };
                response.set_header(Header::new("Referrer-Policy", referred));
            }
            response.set_header(Header::new("X-Frame-Options", "SAMEORIGIN"));
            response.set_header(Header::new("Permissions-Policy", "interest-cohort=()"));
        }
        // Scripts set their own caching headers.
        if present.is_page {
            let opener = if leads_to_an_app(request) { "unsafe-none" } else { "same-origin" };
            response.set_header(Header::new("Cross-Origin-Opener-Policy", opener));
        } else if !present.is_script && !present.has_cache_control {
            response.set_header(Header::new("Cache-Control", "no-store"));
        }
        // A script is subject to the policy of the page that loads it.
        if !present.is_script && !present.has_policy {
            let policy = if present.is_page { PAGE_POLICY } else { DATA_POLICY };
            response.set_header(Header::new("Content-Security-Policy", policy));
        }
        // Visitors' scripts are prebuilt in all encodings, and must not be cached.
        if !(present.is_script && is_shared) {
            self.negotiation.apply(request, response).await;
        }
    }
}

/// Whether a page is a step of connecting an app. Apps open these pages in a window, and must keep
/// access to it in order to detect its return.
fn leads_to_an_app(request: &Request<'_>) -> bool {
    let query = request.uri().query().map_or("", |query| query.as_str());
    request.uri().path().as_str() == "/oauth/authorize"
        || query.contains("next=%2Foauth%2Fauthorize%3F")
}

/// The length of the longest prefix of a form in which Rocket looks for another method.
const METHOD_FIELD: usize = "_method=delete".len();

/// Prevents Rocket from replacing the method with the first field `_method` of a form. Any page can
/// make a browser post a form, which must remain a `POST`.
async fn keep_method(request: &mut Request<'_>, data: &mut Data<'_>) {
    if request.method() == Method::Post {
        return;
    }
    let kind = header_of(request.headers(), "Content-Type");
    let is_form = kind.is_some_and(|kind| kind.to_ascii_lowercase().contains(FORM));
    if is_form && data.peek(METHOD_FIELD).await.windows(7).any(|part| part == b"_method") {
        request.set_method(Method::Post);
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
