use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::provider_reference::{Expandable, Identified, List, ProviderId, Reference};

#[derive(Clone, Debug, Deserialize)]
pub struct Subscription {
    pub id: ProviderId,
    pub status: Option<String>,
    pub customer: Option<Reference>,
    /// Seconds since 1970. Since API version 2025-03-31, each item has the period instead.
    pub current_period_start: Option<i64>,
    pub current_period_end: Option<i64>,
    pub items: Option<List<SubscriptionItem>>,
    pub latest_invoice: Option<Expandable<LatestInvoice>>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct SubscriptionItem {
    pub current_period_start: Option<i64>,
    pub current_period_end: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct LatestInvoice {
    pub status: Option<String>,
}

impl Identified for Subscription {
    fn id(&self) -> &ProviderId {
        &self.id
    }
}

impl Subscription {
    pub fn has_ended(&self) -> bool {
        matches!(self.status.as_deref(), Some("canceled" | "incomplete_expired"))
    }

    /// Whether it has started and not ended. It is `incomplete` until the first payment in the checkout.
    pub fn is_running(&self) -> bool {
        !self.has_ended() && self.status.as_deref() != Some("incomplete")
    }

    /// The end of the paid period. A period begins before its invoice is paid, so the current one
    /// counts only once it is paid, and the previous one until then.
    pub fn paid_until(&self) -> Option<DateTime<Utc>> {
        let seconds = match self.present_period_is_paid() {
            true => self.period(self.current_period_end, |item| item.current_period_end),
            false => self.period(self.current_period_start, |item| item.current_period_start),
        };
        seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0))
    }

    fn period(
        &self,
        own: Option<i64>,
        of_item: impl Fn(&SubscriptionItem) -> Option<i64>,
    ) -> Option<i64> {
        let items = self.items.iter().flat_map(|items| &items.data);
        items.filter_map(of_item).max().or(own)
    }

    fn present_period_is_paid(&self) -> bool {
        match &self.latest_invoice {
            Some(Expandable::Whole(LatestInvoice { status: Some(status) })) => status == "paid",
            _ => !matches!(
                self.status.as_deref(),
                Some("incomplete" | "incomplete_expired" | "past_due" | "unpaid" | "paused")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn paid_until(subscription: Value) -> Option<i64> {
        let subscription = serde_json::from_value::<Subscription>(subscription).unwrap();
        subscription.paid_until().map(|time| time.timestamp())
    }

    fn subscription(status: &str, latest_invoice: Value) -> Value {
        let item = json!({"current_period_start": 1_000, "current_period_end": 2_000});
        json!({"id": "sub_1", "status": status, "items": {"data": [item]}, "latest_invoice": latest_invoice})
    }

    #[test]
    fn the_period_is_read_from_the_items_or_from_the_subscription_itself() {
        assert_eq!(paid_until(subscription("active", Value::Null)), Some(2_000));
        let older = json!({"id": "sub_1", "status": "active", "current_period_end": 3_000});
        assert_eq!(paid_until(older), Some(3_000));
        let two = json!([{"current_period_end": 5}, {"current_period_end": 7}]);
        assert_eq!(paid_until(json!({"id": "sub_1", "items": {"data": two}})), Some(7));
        assert_eq!(paid_until(json!({"id": "sub_1"})), None);
    }

    #[test]
    fn a_period_whose_invoice_is_not_paid_does_not_count() {
        for status in ["draft", "open", "void", "uncollectible"] {
            let unpaid = subscription("active", json!({"id": "in_1", "status": status}));
            assert_eq!(paid_until(unpaid), Some(1_000), "{status}");
        }
        for status in ["past_due", "unpaid", "incomplete"] {
            assert_eq!(paid_until(subscription(status, json!("in_1"))), Some(1_000), "{status}");
        }
        let ended = subscription("canceled", json!({"id": "in_1", "status": "paid"}));
        assert_eq!(paid_until(ended), Some(2_000));
    }
}
