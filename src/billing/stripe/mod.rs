//! The client of the payment provider's API: the six calls that the service makes. Requests are
//! form-encoded with brackets for nesting, answers are JSON (<https://docs.stripe.com/api>).

pub mod invoice;
pub mod provider_reference;
pub mod session;
pub mod signature;
pub mod subscription;
pub mod webhook_events;

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use self::invoice::Invoice;
use self::provider_reference::ProviderId;
use self::session::{Price, Session};
use self::subscription::Subscription;
use crate::accounts::account::MONTHLY_CENTS;
use crate::config::{Secret, StripeConfig};
use crate::error::Error;
use crate::infra::direct_client::direct_client;
use crate::types::ids::AccountId;

pub const API_VERSION: &str = "2025-03-31.basil";

/// From the first byte sent to the last byte read.
const TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The provider's objects have a few KiB.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    #[error("stripe checkout is not configured")]
    NotConfigured,
    #[error("payment provider unreachable")]
    Unreachable,
    #[error("payment provider refused the request")]
    Refused,
    /// The same request is in progress, or there are too many.
    #[error("payment provider is busy")]
    Busy,
    #[error("payment provider failed")]
    Failed,
    #[error("payment provider gave an unreadable answer")]
    Unreadable,
}

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
        Self::PaymentProvider { reason: error.to_string() }
    }
}

const ALL_REASONS: [ProviderError; 6] = [
    ProviderError::NotConfigured,
    ProviderError::Unreachable,
    ProviderError::Refused,
    ProviderError::Busy,
    ProviderError::Failed,
    ProviderError::Unreadable,
];

pub type Result<T> = std::result::Result<T, ProviderError>;

#[derive(Clone)]
pub struct Stripe {
    client: reqwest::Client,
    api_base: String,
    secret_key: Option<Secret>,
    price_id: Option<String>,
}

#[derive(Deserialize)]
struct Hosted {
    url: String,
}

#[derive(Default, Deserialize)]
struct Failure {
    error: FailureDetails,
}

#[derive(Default, Deserialize)]
struct FailureDetails {
    #[serde(rename = "type")]
    kind: Option<String>,
    code: Option<String>,
    param: Option<String>,
}

impl Stripe {
    pub fn new(config: &StripeConfig) -> Self {
        Self {
            client: direct_client(CONNECT_TIMEOUT, TIMEOUT),
            api_base: config.api_base.clone(),
            secret_key: config.secret_key.clone(),
            price_id: config.price_id.clone(),
        }
    }

    pub fn refusals() -> Vec<Error> {
        ALL_REASONS.map(Error::from).into()
    }

    pub fn is_configured(&self) -> bool {
        self.secret_key.is_some()
    }

    /// Whether a session pays for this account: its metadata has the account, or it sells our price.
    /// The provider's account may have sessions of other products.
    pub fn is_ours(&self, session: &Session, account_id: &AccountId) -> bool {
        let is_our_price = |price: &Price| match &self.price_id {
            Some(price_id) => price.id.as_str() == price_id,
            None => price.is_monthly(MONTHLY_CENTS),
        };
        session.is_for_subscription()
            && (session.is_marked_for(account_id) || session.prices().any(is_our_price))
    }

    /// Creates a checkout session. Idempotent for the same key and form.
    pub async fn create_session(&self, form: String, idempotency_key: &str) -> Result<Session> {
        let path = "/v1/checkout/sessions";
        self.ask(self.post(path, form, idempotency_key)?).await?.ok_or(ProviderError::Refused)
    }

    pub async fn find_session(&self, id: &ProviderId) -> Result<Option<Session>> {
        let path = format!("/v1/checkout/sessions/{}", id.as_str());
        self.ask(self.get(&path)?.query(&[("expand[]", "line_items")])).await
    }

    pub async fn find_subscription(&self, id: &ProviderId) -> Result<Option<Subscription>> {
        let path = format!("/v1/subscriptions/{}", id.as_str());
        self.ask(self.get(&path)?.query(&[("expand[]", "latest_invoice")])).await
    }

    pub async fn find_invoice(&self, id: &ProviderId) -> Result<Option<Invoice>> {
        let path = format!("/v1/invoices/{}", id.as_str());
        self.ask(self.get(&path)?).await
    }

    /// Ends a subscription immediately. `None` when it does not exist or has ended.
    pub async fn cancel_subscription(&self, id: &ProviderId) -> Result<Option<Subscription>> {
        let path = format!("/v1/subscriptions/{}", id.as_str());
        let request = self.client.delete(format!("{}{path}", self.api_base));
        self.ask(self.with_credentials(request)?).await
    }

    pub async fn create_portal_session(
        &self,
        form: String,
        idempotency_key: &str,
    ) -> Result<String> {
        let path = "/v1/billing_portal/sessions";
        let hosted = self.ask::<Hosted>(self.post(path, form, idempotency_key)?).await?;
        hosted.map(|hosted| hosted.url).ok_or(ProviderError::Refused)
    }

    fn get(&self, path: &str) -> Result<RequestBuilder> {
        self.with_credentials(self.client.get(format!("{}{path}", self.api_base)))
    }

    fn post(&self, path: &str, form: String, idempotency_key: &str) -> Result<RequestBuilder> {
        let request = self
            .client
            .post(format!("{}{path}", self.api_base))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("Idempotency-Key", idempotency_key)
            .body(form);
        self.with_credentials(request)
    }

    fn with_credentials(&self, request: RequestBuilder) -> Result<RequestBuilder> {
        let key = self.secret_key.as_ref().ok_or(ProviderError::NotConfigured)?;
        Ok(request.bearer_auth(key.expose()).header("Stripe-Version", API_VERSION))
    }

    /// Sends a request and returns the object in the response; `None` for a 404.
    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<Option<T>> {
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let body = read_bounded(response).await?;
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !status.is_success() {
            return Err(failure(status, &body));
        }
        serde_json::from_slice(&body).map(Some).map_err(|error| {
            tracing::warn!(%error, "the payment provider's answer cannot be read");
            ProviderError::Unreadable
        })
    }
}

fn failure(status: StatusCode, body: &[u8]) -> ProviderError {
    // The provider's message may contain data of the request, so it is not logged.
    let FailureDetails { kind, code, param } =
        serde_json::from_slice::<Failure>(body).unwrap_or_default().error;
    tracing::warn!(%status, kind, code, param, "the payment provider answered with an error");
    match status.as_u16() {
        409 | 429 => ProviderError::Busy,
        400..=499 => ProviderError::Refused,
        _ => ProviderError::Failed,
    }
}

fn unreachable(error: reqwest::Error) -> ProviderError {
    tracing::warn!(error = %error.without_url(), "the payment provider cannot be reached");
    ProviderError::Unreachable
}

async fn read_bounded(mut response: Response) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            tracing::warn!("the payment provider's answer is too large");
            return Err(ProviderError::Unreadable);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
