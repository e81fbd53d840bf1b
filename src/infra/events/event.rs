use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::types::ids::{AccountId, PixelId, uuid_v7};
use crate::types::text_enum::text_enum;

text_enum! {
    /// What an endpoint may be told of.
    pub enum EventKind {
        ContactCreated = "contact.created",
        ContactUpdated = "contact.updated",
        ContactWithdrawn = "contact.withdrawn",
        ChoiceRecorded = "choice.recorded",
        PolicyPublished = "policy.published",
        InstallChanged = "install.changed",
        /// Concerns the account as a whole.
        AllowanceReached = "allowance.reached",
        ErasureRequested = "erasure.requested",
        SilenceBroken = "silence.broken",
        SilenceRestored = "silence.restored",
    }
}

text_enum! {
    /// An event, or a group of them with all that are added to it later.
    pub enum EventSelector {
        ContactCreated = "contact.created",
        ContactUpdated = "contact.updated",
        ContactWithdrawn = "contact.withdrawn",
        ChoiceRecorded = "choice.recorded",
        PolicyPublished = "policy.published",
        InstallChanged = "install.changed",
        AllowanceReached = "allowance.reached",
        ErasureRequested = "erasure.requested",
        SilenceBroken = "silence.broken",
        SilenceRestored = "silence.restored",
        Contacts = "contact.*",
        Choices = "choice.*",
        Policies = "policy.*",
        Installs = "install.*",
        Allowances = "allowance.*",
        Erasures = "erasure.*",
        Silence = "silence.*",
    }
}

pub fn selects(selector: &str, kind: EventKind) -> bool {
    let is_of_group =
        |group: &str| kind.as_str().split_once('.').is_some_and(|(own, _)| own == group);
    selector == kind.as_str() || selector.strip_suffix(".*").is_some_and(is_of_group)
}

pub struct NewEvent<'a> {
    pub kind: EventKind,
    /// `None` for an event of the whole account.
    pub pixel_id: Option<&'a PixelId>,
    /// A JSON object with the ids that the event concerns, from which its body is built.
    pub subject: Value,
    pub occurred_at: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    pub endpoint_id: Uuid,
    /// `None` selects all events; `pixels` likewise.
    pub events: Option<Vec<String>>,
    pub pixels: Option<Vec<String>>,
}

impl Subscriber {
    fn wants(&self, kind: EventKind, pixel_id: Option<&PixelId>) -> bool {
        let selectors = self.events.as_ref();
        let has_pixel = |pixel_id: &PixelId| {
            self.pixels.as_ref().is_none_or(|list| list.iter().any(|id| id == pixel_id.as_str()))
        };
        selectors.is_none_or(|list| list.iter().any(|selector| selects(selector, kind)))
            && pixel_id.is_none_or(has_pixel)
    }
}

/// The endpoints of an account. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Subscribers {
    account_id: AccountId,
    endpoints: Arc<[Subscriber]>,
}

impl Subscribers {
    pub fn new(account_id: AccountId, endpoints: Vec<Subscriber>) -> Self {
        Self { account_id, endpoints: endpoints.into() }
    }

    pub fn want(&self, kind: EventKind, pixel_id: Option<&PixelId>) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.wants(kind, pixel_id))
    }

    pub fn rows_of(&self, event: &NewEvent<'_>) -> Vec<EventRow> {
        // The usual case for choices, for which not even an id is generated.
        if self.endpoints.is_empty() {
            return Vec::new();
        }
        let event_id = uuid_v7(event.occurred_at);
        let partition_key = event.pixel_id.map_or(self.account_id.as_str(), PixelId::as_str);
        let wanting =
            self.endpoints.iter().filter(|endpoint| endpoint.wants(event.kind, event.pixel_id));
        let row = |endpoint: &Subscriber| EventRow {
            partition_key: partition_key.to_owned(),
            endpoint_id: endpoint.endpoint_id,
            event_id,
            kind: event.kind,
            subject: event.subject.clone(),
            occurred_at: event.occurred_at,
        };
        wanting.map(row).collect()
    }
}

#[derive(Clone, Debug)]
pub struct EventRow {
    /// The pixel, or the account for an event of the whole account.
    pub partition_key: String,
    pub endpoint_id: Uuid,
    pub event_id: Uuid,
    pub kind: EventKind,
    pub subject: Value,
    pub occurred_at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subscriber(id: u128, events: Option<&[&str]>, pixels: Option<&[&str]>) -> Subscriber {
        let owned = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
        Subscriber {
            endpoint_id: Uuid::from_u128(id),
            events: events.map(owned),
            pixels: pixels.map(owned),
        }
    }

    fn subscribed(subscribers: &Subscribers, kind: EventKind, pixel_id: Option<&str>) -> Vec<u128> {
        let pixel_id = pixel_id.map(|id| PixelId::from(id.to_owned()));
        let (pixel_id, occurred_at) = (pixel_id.as_ref(), DateTime::UNIX_EPOCH);
        let rows =
            subscribers.rows_of(&NewEvent { kind, pixel_id, subject: json!({}), occurred_at });
        assert_eq!(!rows.is_empty(), subscribers.want(kind, pixel_id));
        assert!(rows.iter().all(|row| row.event_id == rows[0].event_id), "one event");
        let partition_key = pixel_id.map_or("acc_1", PixelId::as_str);
        assert!(rows.iter().all(|row| row.partition_key == partition_key));
        rows.iter().map(|row| row.endpoint_id.as_u128()).collect()
    }

    #[test]
    fn every_event_can_be_selected_by_its_name_and_by_its_group() {
        for kind in EventKind::ALL {
            let group = format!("{}.*", kind.as_str().split_once('.').unwrap().0);
            for selector in [kind.as_str(), &group] {
                assert!(EventSelector::parse(selector).is_some(), "{selector}");
                assert!(selects(selector, *kind), "{selector}");
            }
            let of = |selector: &&EventSelector| selects(selector.as_str(), *kind);
            assert_eq!(EventSelector::ALL.iter().filter(of).count(), 2, "{kind:?}");
        }
    }

    #[test]
    fn an_endpoint_receives_events_of_its_kinds_and_pixels_only() {
        let subscribers = Subscribers::new(
            AccountId::from("acc_1".to_owned()),
            vec![
                subscriber(1, None, None),
                subscriber(2, Some(&["choice.recorded"]), None),
                subscriber(3, None, Some(&["px-1"])),
                subscriber(4, Some(&["contact.created"]), Some(&["px-2"])),
                subscriber(5, Some(&["contact.*", "erasure.*"]), None),
            ],
        );
        let subscribed = |kind, pixel_id| subscribed(&subscribers, kind, pixel_id);
        assert_eq!(subscribed(EventKind::ChoiceRecorded, Some("px-1")), [1, 2, 3]);
        assert_eq!(subscribed(EventKind::ChoiceRecorded, Some("px-2")), [1, 2]);
        assert_eq!(subscribed(EventKind::ContactCreated, Some("px-2")), [1, 4, 5]);
        assert_eq!(subscribed(EventKind::AllowanceReached, None), [1, 3]);
    }
}
