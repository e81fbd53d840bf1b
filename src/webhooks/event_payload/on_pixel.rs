use std::collections::HashMap;

use sqlx::PgPool;

use super::kinds::{
    ChoiceNews, ContactNews, ErasureNews, EventPayload, InstallNews, PolicyNews, SilenceNews,
    WithdrawnNews,
};
use super::stored_event::{StoredEvent, Subject};
use crate::contacts::contact::{Contact, WithdrawnContact};
use crate::contacts::list_withdrawn_of;
use crate::contacts::reading::finding::list_readable;
use crate::erasure::find_request;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::events::EventKind;
use crate::pixels::find_any_pixel;
use crate::pixels::install_check::InstallView;
use crate::pixels::pixel::Pixel;
use crate::policies::history::find_version;
use crate::receipts::{StoredReceipt, list_receipts_at};
use crate::silence::find_report;
use crate::types::ids::PixelId;

pub async fn payloads_of(
    infra: &Infra,
    pixel_id: &PixelId,
    events: &[&StoredEvent],
) -> Result<Vec<Option<EventPayload>>> {
    let Some(found) = Found::of(infra, pixel_id, events).await? else {
        return Ok(events.iter().map(|_| None).collect());
    };
    let mut payloads = Vec::with_capacity(events.len());
    for event in events {
        let payload = found.contact_or_choice(event);
        payloads.push(match payload {
            Some(payload) => Some(payload),
            None => found.rare(&infra.pool, infra.base_url(), event).await?,
        });
    }
    Ok(payloads)
}

struct Found {
    pixel: Pixel,
    url: String,
    contacts: HashMap<i64, Contact>,
    withdrawn: HashMap<i64, WithdrawnContact>,
    choices: HashMap<i64, StoredReceipt>,
}

impl Found {
    /// Reads what the events concern; `None` if the pixel is deleted.
    async fn of(
        infra: &Infra,
        pixel_id: &PixelId,
        events: &[&StoredEvent],
    ) -> Result<Option<Self>> {
        let ids = |kinds: &[EventKind], id: fn(Subject) -> Option<i64>| {
            let events = events.iter().filter(|event| kinds.contains(&event.kind));
            events.filter_map(|event| id(event.subject())).collect::<Vec<_>>()
        };
        let contact_id = |subject: Subject| subject.contact_id;
        let stored = ids(&[EventKind::ContactCreated, EventKind::ContactUpdated], contact_id);
        let withdrawn = ids(&[EventKind::ContactWithdrawn], contact_id);
        let choices = ids(&[EventKind::ChoiceRecorded], |subject| subject.seq);
        let mut connection = infra.pool.acquire().await?;
        let found = find_any_pixel(&mut connection, pixel_id).await?;
        let Some(pixel) = found else { return Ok(None) };
        let withdrawn = match withdrawn.is_empty() {
            true => Vec::new(),
            false => list_withdrawn_of(&mut connection, pixel_id, &withdrawn).await?,
        };
        let choices = match choices.is_empty() {
            true => Vec::new(),
            false => list_receipts_at(&mut connection, pixel_id, &choices).await?,
        };
        drop(connection);
        let contacts = match stored.is_empty() {
            true => Vec::new(),
            false => list_readable(infra, pixel_id, &stored).await?,
        };
        Ok(Some(Self {
            url: format!("{}/v1/pixels/{pixel_id}", infra.base_url()),
            contacts: contacts.into_iter().map(|contact| (contact.id, contact)).collect(),
            withdrawn: withdrawn.into_iter().map(|contact| (contact.id, contact)).collect(),
            choices: choices.into_iter().map(|choice| (choice.seq, choice)).collect(),
            pixel,
        }))
    }

    fn contact_or_choice(&self, event: &StoredEvent) -> Option<EventPayload> {
        let subject = event.subject();
        match event.kind {
            EventKind::ContactCreated | EventKind::ContactUpdated => {
                self.contacts.get(&subject.contact_id?).map(|contact| self.contact(contact))
            }
            EventKind::ContactWithdrawn => {
                self.withdrawn.get(&subject.contact_id?).map(|contact| self.withdrawn(contact))
            }
            EventKind::ChoiceRecorded => {
                self.choices.get(&subject.seq?).map(|choice| self.choice(choice))
            }
            _ => None,
        }
    }

    fn contact(&self, contact: &Contact) -> EventPayload {
        EventPayload::Contact(ContactNews {
            pixel_id: self.pixel.pixel_id.clone(),
            domain: self.pixel.domain.clone(),
            contact: contact.clone(),
            url: format!("{}/contacts?after={}&limit=1", self.url, contact.id - 1),
        })
    }

    fn withdrawn(&self, contact: &WithdrawnContact) -> EventPayload {
        let before = contact.position - 1;
        EventPayload::Withdrawn(WithdrawnNews {
            pixel_id: self.pixel.pixel_id.clone(),
            domain: self.pixel.domain.clone(),
            contact: contact.clone(),
            url: format!("{}/contacts/withdrawn?after={before}&limit=1", self.url),
        })
    }

    fn choice(&self, choice: &StoredReceipt) -> EventPayload {
        let receipt = &choice.signed.receipt;
        let (visitor_id, receipt_id) = (&receipt.visitor_id, receipt.receipt_id);
        EventPayload::Choice(ChoiceNews {
            pixel_id: self.pixel.pixel_id.clone(),
            domain: self.pixel.domain.clone(),
            url: format!("{}/consent?visitor_id={visitor_id}&receipt_id={receipt_id}", self.url),
            envelope: choice.signed.clone().into(),
            shown: choice.shown.clone(),
        })
    }

    async fn rare(
        &self,
        pool: &PgPool,
        base_url: &str,
        event: &StoredEvent,
    ) -> Result<Option<EventPayload>> {
        let (pixel_id, domain) = (self.pixel.pixel_id.clone(), self.pixel.domain.clone());
        let Subject { version, change, request_id, report_id, .. } = event.subject();
        if let Some(version) = version {
            let policy = find_version(pool, base_url, &pixel_id, version).await?;
            let url = format!("{}/consent/configuration", self.url);
            return Ok(policy
                .map(|policy| EventPayload::Policy(PolicyNews { pixel_id, domain, policy, url })));
        }
        if change.is_none() && request_id.is_none() && report_id.is_none() {
            return Ok(None);
        }
        let mut connection = pool.acquire().await?;
        if let Some(change) = change {
            let install = InstallView::read(&mut connection, self.pixel.clone()).await?;
            let url = format!("{}/check", self.url);
            let payload = InstallNews { pixel_id, domain, change, install, url };
            return Ok(Some(EventPayload::Install(Box::new(payload))));
        }
        if let Some(report_id) = report_id {
            let report = find_report(&mut connection, &pixel_id, report_id).await?;
            let url = format!("{}/watch-reports/{report_id}", self.url);
            let payload =
                |report| EventPayload::Silence(SilenceNews { pixel_id, domain, report, url });
            return Ok(report.map(payload));
        }
        let Some(request_id) = request_id else { return Ok(None) };
        let request = find_request(&mut connection, &pixel_id, request_id).await?;
        let url = format!("{}/erasure-requests", self.url);
        Ok(request
            .map(|request| EventPayload::Erasure(ErasureNews { pixel_id, domain, request, url })))
    }
}
