//! The payment provider's objects, as far as the service reads them.
//!
//! Written for the pinned version of its interface, and lenient towards others: webhook
//! deliveries come in the version that the provider's dashboard says.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::ids::AccountId;

/// An identifier that the provider gave out: letters, digits, `-`, `_`, so that it can stand in
/// a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ProviderId(String);

impl ProviderId {
    /// `None` for what the provider never gives out; it allows itself 255 characters.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let valid = !text.is_empty() && text.len() <= 255 && text.bytes().all(is_plain);
        valid.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProviderId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("no identifier of the payment provider")
    }
}

/// An object that the provider names by its id, or puts there whole when asked to.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expandable<T> {
    Id(ProviderId),
    Whole(T),
}

/// What a reference can be resolved to.
pub trait Identified {
    fn id(&self) -> &ProviderId;
}

impl<T: Identified> Expandable<T> {
    pub fn id(&self) -> &ProviderId {
        match self {
            Self::Id(id) => id,
            Self::Whole(object) => object.id(),
        }
    }
}

/// What is left of a whole object of which only the id matters.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    pub id: ProviderId,
}

impl Identified for Named {
    fn id(&self) -> &ProviderId {
        &self.id
    }
}

/// A reference of which only the id matters.
pub type Reference = Expandable<Named>;

/// What we wrote on an object when we made it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Metadata {
    pub account_id: Option<String>,
}

impl Metadata {
    fn account(&self) -> Option<AccountId> {
        self.account_id.as_deref().and_then(AccountId::parse)
    }
}

/// `checkout.session`
#[derive(Clone, Debug, Deserialize)]
pub struct Session {
    pub id: ProviderId,
    pub url: Option<String>,
    pub mode: Option<String>,
    pub status: Option<String>,
    pub payment_status: Option<String>,
    pub client_reference_id: Option<String>,
    pub metadata: Option<Metadata>,
    pub customer: Option<Reference>,
    pub subscription: Option<Expandable<Subscription>>,
}

impl Session {
    /// The account that the session was opened for.
    pub fn account(&self) -> Option<AccountId> {
        let reference = self.client_reference_id.as_deref().filter(|text| !text.is_empty());
        match reference {
            Some(reference) => AccountId::parse(reference),
            None => self.metadata.as_ref().and_then(Metadata::account),
        }
    }

    /// Sessions of other kinds belong to other products of the same operator.
    pub fn is_for_subscription(&self) -> bool {
        self.mode.as_deref().is_none_or(|mode| mode == "subscription")
    }

    pub fn is_paid(&self) -> bool {
        self.payment_status.as_deref() == Some("paid")
    }

    /// Whether a person can still pay with it.
    pub fn is_open(&self) -> bool {
        self.status.as_deref() == Some("open")
    }

    /// Whether a person went through with it; the money may still be on its way.
    pub fn is_complete(&self) -> bool {
        self.is_paid() || self.status.as_deref() == Some("complete")
    }
}

/// `subscription`
#[derive(Clone, Debug, Deserialize)]
pub struct Subscription {
    pub id: ProviderId,
    pub status: Option<String>,
    pub customer: Option<Reference>,
    /// Seconds since 1970; before version 2025-03-31 here, since then on each item.
    pub current_period_start: Option<i64>,
    pub current_period_end: Option<i64>,
    pub items: Option<List<SubscriptionItem>>,
    pub latest_invoice: Option<Expandable<LatestInvoice>>,
}

/// A page of objects inside another.
#[derive(Clone, Debug, Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
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
    /// Whether it will never charge again.
    pub fn has_ended(&self) -> bool {
        matches!(self.status.as_deref(), Some("canceled" | "incomplete_expired"))
    }

    /// The end of the period that is paid. A period begins before its invoice is paid, so the
    /// present one counts only when it is; until then the one before it does.
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

/// `invoice`
#[derive(Clone, Debug, Deserialize)]
pub struct Invoice {
    subscription: Option<Reference>,
    subscription_details: Option<SubscriptionDetails>,
    parent: Option<InvoiceParent>,
    lines: Option<List<InvoiceLine>>,
}

#[derive(Clone, Debug, Deserialize)]
struct InvoiceParent {
    subscription_details: Option<SubscriptionDetails>,
}

#[derive(Clone, Debug, Deserialize)]
struct SubscriptionDetails {
    subscription: Option<Reference>,
    metadata: Option<Metadata>,
}

#[derive(Clone, Debug, Deserialize)]
struct InvoiceLine {
    period: Option<Period>,
}

#[derive(Clone, Debug, Deserialize)]
struct Period {
    end: i64,
}

impl Invoice {
    /// The subscription that it bills: since version 2025-03-31 in its `parent`.
    pub fn subscription(&self) -> Option<&ProviderId> {
        let of_parent = self.details_of_parent().and_then(|details| details.subscription.as_ref());
        of_parent.or(self.subscription.as_ref()).map(Reference::id)
    }

    /// The account that the subscription was opened for.
    pub fn account(&self) -> Option<AccountId> {
        let details = self.details_of_parent().or(self.subscription_details.as_ref());
        details.and_then(|details| details.metadata.as_ref()).and_then(Metadata::account)
    }

    fn details_of_parent(&self) -> Option<&SubscriptionDetails> {
        self.parent.as_ref().and_then(|parent| parent.subscription_details.as_ref())
    }

    /// The end of the period that it paid for.
    pub fn paid_until(&self) -> Option<DateTime<Utc>> {
        let lines = self.lines.iter().flat_map(|lines| &lines.data);
        let end = lines.filter_map(|line| line.period.as_ref()).map(|period| period.end).max()?;
        DateTime::from_timestamp(end, 0)
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

    #[test]
    fn an_invoice_names_its_subscription_in_either_place() {
        let newer = json!({"parent": {"subscription_details": {"subscription": "sub_1", "metadata": {"account_id": "acc_1"}}}});
        let older = json!({"subscription": "sub_1", "subscription_details": {"metadata": {"account_id": "acc_1"}}});
        let whole = json!({"subscription": {"id": "sub_1", "object": "subscription"}});
        for invoice in [newer, older, whole.clone()] {
            let invoice = serde_json::from_value::<Invoice>(invoice).unwrap();
            assert_eq!(invoice.subscription(), ProviderId::parse("sub_1").as_ref());
        }
        let invoice = serde_json::from_value::<Invoice>(whole).unwrap();
        assert_eq!(invoice.account(), None);
    }

    #[test]
    fn an_id_can_never_leave_its_place_in_a_path() {
        for bad in ["", "a/b", "..", "a?b", "a%2fb", "a b", "ä", &"x".repeat(256)] {
            assert_eq!(ProviderId::parse(bad), None, "{bad}");
        }
        assert!(ProviderId::parse("cs_test_a1-B2").is_some());
    }
}
