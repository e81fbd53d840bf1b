//! One id per request: in its answer, and in every log line that it causes. And what the request was
//! like when it came.

use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use rocket::Request;
use rocket::http::Method;
use tracing::Span;

use crate::types::ids::unique_text;

/// The id of a request, 20 random letters and digits.
#[derive(Clone, Debug)]
pub struct RequestId(String);

impl RequestId {
    /// The request's id, made when somebody first asks for it.
    pub fn of<'r>(request: &'r Request<'_>) -> &'r Self {
        Arrival::of(request).id.get_or_init(Self::random)
    }

    /// The request's id, if somebody has asked for it.
    pub fn made<'r>(request: &'r Request<'_>) -> Option<&'r Self> {
        Arrival::of(request).id.get()
    }

    pub fn random() -> Self {
        Self(unique_text(20))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The span of a request. It names the route's pattern, never the path: paths and queries carry
/// what must not be logged.
pub fn span_of(request: &Request<'_>) -> Span {
    let route = request.route().map_or("", |route| route.uri.as_str());
    let method = request.method().as_str();
    let request_id = RequestId::of(request);
    tracing::info_span!("http.request", %request_id, %method, %route)
}

/// A request as it came.
pub struct Arrival {
    id: OnceLock<RequestId>,
    /// As sent: Rocket turns `HEAD` into `GET` before a route sees it.
    pub method: Method,
    pub at: Instant,
    /// Whether a proxy and the service may have read two different sites out of it (RFC 9112,
    /// section 3.2): every route refuses it.
    pub names_two_hosts: bool,
}

impl Arrival {
    /// Noted when first asked for, which the first fairing does.
    pub fn of<'r>(request: &'r Request<'_>) -> &'r Self {
        request.local_cache(|| Self {
            id: OnceLock::new(),
            method: request.method(),
            at: Instant::now(),
            names_two_hosts: request
                .headers()
                .iter()
                .filter(|header| header.name == "Host")
                .nth(1)
                .is_some(),
        })
    }
}
