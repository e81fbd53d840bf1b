//! Errors as problem documents (RFC 9457), from routes, guards and Rocket itself.

use std::io::Cursor;

use rocket::http::{ContentType, Header, Method, Status};
use rocket::request::Outcome;
use rocket::response::{self, Responder};
use rocket::{Catcher, Request, Response, catch, catchers};
use serde_json::{Map, Value, json};

use super::allowed_methods::allowed_methods;
use super::request_id::{RequestId, span_of};
use crate::error::Error;

/// The error a guard left behind for the catcher: Rocket drops a guard's own error.
struct GuardError(Option<Error>);

/// Ends a request guard with `error`, so that the caller reads it as if a route had returned it.
pub fn reject<T>(request: &Request<'_>, error: Error) -> Outcome<T, ()> {
    let status = Status::new(error.status());
    request.local_cache(|| GuardError(Some(error)));
    Outcome::Error((status, ()))
}

/// As [`reject`], for guards that only turn a result into an outcome.
pub fn outcome<T>(request: &Request<'_>, result: Result<T, Error>) -> Outcome<T, ()> {
    match result {
        Ok(value) => Outcome::Success(value),
        Err(error) => reject(request, error),
    }
}

impl<'r> Responder<'r, 'static> for Error {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        respond(request, &self)
    }
}

/// The problem document of an error.
pub fn document(error: &Error) -> Map<String, Value> {
    let status = Status::new(error.status());
    let mut document = Map::from_iter([
        ("type".to_owned(), json!("about:blank")),
        ("title".to_owned(), json!(status.reason_lossy())),
        ("status".to_owned(), json!(status.code)),
        ("detail".to_owned(), json!(error.to_string())),
    ]);
    // A list instead of a sentence: the shape that clients of such services expect of a 422.
    if let Error::Validation(problems) = error {
        document.insert("detail".to_owned(), json!(problems));
    }
    if let Some(remaining) = error.remaining() {
        document.insert("remaining".to_owned(), json!(remaining));
    }
    document
}

fn respond(request: &Request<'_>, error: &Error) -> response::Result<'static> {
    let request_id = RequestId::of(request).as_str();
    let mut document = document(error);
    if let Error::Internal(cause) = error {
        tracing::error!(cause, "internal error");
        document.insert("request_id".to_owned(), json!(request_id));
    }
    let body = Value::Object(document).to_string();
    let mut response = Response::build();
    response
        .status(Status::new(error.status()))
        .header(ContentType::new("application", "problem+json"))
        .raw_header("Cache-Control", "no-store")
        // Fairings do not see what Rocket refuses before routing.
        .raw_header("x-request-id", request_id.to_owned())
        .sized_body(body.len(), Cursor::new(body));
    if let Some(seconds) = error.retry_after() {
        response.header(Header::new("Retry-After", seconds.to_string()));
    }
    if matches!(error, Error::MethodNotAllowed) {
        response.header(Header::new("Allow", allow_header(&allowed_methods(request))));
    }
    response.ok()
}

fn allow_header(methods: &[Method]) -> String {
    methods.iter().map(|method| method.as_str()).collect::<Vec<_>>().join(", ")
}

fn is_known_by_other_methods(request: &Request<'_>) -> bool {
    let methods = allowed_methods(request);
    !methods.is_empty() && !methods.contains(&request.method())
}

/// Rocket's own failures, and those that guards left behind.
pub fn catchers() -> Vec<Catcher> {
    catchers![catch_all]
}

/// An answer that is complete already.
struct Finished(Response<'static>);

impl<'r> Responder<'r, 'static> for Finished {
    fn respond_to(self, _: &'r Request<'_>) -> response::Result<'static> {
        Ok(self.0)
    }
}

#[catch(default)]
fn catch_all(status: Status, request: &Request<'_>) -> Result<Finished, Status> {
    span_of(request).in_scope(|| caught(status, request))
}

fn caught(status: Status, request: &Request<'_>) -> Result<Finished, Status> {
    if let GuardError(Some(error)) = request.local_cache(|| GuardError(None)) {
        return respond(request, error).map(Finished);
    }
    let error = match status.code {
        404 if is_known_by_other_methods(request) => Error::MethodNotAllowed,
        404 => Error::NotFound,
        413 => Error::BodyTooLarge,
        408 => Error::BodyTimeout,
        503 => Error::DatabaseUnavailable,
        400..=499 => Error::InvalidRequest,
        _ => Error::internal(format_args!("a handler ended with {status}")),
    };
    respond(request, &error).map(Finished)
}
