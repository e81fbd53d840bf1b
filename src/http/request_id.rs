//! One id per request: in its answer, and in every log line that it causes. And what the request was
//! like when it came.

use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use futures_util::FutureExt;
use rocket::http::Method;
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Route};
use tracing::{Instrument, Span};

use crate::ids::unique_text;

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

/// Runs a route, its guards included, inside a span with the request's id.
#[derive(Clone)]
struct InSpan {
    route: Box<dyn Handler>,
    /// Whether the span is opened only when the route has to wait for something.
    is_late: bool,
}

#[rocket::async_trait]
impl Handler for InSpan {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r> {
        let mut answer = self.route.handle(request, data);
        if self.is_late
            && let Some(answered) = (&mut answer).now_or_never()
        {
            return answered;
        }
        answer.instrument(span_of(request)).await
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

/// Puts every route into a span of its own. Those of `from_memory`, given by their patterns, get it
/// only if they wait: what they have in memory they hand out without a word to the log, in less time
/// than it takes to open a span.
pub fn in_spans(routes: Vec<Route>, from_memory: &[&str]) -> Vec<Route> {
    let wrap = |mut route: Route| {
        let is_late = from_memory.contains(&route.uri.path());
        route.handler = Box::new(InSpan { route: route.handler, is_late });
        route
    };
    routes.into_iter().map(wrap).collect()
}

/// A request as it came.
pub struct Arrival {
    id: OnceLock<RequestId>,
    /// As sent: Rocket turns `HEAD` into `GET` before a route sees it.
    pub method: Method,
    pub at: Instant,
}

impl Arrival {
    /// Noted when first asked for, which the first fairing does.
    pub fn of<'r>(request: &'r Request<'_>) -> &'r Self {
        request.local_cache(|| Self {
            id: OnceLock::new(),
            method: request.method(),
            at: Instant::now(),
        })
    }
}
