//! The token endpoint and the revocation endpoint (RFC 6749, RFC 7009).

use super::codes::{self, PresentedCode};
use super::parameters::Parameters;
use super::refusal::{Failure, Refusal};
use super::service::OAuth;
use super::tokens::{self, Tokens};
use crate::infra::limits::client_net::ClientNet;

/// The length of a code verifier in characters (RFC 7636, 4.1).
const VERIFIER_LEN: std::ops::RangeInclusive<usize> = 43..=128;

/// Exchanges a code or a refresh token. Only failed requests are counted per client address, because the apps
/// of many people may share one.
pub async fn exchange(oauth: &OAuth, net: ClientNet, body: &[u8]) -> Result<Tokens, Failure> {
    let exchanged = read_and_exchange(oauth, body).await;
    if matches!(exchanged, Err(Failure::Refused(_))) {
        oauth.admit(net)?;
    }
    exchanged
}

async fn read_and_exchange(oauth: &OAuth, body: &[u8]) -> Result<Tokens, Failure> {
    let parameters = Parameters::parse(body)?;
    let grant_type = parameters.required("grant_type", "grant_type is missing")?;
    let client_id = parameters.get("client_id");
    let client_id = client_id.ok_or(Refusal::new("invalid_client", "client_id is missing"))?;
    oauth.check_resource(parameters.get("resource"))?;
    match grant_type {
        "authorization_code" => {
            let verifier = parameters.required("code_verifier", "code_verifier is missing")?;
            let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if !VERIFIER_LEN.contains(&verifier.len()) || !verifier.bytes().all(is_unreserved) {
                let detail = "code_verifier must have 43 to 128 unreserved characters";
                return Err(Refusal::invalid_request(detail).into());
            }
            let presented = PresentedCode {
                code: parameters.required("code", "code is missing")?,
                client_id,
                redirect_uri: parameters.get("redirect_uri"),
                verifier,
            };
            codes::redeem(oauth, &presented).await
        }
        "refresh_token" => {
            let token = parameters.required("refresh_token", "refresh_token is missing")?;
            tokens::refresh(oauth, token, client_id, parameters.get("scope")).await
        }
        _ => {
            let detail = "grant_type must be authorization_code or refresh_token";
            Err(Refusal::new("unsupported_grant_type", detail).into())
        }
    }
}

pub async fn revoke(oauth: &OAuth, body: &[u8]) -> Result<(), Failure> {
    let parameters = Parameters::parse(body)?;
    let token = parameters.required("token", "token is missing")?;
    tokens::revoke(oauth, token, parameters.get("client_id")).await
}
