//! The provider's objects.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::state::Bought;

pub fn subscription(
    bought: &Bought,
    metadata: &Value,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) -> Value {
    json!({
        "id": bought.subscription,
        "object": "subscription",
        "cancel_at_period_end": false,
        "collection_method": "charge_automatically",
        "currency": "usd",
        "customer": bought.customer,
        "items": {"object": "list", "has_more": false, "data": [{
            "id": format!("si_{}", &bought.subscription[4..]),
            "object": "subscription_item",
            "current_period_start": start.timestamp(),
            "current_period_end": end.timestamp(),
            "quantity": 1,
            "subscription": bought.subscription,
        }]},
        "latest_invoice": bought.invoice,
        "livemode": false,
        "metadata": metadata,
        "status": "active",
    })
}

pub fn invoice(
    id: &str,
    subscription: &str,
    metadata: &Value,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) -> Value {
    json!({
        "id": id,
        "object": "invoice",
        "amount_due": 100,
        "amount_paid": 0,
        "amount_remaining": 100,
        "attempt_count": 0,
        "attempted": false,
        "billing_reason": "subscription_cycle",
        "collection_method": "charge_automatically",
        "currency": "usd",
        "lines": {"object": "list", "has_more": false, "data": [{
            "object": "line_item",
            "amount": 100,
            "period": {"start": start.timestamp(), "end": end.timestamp()},
        }]},
        "livemode": false,
        "metadata": {},
        "next_payment_attempt": null,
        "parent": {
            "quote_details": null,
            "subscription_details": {"metadata": metadata, "subscription": subscription},
            "type": "subscription_details",
        },
        "status": "open",
    })
}

/// The object as the version in use shows it.
pub fn shaped(mut object: Value, older: bool) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("subscription_metadata");
        fields.remove("lines_sold");
    }
    if !older {
        return object;
    }
    if object["object"] == "subscription" {
        for field in ["current_period_start", "current_period_end"] {
            let item = object["items"]["data"][0].as_object_mut().expect("an item");
            let value = item.remove(field).expect("a period");
            object[field] = value;
        }
    }
    if object["object"] == "invoice" {
        let details = object["parent"]["subscription_details"].clone();
        object["subscription"] = details["subscription"].clone();
        object["subscription_details"] = json!({"metadata": details["metadata"]});
        object.as_object_mut().expect("an object").remove("parent");
    }
    object
}
