//! Bodies of deliveries: an envelope around the current state of an event's subject, or a chat message.

use serde::Serialize;
use serde_json::{Value, json};

use super::chat;
use super::event_payload::kinds::EventPayload;
use super::event_payload::{self, StoredEvent};
use super::format::Format;
use super::store::waiting::DueDelivery;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::events::EventKind;

#[derive(Serialize)]
struct Envelope<'a> {
    r#type: &'a str,
    timestamp: Timestamp,
    data: Data,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data {
    Event(Box<EventPayload>),
    Test(Value),
}

/// Builds the bodies of deliveries, in the given order; `None` for an obsolete delivery. Deliveries
/// of one pixel are read together.
pub async fn of(
    infra: &Infra,
    format: Format,
    due: &[&DueDelivery],
) -> Result<Vec<Option<Vec<u8>>>> {
    let events = due.iter().filter_map(|due| event_of(due)).collect::<Vec<_>>();
    let mut payloads = event_payload::of(infra, &events).await?.into_iter();
    let mut bodies = Vec::with_capacity(due.len());
    for due in due {
        let data = match EventKind::parse(&due.kind) {
            Some(_) => payloads.next().flatten().map(|payload| Data::Event(Box::new(payload))),
            None => Some(test(infra.base_url())),
        };
        bodies.push(data.map(|data| written(infra.base_url(), format, due, data)).transpose()?);
    }
    Ok(bodies)
}

fn written(base_url: &str, format: Format, due: &DueDelivery, data: Data) -> Result<Vec<u8>> {
    let body = match format {
        Format::Standard => {
            let timestamp = Timestamp(due.occurred_at);
            serde_json::to_vec(&Envelope { r#type: &due.kind, timestamp, data })
        }
        Format::Slack | Format::Discord => serde_json::to_value(data).and_then(|data| {
            let kind = EventKind::parse(&due.kind);
            serde_json::to_vec(&chat::message(format, kind, &data, base_url))
        }),
    };
    body.map_err(Error::internal)
}

fn event_of(due: &DueDelivery) -> Option<StoredEvent> {
    Some(StoredEvent {
        kind: EventKind::parse(&due.kind)?,
        partition_key: due.partition_key.clone(),
        subject: due.subject.clone(),
        occurred_at: due.occurred_at,
    })
}

fn test(base_url: &str) -> Data {
    Data::Test(json!({
        "message": "Deliveries from here arrive. This is a test; nothing happened.",
        "sent_from": base_url,
    }))
}
