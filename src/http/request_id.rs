//! The id of a request, in its answer and all its log lines, and the request as it arrived.

use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use rocket::Request;
use rocket::http::Method;
use tracing::Span;

use crate::infra::limits::standing::Standing;
use crate::types::ids::unique_text;

#[derive(Clone, Debug)]
pub struct RequestId(String);

impl RequestId {
    pub fn of<'r>(request: &'r Request<'_>) -> &'r Self {
        Arrival::of(request).id.get_or_init(Self::random)
    }

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

/// The span of a request, with the route's pattern: paths and queries contain what must not be logged.
pub fn span_of(request: &Request<'_>) -> Span {
    let route = request.route().map_or("", |route| route.uri.as_str());
    let method = request.method().as_str();
    let request_id = RequestId::of(request);
    tracing::info_span!("http.request", %request_id, %method, %route)
}

pub struct Arrival {
    id: OnceLock<RequestId>,
    /// As sent: Rocket changes `HEAD` to `GET` before a route sees it.
    pub method: Method,
    pub at: Instant,
    /// Whether two different hosts could be read from it (RFC 9112, section 3.2): every route refuses it.
    pub names_two_hosts: bool,
    /// The remainders of the limits that the call counted against.
    pub limits: OnceLock<Vec<Standing>>,
}

impl Arrival {
    /// Recorded at the first call, by the first fairing.
    pub fn of<'r>(request: &'r Request<'_>) -> &'r Self {
        request.local_cache(|| Self {
            id: OnceLock::new(),
            method: request.method(),
            at: Instant::now(),
            limits: OnceLock::new(),
            names_two_hosts: request
                .headers()
                .iter()
                .filter(|header| header.name == "Host")
                .nth(1)
                .is_some(),
        })
    }
}
