//! The challenge of a 401 (`WWW-Authenticate`; RFC 9110, 11.6.1).

use rocket::Request;

use crate::error::Error;

/// The challenge for a refused caller. If a credential was sent, its error is `invalid_token`, as RFC 6750
/// defines for Bearer tokens. The scheme for signup tokens, which have their own header, is our own.
pub fn challenge(error: &Error, request: &Request<'_>) -> &'static str {
    match error {
        Error::InvalidApiKey { .. } | Error::ApiKeyRevoked { .. } | Error::ApiKeyExpired => {
            r#"Bearer realm="assent", error="invalid_token""#
        }
        Error::SignupTokenExpired => SIGNUP_TOKEN_DOES_NOT_DO,
        Error::SignupTokenRequired => match request.headers().contains("x-signup-token") {
            true => SIGNUP_TOKEN_DOES_NOT_DO,
            false => r#"SignupToken realm="assent""#,
        },
        Error::ApiKeyOrSignupTokenRequired => {
            r#"Bearer realm="assent", SignupToken realm="assent""#
        }
        _ => r#"Bearer realm="assent""#,
    }
}

const SIGNUP_TOKEN_DOES_NOT_DO: &str = r#"SignupToken realm="assent", error="invalid_token""#;
