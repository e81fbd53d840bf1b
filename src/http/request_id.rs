//! The id of a request, which its response and all its log lines contain, and properties of the request as it arrived.

use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use rocket::Request;
use rocket::http::Method;
use tracing::Span;

use crate::infra::limits::limit_status::LimitStatus;
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

/// The span of a request, with the route's pattern, because paths and queries may contain confidential data.
pub fn span_of(request: &Request<'_>) -> Span {
    let route = request.route().map_or("", |route| route.uri.as_str());
    let method = request.method().as_str();
    let request_id = RequestId::of(request);
    tracing::info_span!("http.request", %request_id, %method, %route)
}

pub struct Arrival {
    id: OnceLock<RequestId>,
    /// The method that was sent. Rocket changes `HEAD` to `GET` before it calls a route.
    pub method: Method,
    pub at: Instant,
    /// Whether the request has several `Host` headers. Every route refuses such requests (RFC 9112, section 3.2).
    pub names_two_hosts: bool,
    /// The remainders of the limits against which the call was counted.
    pub limits: OnceLock<Vec<LimitStatus>>,
}

impl Arrival {
    /// The arrival of a request, recorded at the first call, which the first fairing makes.
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
