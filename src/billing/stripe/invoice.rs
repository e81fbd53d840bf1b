use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::provider_reference::{List, Metadata, ProviderId, Reference};
use crate::types::ids::AccountId;

#[derive(Clone, Debug, Deserialize)]
pub struct Invoice {
    id: Option<ProviderId>,
    status: Option<String>,
    /// In the smallest unit of the currency.
    amount_due: Option<i64>,
    currency: Option<String>,
    /// Seconds since 1970; `None` when the provider does not try again.
    next_payment_attempt: Option<i64>,
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
    pub fn id(&self) -> Option<&ProviderId> {
        self.id.as_ref()
    }

    pub fn is_open(&self) -> bool {
        self.status.as_deref() == Some("open")
    }

    /// The amount due, as in "1.00 USD".
    pub fn amount(&self) -> Option<String> {
        let (due, currency) = (self.amount_due?, self.currency.as_deref()?);
        // Prices are in US dollars; the units of other currencies are unknown here.
        (currency == "usd" && due > 0).then(|| format!("{}.{:02} USD", due / 100, due % 100))
    }

    pub fn next_attempt_at(&self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp(self.next_payment_attempt?, 0)
    }

    /// The billed subscription, which is in `parent` since API version 2025-03-31.
    pub fn subscription(&self) -> Option<&ProviderId> {
        let of_parent = self.details_of_parent().and_then(|details| details.subscription.as_ref());
        of_parent.or(self.subscription.as_ref()).map(Reference::id)
    }

    pub fn account(&self) -> Option<AccountId> {
        let details = self.details_of_parent().or(self.subscription_details.as_ref());
        details.and_then(|details| details.metadata.as_ref()).and_then(Metadata::account)
    }

    fn details_of_parent(&self) -> Option<&SubscriptionDetails> {
        self.parent.as_ref().and_then(|parent| parent.subscription_details.as_ref())
    }

    pub fn paid_until(&self) -> Option<DateTime<Utc>> {
        let lines = self.lines.iter().flat_map(|lines| &lines.data);
        let end = lines.filter_map(|line| line.period.as_ref()).map(|period| period.end).max()?;
        DateTime::from_timestamp(end, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_invoice_names_its_subscription_in_either_field() {
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
}
