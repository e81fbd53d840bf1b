use serde::Deserialize;

use super::provider_reference::{Expandable, List, Metadata, ProviderId, Reference};
use super::subscription::Subscription;
use crate::types::ids::AccountId;

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
    /// Only present if the request expands it.
    line_items: Option<List<LineItem>>,
}

#[derive(Clone, Debug, Deserialize)]
struct LineItem {
    price: Option<Price>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Price {
    pub id: ProviderId,
    currency: Option<String>,
    unit_amount: Option<i64>,
    recurring: Option<Recurrence>,
}

#[derive(Clone, Debug, Deserialize)]
struct Recurrence {
    interval: String,
    interval_count: Option<i64>,
}

impl Price {
    pub fn is_monthly(&self, cents: i64) -> bool {
        let is_month = |recurrence: &Recurrence| {
            recurrence.interval == "month" && recurrence.interval_count.unwrap_or(1) == 1
        };
        self.currency.as_deref() == Some("usd")
            && self.unit_amount == Some(cents)
            && self.recurring.as_ref().is_some_and(is_month)
    }
}

impl Session {
    pub fn account(&self) -> Option<AccountId> {
        let reference = self.client_reference_id.as_deref().filter(|text| !text.is_empty());
        match reference {
            Some(reference) => AccountId::parse(reference),
            None => self.metadata.as_ref().and_then(Metadata::account),
        }
    }

    pub fn is_marked_for(&self, account_id: &AccountId) -> bool {
        self.metadata.as_ref().and_then(Metadata::account).as_ref() == Some(account_id)
    }

    pub fn prices(&self) -> impl Iterator<Item = &Price> {
        let items = self.line_items.iter().flat_map(|items| &items.data);
        items.filter_map(|item| item.price.as_ref())
    }

    /// Sessions of other kinds belong to other products of the same operator.
    pub fn is_for_subscription(&self) -> bool {
        self.mode.as_deref().is_none_or(|mode| mode == "subscription")
    }

    pub fn is_paid(&self) -> bool {
        self.payment_status.as_deref() == Some("paid")
    }

    pub fn is_open(&self) -> bool {
        self.status.as_deref() == Some("open")
    }

    /// Whether the person has completed the checkout; the payment may still be pending.
    pub fn is_complete(&self) -> bool {
        self.is_paid() || self.status.as_deref() == Some("complete")
    }
}
