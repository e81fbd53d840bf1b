//! Visitor routes answer any origin, without credentials: they are called from customers' pages.

use rocket::http::{Header, Method, Status};
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Response, Route};

/// Paths (up to their last fixed character) that pages of any origin may call.
const VISITOR_PATHS: [&str; 12] = [
    "/v1/consent/record",
    "/v1/consent/shown",
    "/v1/consent/check",
    "/v1/consent/receipt",
    "/v1/consent/verify",
    "/v1/policy/",
    "/api/v1/",
    "/external_api/install-pixel/tag-pixel",
    "/px/",
    "/pixels/",
    "/pixel.",
    "/pixel_popup.js",
];

pub fn is_visitor_path(path: &str) -> bool {
    VISITOR_PATHS.iter().any(|prefix| path.starts_with(prefix))
}

/// Lets pages of any origin read the answer, errors included.
pub fn share(response: &mut Response<'_>) {
    response.set_header(Header::new("Access-Control-Allow-Origin", "*"));
    response.set_header(Header::new("Cross-Origin-Resource-Policy", "cross-origin"));
}

/// Answers the preflight of one route pattern.
#[derive(Clone)]
struct Preflight(&'static str);

#[rocket::async_trait]
impl Handler for Preflight {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        let _ = request;
        let response = Response::build()
            .status(Status::NoContent)
            .raw_header("Access-Control-Allow-Methods", self.0)
            .raw_header("Access-Control-Allow-Headers", "Content-Type")
            .raw_header("Access-Control-Max-Age", "86400")
            .finalize();
        Outcome::Success(response)
    }
}

/// An `OPTIONS` route beside each visitor route given as pattern and methods.
pub fn preflight_routes(patterns: &[(&str, &'static str)]) -> Vec<Route> {
    patterns
        .iter()
        .map(|&(pattern, methods)| Route::new(Method::Options, pattern, Preflight(methods)))
        .collect()
}
