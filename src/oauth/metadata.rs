//! The documents by which apps discover the authorization server (RFC 9728, RFC 8414).

use serde::Serialize;
use utoipa::ToSchema;

use super::service::OAuth;
use crate::accounts::scope::Scope;

/// The tool server as a protected resource (RFC 9728).
#[derive(Serialize, ToSchema)]
pub struct ProtectedResource {
    resource: String,
    authorization_servers: [String; 1],
    scopes_supported: &'static [Scope],
    bearer_methods_supported: [&'static str; 1],
    resource_name: &'static str,
    resource_documentation: String,
}

pub fn protected_resource(oauth: &OAuth) -> ProtectedResource {
    ProtectedResource {
        resource: oauth.resource(),
        authorization_servers: [oauth.issuer().to_owned()],
        scopes_supported: SCOPES,
        bearer_methods_supported: ["header"],
        resource_name: "Assent",
        resource_documentation: format!("{}/guide", oauth.issuer()),
    }
}

const SCOPES: &[Scope] = &[Scope::Read, Scope::Operate, Scope::Full];

/// The authorization server (RFC 8414).
#[derive(Serialize, ToSchema)]
pub struct AuthorizationServer {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: String,
    revocation_endpoint: String,
    scopes_supported: &'static [Scope],
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 2],
    token_endpoint_auth_methods_supported: [&'static str; 1],
    revocation_endpoint_auth_methods_supported: [&'static str; 1],
    code_challenge_methods_supported: [&'static str; 1],
    client_id_metadata_document_supported: bool,
    authorization_response_iss_parameter_supported: bool,
    service_documentation: String,
}

pub fn authorization_server(oauth: &OAuth) -> AuthorizationServer {
    let issuer = oauth.issuer();
    let at = |path: &str| format!("{issuer}{path}");
    AuthorizationServer {
        issuer: issuer.to_owned(),
        authorization_endpoint: at("/oauth/authorize"),
        token_endpoint: at("/oauth/token"),
        registration_endpoint: at("/oauth/register"),
        revocation_endpoint: at("/oauth/revoke"),
        scopes_supported: SCOPES,
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        code_challenge_methods_supported: ["S256"],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
        service_documentation: at("/guide"),
    }
}
