//! Events of the payment provider (<https://docs.stripe.com/api/events>).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::types::json::shape;
use crate::types::text_enum::text_enum;

text_enum! {
    /// The event types that the service handles.
    pub enum EventType {
        CheckoutCompleted = "checkout.session.completed",
        InvoicePaid = "invoice.paid",
        InvoicePaymentFailed = "invoice.payment_failed",
        SubscriptionDeleted = "customer.subscription.deleted",
    }
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

/// Whether a delivery has a type that the service ignores. Its other members are not checked, because
/// the provider would repeat a refused delivery for days.
pub fn is_ignored(body: &[u8]) -> bool {
    let is_object = body.trim_ascii_start().starts_with(b"{");
    let typed = serde_json::from_slice::<Typed>(body);
    is_object && typed.is_ok_and(|typed| EventType::parse(&typed.kind).is_none())
}

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
    pub fn object<T: DeserializeOwned>(self) -> Result<T> {
        shape::read_value(&self.data.object, "object").map_err(|mut wrong| {
            wrong.loc.splice(0..0, ["body", "data"].map(str::to_owned));
            Error::Validation(vec![wrong])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn the_type_alone_decides_whether_an_event_is_ignored() {
        for body in [
            r#"{"type":"customer.created"}"#,
            r#"{"object":"v2.core.event","type":"v2.core.account.updated","related_object":{}}"#,
            r#"{"type":"x","data":[1e400,{"a":1,"a":2},"\u0000"]}"#,
            r#" {"data":null,"type":""}"#,
        ] {
            assert!(is_ignored(body.as_bytes()), "{body}");
        }
        for body in [
            r#"{"type":"invoice.paid"}"#,
            r#"{"type":"checkout.session.completed","data":7}"#,
            r#"{"type":7}"#,
            r#"{"type":"x","type":"invoice.paid"}"#,
            r#"{"data":{"type":"x"}}"#,
            r#"["customer.created"]"#,
            r#"{"type":"customer.created""#,
            "",
        ] {
            assert!(!is_ignored(body.as_bytes()), "{body}");
        }
    }
}
