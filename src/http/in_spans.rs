//! Every route in a span of its own, so that each line of the log says which request caused it.

use futures_util::FutureExt;
use rocket::http::Status;
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Route};
use tracing::Instrument;

use super::problem;
use super::request_id::{Arrival, span_of};
use crate::error::Error;

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
        if Arrival::of(request).names_two_hosts {
            let status = Status::new(Error::InvalidRequest.status());
            let _ = problem::reject::<()>(request, Error::InvalidRequest);
            return Outcome::Error(status);
        }
        let mut answer = self.route.handle(request, data);
        if self.is_late
            && let Some(answered) = (&mut answer).now_or_never()
        {
            return answered;
        }
        answer.instrument(span_of(request)).await
    }
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
