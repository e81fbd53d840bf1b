//! HTTP routes of OAuth 2.1 for the tool server. The page on which a member allows an app is in
//! `web::console`.

use std::io::Cursor;

use rocket::http::Status;
use rocket::http::uri::Segments;
use rocket::http::uri::fmt::Path;
use rocket::request::{FromRequest, Outcome};
use rocket::response::{self, Responder};
use rocket::{Request, Response, State, get, post};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::Error;
use crate::http::body::Body;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::limited::count;
use crate::http::problem;
use crate::http::refusals::refusals;
use crate::http::request_id::RequestId;
use crate::infra::Infra;
use crate::infra::limits::per_client::{Client, Limit};
use crate::oauth::client_metadata::ClientMetadata;
use crate::oauth::exchange;
use crate::oauth::metadata::{self, AuthorizationServer, ProtectedResource};
use crate::oauth::refusal::{Failure, Refusal};
use crate::oauth::registration::{self, Registered};
use crate::oauth::tokens::Tokens;

described_routes![resource, resource_at, server, register, token, revoke];

refusals!(EndpointRefusals: [Body<16>, Infra] TooManyRequests { retry_after: 2 });

/// The tool server as a protected resource (RFC 9728)
#[utoipa::path(
    tag = "Agents",
    operation_id = "oauth_protected_resource",
    responses((status = 200, description = "The document", body = ProtectedResource)),
)]
#[get("/.well-known/oauth-protected-resource")]
fn resource(app: &State<App>) -> Json<ProtectedResource> {
    Json(metadata::protected_resource(&app.oauth))
}

/// The same document, where apps look that know the address of the tool server only
#[utoipa::path(
    tag = "Agents",
    operation_id = "oauth_protected_resource_mcp",
    params(("set" = String, Path, description = "Empty, or the rest of an address of the tool server.")),
    responses((status = 200, description = "The document", body = ProtectedResource)),
)]
#[get("/.well-known/oauth-protected-resource/mcp/<set..>")]
fn resource_at(app: &State<App>, set: Segments<'_, Path>) -> Json<ProtectedResource> {
    let _ = set;
    resource(app)
}

/// The authorization server (RFC 8414)
#[utoipa::path(
    tag = "Agents",
    operation_id = "oauth_authorization_server",
    responses((status = 200, description = "The document", body = AuthorizationServer)),
)]
#[get("/.well-known/oauth-authorization-server")]
fn server(app: &State<App>) -> Json<AuthorizationServer> {
    Json(metadata::authorization_server(&app.oauth))
}

/// Register an app (RFC 7591)
///
/// Apps are public: they have no secret, and prove with PKCE (S256) that a code is theirs. An app that
/// nobody allows anything within a day is forgotten.
#[utoipa::path(
    tag = "Agents",
    operation_id = "oauth_register",
    request_body = ClientMetadata,
    responses(
        (status = 201, description = "The app", body = Registered),
        (status = 400, description = "What is wrong", body = ProtocolError),
        EndpointRefusals,
    ),
)]
#[post("/oauth/register", data = "<body>")]
async fn register(app: &State<App>, _counted: Counted, body: Body<16>) -> Answer<Registered> {
    let registered = registration::register(&app.oauth, &body.0).await;
    Answer { status: 201, result: registered }
}

struct Counted;

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Counted {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, count(request, Limit::AppRequests).map(|()| Self))
    }
}

/// What an app sends for tokens, as a form.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form")]
struct TokenRequest {
    /// `authorization_code` or `refresh_token`.
    grant_type: String,
    client_id: String,
    /// With `authorization_code`.
    code: Option<String>,
    code_verifier: Option<String>,
    redirect_uri: Option<String>,
    /// With `refresh_token`.
    refresh_token: Option<String>,
    scope: Option<String>,
    /// The address of the tool server.
    resource: Option<String>,
}

/// Exchange a code or a refresh token (RFC 6749)
///
/// A code is valid once and for a minute, a refresh token once: using either again ends the grant.
#[utoipa::path(
    tag = "Agents",
    operation_id = "oauth_token",
    request_body(content = TokenRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The tokens, shown this once", body = Tokens),
        (status = 400, description = "What is wrong", body = ProtocolError),
        (status = 401, description = "The app is unknown", body = ProtocolError),
        EndpointRefusals,
    ),
)]
#[post("/oauth/token", data = "<body>")]
async fn token(app: &State<App>, client: Client<'_>, body: Body<16>) -> Answer<Tokens> {
    let tokens = exchange::exchange(&app.oauth, client.net(), &body.0).await;
    Answer { status: 200, result: tokens }
}

/// The token that an app gives back, as a form.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form")]
struct RevocationRequest {
    /// An access or refresh token.
    token: String,
    client_id: Option<String>,
}

/// Give a token back (RFC 7009)
///
/// Ends the grant with all of its tokens.
#[utoipa::path(
    tag = "Agents",
    operation_id = "oauth_revoke",
    request_body(content = RevocationRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The token is not valid any more"),
        (status = 400, description = "What is wrong", body = ProtocolError),
        (status = 401, description = "The token is another app's", body = ProtocolError),
        EndpointRefusals,
    ),
)]
#[post("/oauth/revoke", data = "<body>")]
async fn revoke(app: &State<App>, _counted: Counted, body: Body<16>) -> Answer<Nothing> {
    let revoked = exchange::revoke(&app.oauth, &body.0).await;
    Answer { status: 200, result: revoked.map(|()| Nothing {}) }
}

#[derive(Serialize)]
struct Nothing {}

/// An error of the protocol (RFC 6749, 5.2).
#[derive(Serialize, ToSchema)]
struct ProtocolError {
    #[schema(value_type = String, example = "invalid_grant")]
    error: &'static str,
    #[schema(value_type = String)]
    error_description: &'static str,
    /// Names the request in the service's log.
    request_id: String,
}

impl ProtocolError {
    fn new(refusal: &Refusal, request: &Request<'_>) -> Self {
        let Refusal { error, error_description } = *refusal;
        Self { error, error_description, request_id: RequestId::of(request).to_string() }
    }
}

/// An answer in the format of the protocol. Errors of the service itself are problem documents.
struct Answer<T> {
    status: u16,
    result: Result<T, Failure>,
}

impl<'r, T: Serialize> Responder<'r, 'static> for Answer<T> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let (status, body) = match &self.result {
            Ok(value) => (self.status, serde_json::to_vec(value)),
            Err(Failure::Refused(refusal)) => {
                let error = ProtocolError::new(refusal, request);
                (refusal.status(), serde_json::to_vec(&error))
            }
            Err(Failure::Failed(_)) => (500, Ok(Vec::new())),
        };
        let body = match (self.result, body) {
            (Err(Failure::Failed(error)), _) => return error.respond_to(request),
            (_, Err(error)) => return Error::internal(error).respond_to(request),
            (_, Ok(body)) => body,
        };
        let mut response = Response::build();
        response.status(Status::new(status));
        response.raw_header("Content-Type", "application/json");
        if status == 401 {
            response.raw_header("WWW-Authenticate", r#"Bearer realm="assent""#);
        }
        response.sized_body(body.len(), Cursor::new(body)).ok()
    }
}
