use schemars::JsonSchema;
use serde::Deserialize;
use url::{Host, Url};
use utoipa::ToSchema;
use uuid::Uuid;

use super::format::{Format, SignatureKind};
use crate::error::{Error, FieldError, Result};
use crate::infra::events::EventSelector;
use crate::types::ids::PixelId;
use crate::types::ids::id_param::{IdParam, TextId};

const MAX_URL: usize = 2_000;
const EVENT_PREFIX: &str = "evt_";
pub const MAX_PIXELS: usize = 100;

/// A new endpoint.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct NewEndpoint {
    /// An https address on a public host.
    #[schema(example = "https://hooks.shop.example/assent")]
    pub url: String,
    /// The events it is told of, or groups such as `contact.*`; all when left out or empty.
    #[serde(default)]
    pub events: Vec<EventSelector>,
    /// The pixels it is told of, at most 100; all when left out or empty.
    #[serde(default)]
    #[schemars(with = "Vec<PixelId>")]
    #[schema(value_type = Vec<PixelId>)]
    pub pixels: Vec<String>,
    /// `standard` when left out.
    pub format: Option<Format>,
    /// `v1` when left out.
    pub signature: Option<SignatureKind>,
}

/// What is to be another; what is left out stays.
#[derive(Default, Deserialize, JsonSchema, ToSchema)]
pub struct EndpointChange {
    /// An https address on a public host.
    #[schema(example = "https://hooks.shop.example/assent")]
    pub url: Option<String>,
    /// Names or groups; empty for all.
    pub events: Option<Vec<EventSelector>>,
    /// At most 100; empty for all.
    #[schemars(with = "Option<Vec<PixelId>>")]
    #[schema(value_type = Option<Vec<PixelId>>)]
    pub pixels: Option<Vec<String>>,
    pub format: Option<Format>,
    pub signature: Option<SignatureKind>,
    /// True pauses; false resumes, and what waits is sent.
    pub paused: Option<bool>,
}

/// An endpoint by its id.
#[derive(Deserialize, JsonSchema)]
pub struct OfEndpoint {
    pub endpoint_id: IdParam<Uuid>,
}

impl OfEndpoint {
    pub fn id(&self) -> Result<Uuid> {
        id_of(self.endpoint_id)
    }
}

/// A malformed id is reported as not found.
pub fn id_of(endpoint_id: IdParam<Uuid>) -> Result<Uuid> {
    endpoint_id.into_id().ok_or(Error::WebhookNotFound)
}

/// The id of an event, read as the API or the header `webhook-id` has it.
#[derive(Clone, Copy)]
pub struct EventId(pub Uuid);

impl TextId for EventId {
    fn from_text(text: &str) -> Option<Self> {
        let id = text.strip_prefix(EVENT_PREFIX).unwrap_or(text);
        Uuid::try_parse(id).ok().map(Self)
    }
}

/// The id of an event as deliveries carry it: the same for every endpoint and attempt, so that receivers can
/// deduplicate.
pub fn webhook_id(event_id: Uuid) -> String {
    format!("{EVENT_PREFIX}{}", event_id.simple())
}

/// Validates a public address; the addresses that its host resolves to are checked at every delivery.
pub fn public_url(text: &str) -> Result<String> {
    let url = Url::parse(text.trim()).ok().filter(|url| {
        let is_name = matches!(url.host(), Some(Host::Domain(host)) if host.contains('.'));
        let is_plain = url.username().is_empty() && url.password().is_none();
        is_name && is_plain && url.scheme() == "https" && url.as_str().len() <= MAX_URL
    });
    url.map(String::from).ok_or_else(not_public)
}

pub fn not_public() -> Error {
    let problem = "must be an https address on a public host, at most 2,000 characters";
    Error::Validation(vec![FieldError::new(&["body", "url"], problem, "value_error")])
}

pub fn too_many_pixels() -> Error {
    let problem = "must be at most 100 pixels";
    Error::Validation(vec![FieldError::new(&["body", "pixels"], problem, "value_error")])
}

/// What is to be another of which endpoint; what is left out stays.
#[derive(Deserialize, JsonSchema)]
pub struct OnEndpoint {
    pub endpoint_id: IdParam<Uuid>,
    /// An https address on a public host.
    pub url: Option<String>,
    /// Names or groups; empty for all.
    pub events: Option<Vec<EventSelector>>,
    /// At most 100; empty for all.
    #[schemars(with = "Option<Vec<PixelId>>")]
    pub pixels: Option<Vec<String>>,
    pub format: Option<Format>,
    pub signature: Option<SignatureKind>,
    /// True pauses; false resumes, and what waits is sent.
    pub paused: Option<bool>,
}

impl OnEndpoint {
    pub fn new(endpoint_id: IdParam<Uuid>, change: EndpointChange) -> Self {
        let EndpointChange { url, events, pixels, format, signature, paused } = change;
        Self { endpoint_id, url, events, pixels, format, signature, paused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_to_a_public_name_is_taken() {
        for good in ["https://hooks.example/a?b=c", "https://hooks.example:8443/", " https://a.b "]
        {
            assert!(public_url(good).is_ok(), "{good}");
        }
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL));
        for bad in [
            "",
            "hooks.example",
            "http://hooks.example/",
            "https://localhost/",
            "https://127.0.0.1/",
            "https://0x7f.1/",
            "https://[::1]/",
            "https://u:p@hooks.example/",
            "ftp://hooks.example/",
            &long,
        ] {
            assert!(public_url(bad).is_err(), "{bad}");
        }
    }
}
