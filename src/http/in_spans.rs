//! Runs handlers in a span, which adds the request's id to all log lines, and with the language for resulting mails.

use futures_util::FutureExt;
use rocket::http::{Method, Status};
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Route};
use tracing::Instrument;

use super::html::reader::requested_language;
use super::problem;
use super::request_id::{Arrival, span_of};
use crate::error::Error;
use crate::infra::requested_language::Requested;

#[derive(Clone)]
struct InSpan {
    route: Box<dyn Handler>,
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
        requested(request).scope(answer).instrument(span_of(request)).await
    }
}

/// Requests that only read cause no mails.
fn requested(request: &Request<'_>) -> Requested {
    let reads = matches!(request.method(), Method::Get | Method::Head | Method::Options);
    if reads { Requested::default() } else { Requested(requested_language(request)) }
}

/// Wraps every route in a span. The routes of `from_memory`, given by their patterns, get a span only
/// if they wait: a cached response logs nothing, and takes less time than opening a span.
pub fn in_spans(routes: Vec<Route>, from_memory: &[&str]) -> Vec<Route> {
    let wrap = |mut route: Route| {
        let is_late = from_memory.contains(&route.uri.path());
        route.handler = Box::new(InSpan { route: route.handler, is_late });
        route
    };
    routes.into_iter().map(wrap).collect()
}
