//! Recording what visitors of pixels of one part of the tables choose.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use chrono::NaiveDate;
use sqlx::{Connection, PgConnection, PgPool, Postgres, QueryBuilder, query, query_scalar};
use uuid::Uuid;

use super::pixels_of;
use crate::error::{Error, Result};
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
/// their pixels waits until they are stored. After an error that is so until the connection ends, so it
/// must be given up. (A machine that hangs over its commit for longer than anybody waits may be late for
/// that.)
///
/// What endpoints are told waits at the coordinator. It is written on a connection of `pool` beforehand, so
/// that the receipts are committed by their own machine alone, and held back until they are stored.
pub async fn insert_receipts(
    on: &mut LiveConnection,
    pool: &PgPool,
    rows: &[impl AsRef<NewReceipt>],
) -> Result<usize> {
    let connection = &mut on.connection;
    let drawn = draw(connection, on.clock, rows).await?;
    let (mut held, mut stored) = (Vec::new(), HashSet::new());
    if !drawn.is_empty() {
        held = hold(pool, &told_of(&drawn)).await?;
        stored = insert_drawn(connection, &drawn).await?;
    }
    let released = query!("SELECT pg_advisory_unlock_all()").execute(connection).await;
    let_go(pool, held, &stored).await;
    // They are stored, so nobody must write them again.
    released.map_err(|error| {
        tracing::warn!(%error, "whoever waits for those who record waits until the connection ends");
        Error::DatabaseUnavailable
    })?;
    Ok(stored.len())
}

/// A row with its place among all that was recorded.
struct Drawn<'a> {
    row: &'a NewReceipt,
    seq: i64,
    log_batch: Option<i64>,
}

impl Drawn<'_> {
    fn pixel_id(&self) -> &str {
        self.row.signed.receipt.pixel_id.as_str()
    }
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

/// Inserts the rows with their leaves, if there is a log, and gives the `seq` of those that are new. Rows
/// alone are one statement, which their machine commits as it is.
async fn insert_drawn(connection: &mut PgConnection, drawn: &[Drawn<'_>]) -> Result<HashSet<i64>> {
    let Some(batch) = drawn.first().and_then(|first| first.log_batch) else {
        return insert_values(connection, drawn).await.map_err(unconfirmed);
    };
    let mut transaction = connection.begin().await?;
    insert_leaves(&mut transaction, batch, drawn).await?;
    let stored = insert_values(&mut transaction, drawn).await?;
    transaction.commit().await.map_err(unconfirmed)?;
    Ok(stored)
}

/// The errors after which nothing is committed (PostgreSQL's documentation, appendix A): data, constraints,
/// transactions that were in each other's way, statements, their size, locks, and what triggers raise.
const REFUSED: [&str; 8] = ["22", "23", "40001", "40P01", "42", "54", "55P03", "P0"];

/// What an error says of what was to be committed: unless it was refused for what is in it, it may have
/// happened, and nobody must write it again.
fn unconfirmed(error: sqlx::Error) -> Error {
    let code = error.as_database_error().and_then(|error| error.code());
    if code.is_some_and(|code| REFUSED.iter().any(|class| code.starts_with(class))) {
        return error.into();
    }
    tracing::warn!(%error, "a commit has not been confirmed");
    Error::DatabaseUnavailable
}

/// Inserts the leaves of the rows, those of a pixel together.
async fn insert_leaves(
    connection: &mut PgConnection,
    batch: i64,
    drawn: &[Drawn<'_>],
) -> Result<()> {
    let mut leaves = BTreeMap::<_, Vec<u8>>::new();
    for one in drawn {
        let hash = one.row.leaf.iter().flat_map(|leaf| leaf.hash);
        leaves.entry(one.pixel_id()).or_default().extend(hash);
    }
    let mut statement =
        QueryBuilder::<Postgres>::new("INSERT INTO log_leaves (pixel_id, batch, hashes) ");
    statement.push_values(leaves, |mut tuple, (pixel_id, hashes)| {
        tuple.push_bind(pixel_id).push_bind(batch).push_bind(hashes);
    });
    statement.build().persistent(false).execute(connection).await?;
    Ok(())
}

/// Inserts the rows, and gives the `seq` of those that are new. A row per tuple, because this form is sent
/// on as it is; so the text depends on how many there are, and cannot be looked at when the program is
/// compiled.
async fn insert_values(
    connection: &mut PgConnection,
    drawn: &[Drawn<'_>],
) -> sqlx::Result<HashSet<i64>> {
    let mut statement = QueryBuilder::<Postgres>::new(
        "INSERT INTO consent_receipts (pixel_id, seq, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, choice_id, expires_at, shown_language,
             shown_notice, shown_script, salt, log_batch) ",
    );
    statement.push_values(drawn, |mut tuple, Drawn { row, seq, log_batch }| {
        let (receipt, shown) = (&row.signed.receipt, row.shown.as_ref());
        let purposes = receipt.purposes.iter().map(|purpose| purpose.as_str().to_owned());
        tuple
            .push_bind(receipt.pixel_id.as_str())
            .push_bind(seq)
            .push_bind(receipt.receipt_id)
            .push_bind(receipt.visitor_id.as_str())
            .push_bind(receipt.origin.as_str())
            .push_bind(receipt.consent_state.as_str())
            .push_bind(receipt.policy_hash.as_str())
            .push_bind(purposes.collect::<Vec<_>>())
            .push_bind(receipt.recorded_at)
            .push_bind(&row.signed.signature[..])
            .push_bind(row.choice)
            .push_bind(row.expires_at)
            .push_bind(shown.map(|shown| shown.language.as_str()))
            .push_bind(shown.and_then(|shown| shown.notice.as_ref().map(|it| &it[..])))
            .push_bind(shown.and_then(|shown| shown.script.as_ref().map(|it| &it[..])))
            .push_bind(log_batch.and(row.leaf.as_ref()).map(|leaf| &leaf.salt[..]))
            .push_bind(log_batch);
    });
    statement.push(
        " ON CONFLICT (pixel_id, choice_id) WHERE choice_id IS NOT NULL DO NOTHING RETURNING seq",
    );
    let inserted = statement.build_query_scalar::<i64>().persistent(false);
    let inserted = inserted.fetch_all(connection).await?;
    Ok(inserted.into_iter().collect())
}

/// What endpoints are told of the rows, with the place of each.
fn told_of(drawn: &[Drawn<'_>]) -> Vec<EventRow> {
    let told = drawn.iter().flat_map(|Drawn { row, seq, .. }| {
        let subject = serde_json::json!({"seq": seq});
        row.told.iter().map(move |event| EventRow { subject: subject.clone(), ..event.clone() })
    });
    told.collect()
}

/// Writes what endpoints are told, to be sent when [`let_go`] says so.
async fn hold(pool: &PgPool, told: &[EventRow]) -> Result<Vec<WrittenEvent>> {
    match told.is_empty() {
        true => Ok(Vec::new()),
        false => insert_events(&mut *pool.acquire().await?, told, HELD).await,
    }
}

/// Lets endpoints be told of what is stored, and forgets the rest. Should that fail, it is found out when
/// the time of what is held is over.
async fn let_go(pool: &PgPool, held: Vec<WrittenEvent>, stored: &HashSet<i64>) {
    if held.is_empty() {
        return;
    }
    let is_stored = |event: &WrittenEvent| {
        event.subject["seq"].as_i64().is_some_and(|seq| stored.contains(&seq))
    };
    let (told, untold): (Vec<_>, Vec<_>) = held.into_iter().partition(is_stored);
    let settling = async {
        let mut connection = pool.acquire().await?;
        release_events(&mut connection, &told).await?;
        delete_events(&mut connection, &untold).await
    };
    if let Err(error) = settling.await {
        tracing::warn!(%error, "what endpoints are told is sent later");
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
