use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;
use uuid::Uuid;

use super::format::{Format, SignatureKind};
use crate::clock::Timestamp;
use crate::types::ids::AccountId;
use crate::types::text_enum::text_enum;

text_enum! {
    /// Why nothing is sent to an endpoint.
    pub enum PausedBecause {
        /// Its owner wants it.
        Owner = "owner",
        /// Every attempt of a day failed.
        Failing = "failing",
        /// It answered 410, which says that it is gone for good.
        Gone = "gone",
        /// The service lost the secret that deliveries are signed with; rotate it.
        SecretLost = "secret_lost",
    }
}

#[derive(Clone)]
pub struct Endpoint {
    pub endpoint_id: Uuid,
    pub account_id: AccountId,
    pub url: String,
    pub events: Option<Vec<String>>,
    pub pixels: Option<Vec<String>>,
    /// Text, because a later version may know more values; likewise below.
    pub format: String,
    /// Set if deliveries are also signed with Ed25519.
    pub public_key: Option<String>,
    pub created_at: DateTime<Utc>,
    pub previous_until: Option<DateTime<Utc>>,
    pub paused_at: Option<DateTime<Utc>>,
    pub paused_because: Option<String>,
    pub failing_since: Option<DateTime<Utc>>,
}

/// An endpoint, without its secret.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct EndpointView {
    pub endpoint_id: Uuid,
    /// For a `read` key or member only its beginning, up to the host: the rest is what Slack, Discord and
    /// others let people write with.
    #[schema(example = "https://hooks.shop.example/assent")]
    pub url: String,
    /// The events it is told of; empty for all.
    pub events: Vec<String>,
    /// The pixels it is told of; empty for all.
    pub pixels: Vec<String>,
    #[schema(value_type = Format)]
    #[schemars(with = "Format")]
    pub format: String,
    pub signature: SignatureKind,
    /// What receivers check signatures `v1a` with; null without them.
    #[schema(required = true, example = "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")]
    pub public_key: Option<String>,
    pub created_at: Timestamp,
    /// Null while deliveries are sent.
    #[schema(required = true)]
    pub paused_at: Option<Timestamp>,
    #[schema(required = true, value_type = Option<PausedBecause>)]
    #[schemars(with = "Option<PausedBecause>")]
    pub paused_because: Option<String>,
    /// The first failure since the last success; null when all is well.
    #[schema(required = true)]
    pub failing_since: Option<Timestamp>,
    /// Until when the secret before signs too; null without one.
    #[schema(required = true)]
    pub previous_secret_until: Option<Timestamp>,
}

impl EndpointView {
    pub fn at(endpoint: Endpoint, now: DateTime<Utc>) -> Self {
        let previous_until = endpoint.previous_until.filter(|until| *until > now);
        Self {
            endpoint_id: endpoint.endpoint_id,
            url: endpoint.url,
            events: endpoint.events.unwrap_or_default(),
            pixels: endpoint.pixels.unwrap_or_default(),
            format: endpoint.format,
            signature: match endpoint.public_key {
                Some(_) => SignatureKind::V1a,
                None => SignatureKind::V1,
            },
            public_key: endpoint.public_key,
            created_at: Timestamp(endpoint.created_at),
            paused_at: endpoint.paused_at.map(Timestamp),
            paused_because: endpoint.paused_because,
            failing_since: endpoint.failing_since.map(Timestamp),
            previous_secret_until: previous_until.map(Timestamp),
        }
    }

    /// Whether deliveries fail, or the service has paused the endpoint. False if its owner has paused it.
    pub fn is_failing(&self) -> bool {
        match &self.paused_because {
            Some(because) => because != PausedBecause::Owner.as_str(),
            None => self.failing_since.is_some(),
        }
    }

    pub fn without_secrets(self) -> Self {
        let origin = Url::parse(&self.url).map(|url| url.origin().ascii_serialization());
        Self { url: format!("{}/…", origin.unwrap_or_default()), ..self }
    }
}

/// The account's endpoints, oldest first.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct EndpointList {
    pub webhooks: Vec<EndpointView>,
}

/// An endpoint with its new secret.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct EndpointWithSecret {
    #[serde(flatten)]
    pub webhook: EndpointView,
    /// Shown this once: receivers check signatures with it.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    pub secret: String,
}
