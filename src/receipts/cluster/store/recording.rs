use std::collections::HashSet;
use std::time::Duration;

use sqlx::{Connection, PgConnection, PgPool, query, query_scalar};
use uuid::Uuid;

use super::insertion::{NumberedReceipt, insert_numbered};
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::Result;
use crate::infra::events::{EventRow, WrittenEvent, delete_events, insert_events, release_events};
use crate::infra::postgres::dedicated_connection::{DatabaseClock, LiveConnection};
use crate::receipts::record::new_receipt::NewReceipt;
use crate::receipts::store::rows::{by_position, pixels_of, receipt_of, select_receipt};
use crate::receipts::store::shown::ShownOn;
use crate::types::ids::{PixelId, VisitorId};

/// After this time the outcome of unconfirmed receipts is known. Until then their events are deferred.
const DEFERRAL: Duration = Duration::from_secs(60);

/// Like [`insert_receipts`](crate::receipts::store::recording::insert_receipts), for receipts of one shard. Each
/// row's `seq` is allocated, and its deadline checked, before the rows are sent to their machine, so a choice gets
/// its position before its deadline, or is not stored. Account erasure blocks until the caller releases the locks
/// with [`release_locks`]. After an error, close the connection: that releases them too, but a commit that hangs for
/// longer than the timeout may then complete after the erasure. The events for endpoints are stored on the
/// coordinator. They are written beforehand on a connection of `pool`, so that the receipts are committed by their
/// own machine alone, and deferred until [`PendingEvents::publish`].
pub async fn insert_receipts(
    on: &mut LiveConnection,
    pool: &PgPool,
    rows: &[impl AsRef<NewReceipt>],
) -> Result<PendingEvents> {
    let connection = &mut on.connection;
    let numbered = allocate_seq(connection, on.clock, rows).await?;
    if numbered.is_empty() {
        return Ok(PendingEvents::default());
    }
    let deferred = insert_deferred(pool, &events_of(&numbered)).await?;
    let stored = insert_numbered(connection, &numbered).await?;
    Ok(PendingEvents { stored, deferred })
}

/// The stored receipts, and their deferred events.
#[derive(Default)]
#[must_use = "endpoints are notified late of events that are not published"]
pub struct PendingEvents {
    stored: HashSet<i64>,
    deferred: Vec<WrittenEvent>,
}

impl PendingEvents {
    /// The number of new receipts.
    pub fn count(&self) -> usize {
        self.stored.len()
    }

    /// Makes the events of stored receipts due, and deletes the others. If this fails, the events are settled
    /// once their deferral ends.
    pub async fn publish(self, pool: &PgPool) -> Result<()> {
        if self.deferred.is_empty() {
            return Ok(());
        }
        let is_stored = |event: &WrittenEvent| {
            event.subject["seq"].as_i64().is_some_and(|seq| self.stored.contains(&seq))
        };
        let (events, discarded): (Vec<_>, Vec<_>) = self.deferred.into_iter().partition(is_stored);
        let mut connection = pool.acquire().await?;
        release_events(&mut connection, &events).await?;
        delete_events(&mut connection, &discarded).await
    }
}

/// Releases the locks of this connection, for which account erasure waits.
pub async fn release_locks(connection: &mut PgConnection) -> Result<()> {
    query!("SELECT pg_advisory_unlock_all()").execute(connection).await?;
    Ok(())
}

/// Allocates the `seq` of the rows within their deadline, in order, except those of deleted or suspended pixels.
/// Takes the locks that account erasure waits for.
async fn allocate_seq<'a>(
    connection: &mut PgConnection,
    clock: DatabaseClock,
    rows: &'a [impl AsRef<NewReceipt>],
) -> Result<Vec<NumberedReceipt<'a>>> {
    let rows = rows.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    let pixel_ids = rows.iter().map(|row| row.signed.receipt.pixel_id.as_str());
    let pixel_ids = pixel_ids.collect::<Vec<_>>();
    let numbered = query!(
        "WITH present AS MATERIALIZED (SELECT hold_recordable_pixels($2) AS pixel_id)
         SELECT position AS \"position!\", nextval('consent_receipt_seq') AS \"seq!\",
             clock_timestamp() AS \"now!\",
             (SELECT nextval('log_batch_seq') WHERE $3) AS log_batch
         FROM (
             SELECT position
             FROM unnest($1::text[]) WITH ORDINALITY AS job (pixel_id, position)
             WHERE job.pixel_id IN (SELECT pixel_id FROM present)
             ORDER BY position OFFSET 0
         ) AS job",
        &pixel_ids as &[&str],
        &pixels_of(pixel_ids.iter().copied()),
        rows.iter().all(|row| row.leaf.is_some()),
    )
    .fetch_all(connection)
    .await?;
    let numbered = numbered.into_iter().filter_map(|numbered| {
        let row = *rows.get(usize::try_from(numbered.position - 1).ok()?)?;
        let is_in_time = numbered.now < clock.at(row.deadline());
        is_in_time.then_some(NumberedReceipt {
            row,
            seq: numbered.seq,
            log_batch: numbered.log_batch,
        })
    });
    Ok(numbered.collect())
}

fn events_of(numbered: &[NumberedReceipt<'_>]) -> Vec<EventRow> {
    let events = numbered.iter().flat_map(|NumberedReceipt { row, seq, .. }| {
        let subject = serde_json::json!({"seq": seq});
        row.events.iter().map(move |event| EventRow { subject: subject.clone(), ..event.clone() })
    });
    events.collect()
}

/// Writes deferred events, which [`PendingEvents::publish`] makes due.
async fn insert_deferred(pool: &PgPool, events: &[EventRow]) -> Result<Vec<WrittenEvent>> {
    match events.is_empty() {
        true => Ok(Vec::new()),
        false => insert_events(&mut *pool.acquire().await?, events, DEFERRAL).await,
    }
}

pub async fn list_stored(
    connection: &mut PgConnection,
    wanted: &[impl AsRef<NewReceipt>],
) -> Result<Vec<Option<Result<SignedReceipt>>>> {
    let rows = || wanted.iter().map(AsRef::as_ref);
    let receipts = || rows().map(|row| &row.signed.receipt);
    let pixel_ids = receipts().map(|receipt| receipt.pixel_id.as_str()).collect::<Vec<_>>();
    let visitor_ids = receipts().map(|receipt| receipt.visitor_id.as_str()).collect::<Vec<_>>();
    let receipt_ids = receipts().map(|receipt| receipt.receipt_id).collect::<Vec<_>>();
    let choices = rows().map(|row| row.choice).collect::<Vec<_>>();
    let rows = select_receipt!(
        "position AS \"position!\"",
        "FROM unnest($2::text[], $3::text[], $4::uuid[], $5::uuid[]) WITH ORDINALITY
             AS wanted (pixel_id, visitor_id, receipt_id, choice_id, position)
         CROSS JOIN LATERAL (
             (SELECT * FROM consent_receipts AS named
              WHERE named.pixel_id = ANY ($1) AND named.pixel_id = wanted.pixel_id
                  AND named.choice_id = wanted.choice_id LIMIT 1)
             UNION ALL
             (SELECT * FROM consent_receipts AS nameless
              WHERE wanted.choice_id IS NULL AND nameless.pixel_id = ANY ($1)
                  AND nameless.pixel_id = wanted.pixel_id
                  AND nameless.visitor_id = wanted.visitor_id
                  AND nameless.receipt_id = wanted.receipt_id
              ORDER BY seq DESC LIMIT 1)
         ) AS receipt",
        &pixels_of(pixel_ids.iter().copied()),
        &pixel_ids as &[&str],
        &visitor_ids as &[&str],
        &receipt_ids,
        &choices as &[Option<Uuid>],
    )
    .fetch_all(connection)
    .await?;
    let found = rows.into_iter().map(|row| (row.position, receipt_of!(row)));
    by_position(wanted.len(), found)
}

pub async fn insert_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    shown_on: ShownOn,
    visitor_id: &VisitorId,
) -> Result<()> {
    let mut transaction = connection.begin().await?;
    // A pooled connection must not wait long for a single machine.
    query!("SET LOCAL statement_timeout = 2000").execute(&mut *transaction).await?;
    let fenced = query_scalar!("SELECT recordable_pixels(ARRAY[$1::text])", pixel_id.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
    if fenced.is_some() {
        query!(
            "INSERT INTO consent_shown (pixel_id, shown_on, visitor_id) VALUES ($1, $2, $3)
             ON CONFLICT (pixel_id, shown_on, visitor_id) DO NOTHING",
            pixel_id.as_str(),
            shown_on.utc,
            visitor_id.as_str(),
        )
        .execute(&mut *transaction)
        .await?;
        if let Some((zone, day)) = shown_on.local {
            query!(
                "INSERT INTO consent_shown_local (pixel_id, time_zone, shown_on, visitor_id)
                 VALUES ($1, $2, $3, $4)
                 ON CONFLICT (pixel_id, time_zone, shown_on, visitor_id) DO NOTHING",
                pixel_id.as_str(),
                zone.name(),
                day,
                visitor_id.as_str(),
            )
            .execute(&mut *transaction)
            .await?;
        }
    }
    transaction.commit().await?;
    Ok(())
}
