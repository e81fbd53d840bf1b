//! Events of the payment provider (<https://docs.stripe.com/api/events>).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::{Error, FieldError, Result};

/// A delivery: what happened, and the object it happened to, as it was then.
#[derive(Deserialize, ToSchema)]
#[schema(as = PaymentEvent)]
pub struct Event {
    /// For example `checkout.session.completed`.
    #[serde(rename = "type")]
    pub kind: String,
    data: EventData,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = PaymentEventData)]
struct EventData {
    #[schema(value_type = Object)]
    object: Value,
}

impl Event {
    /// The object, read as the kind that the event's type goes with.
    pub fn object<T: DeserializeOwned>(self) -> Result<T> {
        serde_path_to_error::deserialize(self.data.object).map_err(|error| {
            let path = error.path().iter().map(ToString::to_string).collect::<Vec<_>>();
            let mut loc = vec!["body", "data", "object"];
            loc.extend(path.iter().map(String::as_str));
            Error::Validation(vec![FieldError::new(&loc, error.inner().to_string(), "type_error")])
        })
    }
}
