//! Payloads of events, built from the current state at each attempt, so that contacts that may no
//! longer be disclosed and deleted objects are not sent.

pub mod kinds;
mod on_pixel;
mod stored_event;

use std::collections::HashMap;

use futures_util::{StreamExt, TryStreamExt, stream};

use self::kinds::{AllowanceNews, EventPayload};
pub use self::stored_event::StoredEvent;
use self::stored_event::Subject;
use crate::accounts::find_account;
use crate::clock::Timestamp;
use crate::contacts::allowance;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::events::EventKind;
use crate::types::ids::{AccountId, PixelId};

/// Pixels whose events are read concurrently: each takes a connection.
const PIXELS_AT_ONCE: usize = 4;

/// The payload of each event; `None` for one that must not be sent. One pixel's events are read together.
pub async fn of(infra: &Infra, events: &[StoredEvent]) -> Result<Vec<Option<EventPayload>>> {
    let mut payloads = events.iter().map(|_| None).collect::<Vec<_>>();
    let mut by_pixel = HashMap::<&str, Vec<usize>>::new();
    for (index, event) in events.iter().enumerate() {
        match event.kind {
            EventKind::AllowanceReached => payloads[index] = of_account(infra, event).await?,
            _ => by_pixel.entry(&event.partition_key).or_default().push(index),
        }
    }
    let of_pixels = by_pixel.into_iter().map(|(pixel_id, indexes)| async move {
        let pixel_id = PixelId::from(pixel_id.to_owned());
        let events = indexes.iter().map(|&index| &events[index]).collect::<Vec<_>>();
        let found = on_pixel::payloads_of(infra, &pixel_id, &events).await?;
        Ok::<_, Error>(indexes.into_iter().zip(found).collect::<Vec<_>>())
    });
    let of_pixels = stream::iter(of_pixels.collect::<Vec<_>>());
    let of_pixels = of_pixels.buffer_unordered(PIXELS_AT_ONCE).try_collect::<Vec<_>>().await?;
    for (index, payload) in of_pixels.into_iter().flatten() {
        payloads[index] = payload;
    }
    Ok(payloads)
}

async fn of_account(infra: &Infra, event: &StoredEvent) -> Result<Option<EventPayload>> {
    let Subject { percent: Some(percent), .. } = event.subject() else { return Ok(None) };
    let account_id = AccountId::from(event.partition_key.clone());
    let mut connection = infra.pool.acquire().await?;
    let Some(account) = find_account(&mut connection, &account_id).await? else { return Ok(None) };
    let now = infra.clock.now();
    Ok(Some(EventPayload::Allowance(AllowanceNews {
        percent,
        reached_at: Timestamp(event.occurred_at),
        allowance: allowance::current(&mut connection, now, &account).await?,
        url: format!("{}/v1/billing/quote", infra.base_url()),
        account_id,
    })))
}
