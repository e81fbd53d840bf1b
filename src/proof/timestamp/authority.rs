//! Requests to a timestamping authority over HTTP (RFC 3161, section 3.4).

use std::sync::LazyLock;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response};

use super::request::TimestampRequest;
use super::token::{AnswerError, read_answer};
use crate::infra::direct_client::direct_client;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// From the first byte sent to the last byte received.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Tokens with all their certificates have a few KiB.
const MAX_ANSWER: usize = 256 << 10;
const QUERY: &str = "application/timestamp-query";
const REPLY: &str = "application/timestamp-reply";

static CLIENT: LazyLock<Client> = LazyLock::new(|| direct_client(CONNECT_TIMEOUT, TIMEOUT));

/// The reason why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("the authority cannot be reached, or gave no complete answer in time")]
    Unreachable,
    #[error("the authority answered with status {0}")]
    Status(u16),
    #[error("the authority's answer is not of the type {REPLY}")]
    OtherType,
    #[error("the authority's answer is larger than {} KiB", MAX_ANSWER >> 10)]
    TooLarge,
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

/// Requests a token from the authority at this address, returned verbatim. Errors do not quote the response.
pub async fn ask(
    url: &str,
    request: &TimestampRequest,
    asked_at: DateTime<Utc>,
) -> Result<Vec<u8>, AuthorityError> {
    let sending = CLIENT.post(url).header(CONTENT_TYPE, QUERY).body(request.to_der()).send();
    let response = sending.await.map_err(|_| AuthorityError::Unreachable)?;
    if !response.status().is_success() {
        return Err(AuthorityError::Status(response.status().as_u16()));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(REPLY)) {
        return Err(AuthorityError::OtherType);
    }
    let answer = read_bounded(response).await?;
    Ok(read_answer(&answer, request, asked_at)?.to_vec())
}

async fn read_bounded(mut response: Response) -> Result<Vec<u8>, AuthorityError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| AuthorityError::Unreachable)? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(AuthorityError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
