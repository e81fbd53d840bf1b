//! Recording what visitors of pixels of one part of the tables choose.

use std::collections::HashSet;
use std::time::Duration;

use chrono::NaiveDate;
use sqlx::{Connection, PgConnection, PgPool, query, query_scalar};
use uuid::Uuid;

use super::insertion::{Drawn, insert_drawn};
use super::pixels_of;
use crate::error::Result;
use crate::infra::events::EventRow;
use crate::infra::events::store::{WrittenEvent, delete_events, insert_events, release_events};
use crate::infra::postgres::kept_connection::{DatabaseClock, LiveConnection};
use crate::receipts::receipt::SignedReceipt;
use crate::receipts::store::recording::NewReceipt;
use crate::receipts::store::rows::{in_places, receipt_of, select_receipt};
use crate::types::ids::{PixelId, VisitorId};

/// After so long it is known what became of receipts that nobody has heard of again. Until then endpoints
/// are not told of them.
const HELD: Duration = Duration::from_secs(60);

/// As [`insert_receipts`](crate::receipts::store::recording::insert_receipts), for receipts of one part of the tables.
///
/// Each row's `seq` is drawn, and the clock looked at, before the rows are sent to the machine that has
/// them: what decides which choice is the latest is done in time, or not at all. Who erases the account of
/// their pixels waits until [`let_pass`], which the caller owes; after an error until the connection ends, so it
/// must be given up. (A machine that hangs over its commit for longer than anybody waits may be late for that.)
///
/// What endpoints are told waits at the coordinator. It is written on a connection of `pool` beforehand, so
/// that the receipts are committed by their own machine alone, and held back until [`Unsettled::let_go`].
pub async fn insert_receipts(
    on: &mut LiveConnection,
    pool: &PgPool,
    rows: &[impl AsRef<NewReceipt>],
) -> Result<Unsettled> {
    let connection = &mut on.connection;
    let drawn = draw(connection, on.clock, rows).await?;
    if drawn.is_empty() {
        return Ok(Unsettled::default());
    }
    let held = hold(pool, &told_of(&drawn)).await?;
    let stored = insert_drawn(connection, &drawn).await?;
    Ok(Unsettled { stored, held })
}

/// What was stored, and what is held back of it.
#[derive(Default)]
#[must_use = "endpoints are told late of what is not let go"]
pub struct Unsettled {
    stored: HashSet<i64>,
    held: Vec<WrittenEvent>,
}

impl Unsettled {
    /// How many receipts are new.
    pub fn count(&self) -> usize {
        self.stored.len()
    }

    /// Lets endpoints be told of what is stored, and forgets the rest. Should that fail, it is found out
    /// when the time of what is held is over.
    pub async fn let_go(self, pool: &PgPool) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let is_stored = |event: &WrittenEvent| {
            event.subject["seq"].as_i64().is_some_and(|seq| self.stored.contains(&seq))
        };
        let (told, untold): (Vec<_>, Vec<_>) = self.held.into_iter().partition(is_stored);
        let mut connection = pool.acquire().await?;
        release_events(&mut connection, &told).await?;
        delete_events(&mut connection, &untold).await
    }
}

/// Nobody waits for what was recorded on this connection any more.
pub async fn let_pass(connection: &mut PgConnection) -> Result<()> {
    query!("SELECT pg_advisory_unlock_all()").execute(connection).await?;
    Ok(())
}

/// Draws the `seq` of the rows for which it is still time, in their order, and holds the pixels that are
/// there: of one that is gone or suspended nothing is recorded.
async fn draw<'a>(
    connection: &mut PgConnection,
    clock: DatabaseClock,
    rows: &'a [impl AsRef<NewReceipt>],
) -> Result<Vec<Drawn<'a>>> {
    let rows = rows.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    let pixel_ids = rows.iter().map(|row| row.signed.receipt.pixel_id.as_str());
    let pixel_ids = pixel_ids.collect::<Vec<_>>();
    let drawn = query!(
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
    let drawn = drawn.into_iter().filter_map(|drawn| {
        let row = *rows.get(usize::try_from(drawn.position - 1).ok()?)?;
        let is_in_time = drawn.now < clock.at(row.deadline());
        is_in_time.then_some(Drawn { row, seq: drawn.seq, log_batch: drawn.log_batch })
    });
    Ok(drawn.collect())
}

/// What endpoints are told of the rows, with the place of each.
fn told_of(drawn: &[Drawn<'_>]) -> Vec<EventRow> {
    let told = drawn.iter().flat_map(|Drawn { row, seq, .. }| {
        let subject = serde_json::json!({"seq": seq});
        row.told.iter().map(move |event| EventRow { subject: subject.clone(), ..event.clone() })
    });
    told.collect()
}

/// Writes what endpoints are told, to be sent when [`Unsettled::let_go`] says so.
async fn hold(pool: &PgPool, told: &[EventRow]) -> Result<Vec<WrittenEvent>> {
    match told.is_empty() {
        true => Ok(Vec::new()),
        false => insert_events(&mut *pool.acquire().await?, told, HELD).await,
    }
}

/// As [`list_stored`](crate::receipts::store::recording::list_stored), for receipts of one part of the tables.
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
    in_places(wanted.len(), found)
}

/// As [`insert_shown`](crate::receipts::store::counts::insert_shown).
pub async fn insert_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    visitor_id: &VisitorId,
) -> Result<()> {
    let mut transaction = connection.begin().await?;
    // Of the pool's connections none is to wait for long for one machine.
    query!("SET LOCAL statement_timeout = 2000").execute(&mut *transaction).await?;
    let fenced = query_scalar!("SELECT recordable_pixels(ARRAY[$1::text])", pixel_id.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
    if fenced.is_some() {
        query!(
            "INSERT INTO consent_shown (pixel_id, shown_on, visitor_id) VALUES ($1, $2, $3)
             ON CONFLICT (pixel_id, shown_on, visitor_id) DO NOTHING",
            pixel_id.as_str(),
            day,
            visitor_id.as_str(),
        )
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(())
}
