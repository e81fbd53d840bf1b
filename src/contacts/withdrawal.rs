//! The effects of the end of a consent: dependent contacts are recorded as withdrawn, and erased
//! some days later. They become unreadable before that.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::{PgConnection, PgPool};

use super::intake::admission::LOOK_AGAIN_AFTER;
use super::store::consent::{self, DoubtfulContact};
use super::store::{withdrawn, writing};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::events::{self, EventKind, NewEvent, Subscribers};
use crate::infra::shutdown::Shutdown;
use crate::pixels::{find_any_pixel, lock_pixel};
use crate::types::ids::PixelId;

const BATCH: i64 = 500;

pub async fn record_withdrawn(infra: &Infra) -> Result<()> {
    let mut connection = infra.pool.acquire().await?;
    let pixel_ids = withdrawn::list_pixels_to_evaluate(&mut connection, infra.clock.now()).await?;
    drop(connection);
    for pixel_id in pixel_ids {
        // Not even a statement timeout, which counts as an unavailable database, may delay the other pixels.
        if let Err(error) = record_on_pixel(infra, &pixel_id).await {
            tracing::error!(?error, %pixel_id, "withdrawn contacts could not be recorded");
        }
    }
    Ok(())
}

async fn record_on_pixel(infra: &Infra, pixel_id: &PixelId) -> Result<()> {
    let pixel = {
        let mut connection = infra.pool.acquire().await?;
        find_any_pixel(&mut connection, pixel_id).await?
    };
    let subscribers = match pixel {
        Some(pixel) => Some(infra.events.subscribers(&pixel.account_id).await?),
        None => None,
    };
    let subscribers = subscribers.as_ref();
    while !infra.shutdown.has_begun() && record_batch(infra, pixel_id, subscribers).await? {}
    Ok(())
}

/// Returns whether there was anything to do. The pixel's lock excludes stores of contacts and other nodes.
async fn record_batch(
    infra: &Infra,
    pixel_id: &PixelId,
    subscribers: Option<&Subscribers>,
) -> Result<bool> {
    let mut transaction = infra.pool.begin().await?;
    let is_there = lock_pixel(&mut transaction, pixel_id).await?.is_some();
    let changes = withdrawn::list_changes(&mut transaction, pixel_id, BATCH).await?;
    let (positions, visitor_ids): (Vec<_>, Vec<_>) =
        changes.into_iter().map(|change| (change.position, change.visitor_id)).unzip();
    let now = infra.clock.now();
    let doubtful = match is_there {
        true => {
            consent::list_doubtful(&mut transaction, pixel_id, now, &visitor_ids, BATCH).await?
        }
        false => Vec::new(),
    };
    let was_idle = positions.is_empty() && doubtful.is_empty();
    if !was_idle {
        let hidden = withdraw_or_reschedule(&mut transaction, pixel_id, now, doubtful).await?;
        let is_wanted = put_events(&mut transaction, pixel_id, now, &hidden, subscribers).await?;
        withdrawn::delete_changes(&mut transaction, pixel_id, &positions).await?;
        transaction.commit().await?;
        if is_wanted {
            infra.events.wake();
        }
    }
    Ok(!was_idle)
}

/// Writes events for withdrawn contacts; `false` if they have no subscribers.
async fn put_events(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
    ids: &[i64],
    subscribers: Option<&Subscribers>,
) -> Result<bool> {
    let kind = EventKind::ContactWithdrawn;
    let wanted = subscribers.filter(|all| !ids.is_empty() && all.want(kind, Some(pixel_id)));
    let Some(subscribers) = wanted else { return Ok(false) };
    let event = |id: &i64| NewEvent {
        kind,
        pixel_id: Some(pixel_id),
        subject: json!({"contact_id": id}),
        occurred_at: now,
    };
    events::put(connection, subscribers, &ids.iter().map(event).collect::<Vec<_>>()).await?;
    Ok(true)
}

async fn withdraw_or_reschedule(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
    doubtful: Vec<DoubtfulContact>,
) -> Result<Vec<i64>> {
    let (hidden, kept): (Vec<_>, Vec<_>) =
        doubtful.into_iter().partition(|contact| contact.is_hidden);
    let at_latest = now + LOOK_AGAIN_AFTER;
    let (kept, times): (Vec<_>, Vec<_>) = kept
        .into_iter()
        .map(|contact| (contact.id, contact.expires_at.map_or(at_latest, |at| at.min(at_latest))))
        .unzip();
    withdrawn::update_judge_at(connection, pixel_id, &kept, &times).await?;
    if hidden.is_empty() {
        return Ok(Vec::new());
    }
    let ids = hidden.into_iter().map(|contact| contact.id).collect::<Vec<_>>();
    let before = writing::take_numbers(connection, pixel_id, ids.len()).await?;
    withdrawn::insert_withdrawn(connection, pixel_id, before, &ids, now).await?;
    tracing::info!(%pixel_id, contacts = ids.len(), "contacts withdrawn");
    Ok(ids)
}

/// Erases contacts that were withdrawn until `until`, and returns their number: 0 during shutdown.
pub async fn erase_withdrawn(
    pool: &PgPool,
    shutdown: &Shutdown,
    until: DateTime<Utc>,
) -> Result<u64> {
    if shutdown.has_begun() {
        return Ok(0);
    }
    let mut connection = pool.acquire().await?;
    let pixel_ids = withdrawn::list_pixels_to_erase(&mut connection, until).await?;
    drop(connection);
    let mut erased = 0;
    for pixel_id in pixel_ids {
        while !shutdown.has_begun() {
            let batch = erase_batch(pool, &pixel_id, until).await?;
            erased += batch;
            if batch < BATCH.unsigned_abs() {
                break;
            }
        }
    }
    Ok(erased)
}

/// Waits for a running store, which could otherwise count a deleted contact as an update.
async fn erase_batch(pool: &PgPool, pixel_id: &PixelId, until: DateTime<Utc>) -> Result<u64> {
    let mut transaction = pool.begin().await?;
    lock_pixel(&mut transaction, pixel_id).await?;
    let erased = withdrawn::delete_hidden(&mut transaction, pixel_id, until, BATCH).await?;
    transaction.commit().await?;
    Ok(erased)
}
