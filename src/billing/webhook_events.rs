//! Events of the payment provider (<https://docs.stripe.com/api/events>).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::types::json::shape;

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
        shape::read_value(&self.data.object, "object").map_err(|mut wrong| {
            wrong.loc.splice(0..0, ["body", "data"].map(str::to_owned));
            Error::Validation(vec![wrong])
        })
    }
}
