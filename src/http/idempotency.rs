//! `Idempotency-Key`: a repeated request gets the first response again. The key is opened after the
//! body has been read, and therefore after the caller was authorised.

use std::io::Cursor;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rocket::http::{ContentType, Method, Status};
use rocket::request::{FromRequest, Outcome as GuardOutcome};
use rocket::response::Responder;
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Response, Route};
use sqlx::PgPool;

use super::credentials::credentials_of;
use super::header_value::header_of;
use super::problem;
use crate::accounts::credentials::{KeyLookup, SIGNUP_TOKEN_LIFE, look_up_key};
use crate::app::App;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::idempotency::{self, Opened, Pending};
use crate::infra::Infra;
use crate::infra::limits::client_net::Net;

pub const HEADER: &str = "Idempotency-Key";
const MAX_LENGTH: usize = 255;
/// Minimum length for callers without a credential, whose responses could be read with a guessed key.
const MIN_ANONYMOUS_LENGTH: usize = 16;

#[derive(Clone)]
struct Once(Box<dyn Handler>);

#[rocket::async_trait]
impl Handler for Once {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r> {
        let Some(key) = header_of(request.headers(), HEADER) else {
            return self.0.handle(request, data).await;
        };
        let (app, is_valid) = (request.rocket().state::<App>(), is_valid(request, &key));
        let Some(app) = app.filter(|_| is_valid) else {
            let _ = problem::reject::<()>(request, Error::IdempotencyKeyInvalid);
            return Outcome::Error(Status::new(Error::IdempotencyKeyInvalid.status()));
        };
        let pending = pending(&app.infra, request, &key);
        let outcome = pending.scope(self.0.handle(request, data)).await;
        let (outcome, stored) = match pending.opened() {
            None => return outcome,
            Some(Opened::Answered { started_at, status, body }) => {
                return match refuse_ended(&app.infra.pool, &app.infra.clock, request, *started_at)
                    .await
                {
                    Ok(()) => Outcome::Success(repeated(*status, body)),
                    Err(error) => answer_of_refusal(request, error),
                };
            }
            Some(Opened::Fresh(attempt)) => match answer_of(outcome).await {
                (outcome, Answer::Given { status, body }) => {
                    (outcome, pending.store(*attempt, status, &body).await)
                }
                (outcome, Answer::Refused { status }) => {
                    let has_failed = [500, 503].contains(&status);
                    (outcome, pending.forget(*attempt, has_failed).await)
                }
            },
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "the answer to an idempotency key was not stored");
        }
        outcome
    }
}

fn answer_of_refusal<'r>(request: &'r Request<'_>, error: Error) -> Outcome<'r> {
    match error.respond_to(request) {
        Ok(response) => Outcome::Success(response),
        Err(status) => Outcome::Error(status),
    }
}

/// Adds idempotency keys to the routes that change an account's data. Visitors' choices have choice ids instead.
pub fn repeatable(routes: Vec<Route>) -> Vec<Route> {
    let wrap = |mut route: Route| {
        if route.method == Method::Post && is_repeatable(route.uri.path()) {
            route.handler = Box::new(Once(route.handler));
        }
        route
    };
    routes.into_iter().map(wrap).collect()
}

pub fn is_repeatable(path: &str) -> bool {
    const OTHERS: [&str; 2] = ["/v1/consent/", "/v1/stripe/"];
    path.starts_with("/v1/") && !OTHERS.iter().any(|other| path.starts_with(other))
}

fn is_valid(request: &Request<'_>, key: &str) -> bool {
    let credentials = credentials_of(request);
    let is_anonymous = credentials.api_key.is_none() && credentials.signup_token.is_none();
    let min_length = if is_anonymous { MIN_ANONYMOUS_LENGTH } else { 1 };
    (min_length..=MAX_LENGTH).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Combines the key with the caller, so that callers cannot collide. Without a credential, the network is the caller.
fn pending(infra: &Infra, request: &Request<'_>, key: &str) -> Arc<Pending> {
    let credentials = credentials_of(request);
    let caller = match (credentials.api_key, credentials.signup_token) {
        (None, None) => credentials.net.nets().map(Net::digest).collect::<Vec<_>>().concat(),
        (Some(secret), _) | (None, Some(secret)) => secret.into_bytes(),
    };
    let head = format!("{} {}", request.method(), request.uri());
    Pending::new(infra.clone(), &[caller.as_slice(), key.as_bytes()], head)
}

/// Refuses a repetition with an ended credential, because some capabilities check it only when they run.
async fn refuse_ended(
    pool: &PgPool,
    clock: &Clock,
    request: &Request<'_>,
    started_at: DateTime<Utc>,
) -> Result<()> {
    let credentials = credentials_of(request);
    let Some(key) = credentials.api_key else {
        let has_ended = clock.now() - started_at >= SIGNUP_TOKEN_LIFE;
        return match credentials.signup_token.is_some() && has_ended {
            true => Err(Error::SignupTokenExpired),
            false => Ok(()),
        };
    };
    let mut connection = pool.acquire().await?;
    match look_up_key(&mut connection, &key, clock.now()).await? {
        KeyLookup::Valid { .. } => Ok(()),
        KeyLookup::Revoked => Err(Error::ApiKeyRevoked { status: 401 }),
        KeyLookup::Expired => Err(Error::ApiKeyExpired),
        KeyLookup::Unknown => Err(Error::InvalidApiKey { status: 401 }),
    }
}

/// A guard that opens the key of a request without a body.
pub struct Repeatable;

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Repeatable {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> GuardOutcome<Self, ()> {
        problem::outcome(request, idempotency::open(&[]).await.map(|()| Self))
    }
}

enum Answer {
    Given { status: u16, body: Vec<u8> },
    Refused { status: u16 },
}

async fn answer_of(outcome: Outcome<'_>) -> (Outcome<'_>, Answer) {
    let mut response = match outcome {
        Outcome::Success(response) if response.status().class().is_success() => response,
        Outcome::Success(response) => {
            let status = response.status().code;
            return (Outcome::Success(response), Answer::Refused { status });
        }
        Outcome::Error(status) => {
            return (Outcome::Error(status), Answer::Refused { status: status.code });
        }
        Outcome::Forward(forward) => {
            return (Outcome::Forward(forward), Answer::Refused { status: 404 });
        }
    };
    let status = response.status().code;
    let Ok(body) = response.body_mut().to_bytes().await else {
        return (Outcome::Error(Status::InternalServerError), Answer::Refused { status: 500 });
    };
    response.set_sized_body(body.len(), Cursor::new(body.clone()));
    (Outcome::Success(response), Answer::Given { status, body })
}

fn repeated(status: u16, body: &[u8]) -> Response<'static> {
    let mut response = Response::build();
    response.status(Status::new(status)).raw_header("Idempotency-Replayed", "true");
    if !body.is_empty() {
        response.header(ContentType::JSON).sized_body(body.len(), Cursor::new(body.to_vec()));
    }
    response.finalize()
}
