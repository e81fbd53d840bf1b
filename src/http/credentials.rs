use rocket::Request;

use super::header_value::header_of;
use super::limited::net_of;
use crate::accounts::access::Credentials;
use crate::types::text::present;

/// The credentials of a request: an API key as `Authorization: Bearer …`, else as `X-API-Key`, and
/// the signup token as `x-signup-token`.
pub fn credentials_of(request: &Request<'_>) -> Credentials {
    let header = |name: &str| header_of(request.headers(), name);
    let given = |name: &str| present(header(name).as_deref()).map(str::to_owned);
    let authorization = header("Authorization");
    let key = authorization.as_deref().and_then(bearer).map(str::to_owned);
    Credentials {
        api_key: key.or_else(|| given("X-API-Key")),
        signup_token: given("x-signup-token"),
        member: None,
        grant: None,
        authorization_sent: authorization.is_some(),
        net: net_of(request),
    }
}

/// The scheme is case-insensitive (RFC 9110, 11.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, credentials) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| present(Some(credentials)))?
}
