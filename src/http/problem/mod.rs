//! Errors as problem documents (RFC 9457), from routes, guards and Rocket itself.

pub mod allowed_methods;
mod challenge;

use std::io::Cursor;

use rocket::http::{Header, Method, Status};
use rocket::request::Outcome;
use rocket::response::{self, Responder};
use rocket::{Catcher, Request, Response, catch, catchers};
use serde::Serialize;
use tracing::Span;
use utoipa::ToSchema;

use self::allowed_methods::allowed_methods;
use self::challenge::challenge;
use super::html::{PROBLEM_JSON, for_people};
use super::request_id::{RequestId, span_of};
use crate::app::App;
use crate::error::{Error, FieldError, codes};

#[derive(Serialize)]
#[serde(untagged)]
pub enum Document<'a> {
    Sentence(Problem<'a>),
    List(ValidationProblem<'a>),
}

/// A refusal (RFC 9457).
#[derive(Serialize, ToSchema)]
pub struct Problem<'a> {
    /// The page about `code`.
    #[serde(rename = "type")]
    #[schema(format = "uri")]
    kind: String,
    /// The status in words.
    title: &'static str,
    status: u16,
    /// What programs compare. It stays when the sentence changes.
    code: &'static str,
    /// One sentence. Every one that an operation sends stands with its answers.
    detail: String,
    /// The fields that the sentence is about, or that are misspelt, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<FieldError>, required = false)]
    errors: Option<&'a [FieldError]>,
    /// Names the request in the service's log.
    request_id: &'a str,
    /// Units left of the allowance that the request would have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = i64, required = false)]
    remaining: Option<i64>,
}

/// A refusal whose `detail` is a list: what is wrong with a body or parameter (422).
#[derive(Serialize, ToSchema)]
pub struct ValidationProblem<'a> {
    /// The page about `code`.
    #[serde(rename = "type")]
    #[schema(format = "uri")]
    kind: String,
    /// The status in words.
    title: &'static str,
    status: u16,
    /// `validation_failed`.
    code: &'static str,
    /// What is wrong, field by field.
    detail: &'a [FieldError],
    /// Names the request in the service's log.
    request_id: &'a str,
}

impl<'a> Document<'a> {
    pub fn new(error: &'a Error, base_url: &str, request_id: &'a str) -> Self {
        let (code, status) = (error.code(), Status::new(error.status()));
        let kind = codes::page_of(base_url, code);
        let (title, status) = (status.reason_lossy(), status.code);
        if let Error::Validation(detail) = error {
            return Self::List(ValidationProblem { kind, title, status, code, detail, request_id });
        }
        let errors = match error {
            Error::Naming { fields, .. } => Some(fields.as_slice()),
            _ => None,
        };
        Self::Sentence(Problem {
            kind,
            title,
            status,
            code,
            detail: error.to_string(),
            errors,
            request_id,
            remaining: error.remaining(),
        })
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

/// The error of a guard, kept for the catcher, because Rocket discards it.
struct GuardError(Option<Error>);

/// Ends a request guard with `error`, which the client receives as if a route had returned it.
pub fn reject<T>(request: &Request<'_>, error: Error) -> Outcome<T, ()> {
    let status = Status::new(error.status());
    request.local_cache(|| GuardError(Some(error)));
    Outcome::Error((status, ()))
}

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

/// Logs errors for the operator: causes of internal errors, and refused credentials (ASVS 5.0, 16.3.2).
pub fn log(error: &Error) {
    match (error, error.status()) {
        (Error::Internal(cause), _) => tracing::error!(cause, "internal error"),
        (_, status @ (401 | 403)) => tracing::info!(status, detail = %error, "refused"),
        _ => {}
    }
}

fn respond(request: &Request<'_>, error: &Error) -> response::Result<'static> {
    let request_id = RequestId::of(request).as_str();
    // A route that has not waited yet may have no span (`in_spans`).
    if Span::current().is_none() {
        span_of(request).in_scope(|| log(error));
    } else {
        log(error);
    }
    let app = request.rocket().state::<App>();
    let base_url = app.map_or("", |app| app.infra.base_url());
    let body = Document::new(error, base_url, request_id).to_json();
    let mut response = Response::build();
    response
        .status(Status::new(error.status()))
        .raw_header("Content-Type", PROBLEM_JSON)
        .raw_header("Cache-Control", "no-store")
        // Fairings do not run for requests that Rocket refuses before routing.
        .raw_header("x-request-id", request_id.to_owned())
        .sized_body(body.len(), Cursor::new(body));
    if let Some(seconds) = error.retry_after() {
        response.header(Header::new("Retry-After", seconds.to_string()));
    }
    if error.status() == 401 {
        response.raw_header("WWW-Authenticate", challenge(error, request));
    }
    if matches!(error, Error::MethodNotAllowed) {
        response.header(Header::new("Allow", allow_header(&allowed_methods(request))));
    }
    Ok(for_people(request, error, response.finalize()))
}

fn allow_header(methods: &[Method]) -> String {
    methods.iter().map(|method| method.as_str()).collect::<Vec<_>>().join(", ")
}

fn is_known_by_other_methods(request: &Request<'_>) -> bool {
    let methods = allowed_methods(request);
    !methods.is_empty() && !methods.contains(&request.method())
}

pub fn catchers() -> Vec<Catcher> {
    catchers![catch_all]
}

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
