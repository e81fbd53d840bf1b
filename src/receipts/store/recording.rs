use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};
use uuid::Uuid;

use super::insertion::{insert_plain, insert_statement, insert_with_events, insert_with_leaves};
use super::rows::{by_position, receipt_of, select_receipt};
use crate::consent_receipt::receipt::SignedReceipt;
use crate::consent_receipt::user_action::{Act, Seen};
use crate::error::{Error, Result};
use crate::infra::events::{EventKind, EventRow};
use crate::infra::postgres::dedicated_connection::LiveConnection;
use crate::receipts::record::new_receipt::NewReceipt;
use crate::types::consent::Granted;
use crate::types::ids::{PixelId, VisitorId};

/// Inserts receipts in the given order and returns how many are new. The others repeat a stored choice, were
/// too late, or are of a deleted or suspended pixel. `seq`, which determines the latest receipt, is allocated
/// when a row is inserted, and right before that the database itself checks the deadline: a statement may
/// have been under way for longer than its caller waited, and another node may have recorded a later choice.
/// The rows are sorted before this check, so that each is checked right before it is inserted; `OFFSET 0`
/// keeps the planner from checking earlier. A refusal, or an acceptance without `resolution` or shorter than
/// 182 days, also fires the trigger `consent_receipts_recorded`, which records the visitor in
/// `consent_changes` for `contacts::withdrawal` if a contact may depend on them.
pub async fn insert_receipts(
    on: &mut LiveConnection,
    rows: &[impl AsRef<NewReceipt>],
) -> Result<usize> {
    let (batch, events) = (Batch::of(on, rows), EventColumns::of(rows));
    let (salts, hashes) = (&batch.salts, &batch.leaves);
    let connection = &mut on.connection;
    let inserted = match (events.event_ids.is_empty(), salts.is_empty()) {
        (true, true) => {
            let done = insert_plain!(query, [], [], batch).execute(connection).await?;
            return usize::try_from(done.rows_affected()).map_err(Error::internal);
        }
        (true, false) => {
            let insert =
                insert_with_leaves!(query, "$20", "$21", [], [], batch, salts as &[&[u8]], hashes);
            let done = insert.execute(connection).await?;
            return usize::try_from(done.rows_affected()).map_err(Error::internal);
        }
        (false, true) => {
            insert_with_events!(insert_plain, [], batch, events).fetch_one(connection).await?
        }
        (false, false) => {
            insert_with_events!(
                insert_with_leaves,
                ["$26", "$27"],
                batch,
                events,
                salts as &[&[u8]],
                hashes
            )
            .fetch_one(connection)
            .await?
        }
    };
    usize::try_from(inserted).map_err(Error::internal)
}

#[derive(Default)]
struct EventColumns<'a> {
    receipt_ids: Vec<Uuid>,
    partition_keys: Vec<&'a str>,
    endpoint_ids: Vec<Uuid>,
    event_ids: Vec<Uuid>,
    times: Vec<DateTime<Utc>>,
}

impl<'a> EventColumns<'a> {
    fn of(rows: &'a [impl AsRef<NewReceipt>]) -> Self {
        let mut events = Self::default();
        for row in rows.iter().map(AsRef::as_ref) {
            for EventRow { partition_key, endpoint_id, event_id, occurred_at, .. } in &row.events {
                events.receipt_ids.push(row.signed.receipt.receipt_id);
                events.partition_keys.push(partition_key.as_str());
                events.endpoint_ids.push(*endpoint_id);
                events.event_ids.push(*event_id);
                events.times.push(*occurred_at);
            }
        }
        events
    }
}

/// Receipts as arrays of columns.
struct Batch<'a> {
    pixel_ids: Vec<&'a str>,
    receipt_ids: Vec<Uuid>,
    visitor_ids: Vec<&'a str>,
    origins: Vec<&'a str>,
    states: Vec<&'a str>,
    hashes: Vec<&'a str>,
    purposes: Vec<String>,
    times: Vec<DateTime<Utc>>,
    signatures: Vec<&'a [u8]>,
    choices: Vec<Option<Uuid>>,
    deadlines: Vec<DateTime<Utc>>,
    expiries: Vec<Option<DateTime<Utc>>>,
    languages: Vec<Option<&'a str>>,
    notices: Vec<Option<&'a [u8]>>,
    scripts: Vec<Option<&'a [u8]>>,
    acts: Vec<Option<&'static str>>,
    seen: Vec<Option<&'static str>>,
    automated: Vec<Option<bool>>,
    pixels: Vec<&'a str>,
    /// One per receipt, or empty without a log.
    salts: Vec<&'a [u8]>,
    /// The hashes of each of `pixels`, concatenated.
    leaves: Vec<Vec<u8>>,
}

impl<'a> Batch<'a> {
    fn of(on: &LiveConnection, rows: &'a [impl AsRef<NewReceipt>]) -> Self {
        let rows = || rows.iter().map(AsRef::as_ref);
        let receipts = || rows().map(|row| &row.signed.receipt);
        let shown = || rows().map(|row| row.shown.as_ref());
        let pixel_ids = receipts().map(|receipt| receipt.pixel_id.as_str()).collect::<Vec<_>>();
        let mut pixels = pixel_ids.clone();
        pixels.sort_unstable();
        pixels.dedup();
        let leaves = || rows().map(|row| row.leaf.as_ref());
        let salts = leaves().map(|leaf| Some(&leaf?.salt[..])).collect::<Option<Vec<_>>>();
        let mut of_pixels = vec![Vec::new(); pixels.len()];
        for (pixel_id, leaf) in pixel_ids.iter().zip(leaves()) {
            if let Some(leaf) = leaf
                && let Ok(at) = pixels.binary_search(pixel_id)
            {
                of_pixels[at].extend_from_slice(&leaf.hash);
            }
        }
        Self {
            pixel_ids,
            pixels,
            salts: salts.unwrap_or_default(),
            leaves: of_pixels,
            receipt_ids: receipts().map(|receipt| receipt.receipt_id).collect(),
            visitor_ids: receipts().map(|receipt| receipt.visitor_id.as_str()).collect(),
            origins: receipts().map(|receipt| receipt.origin.as_str()).collect(),
            states: receipts().map(|receipt| receipt.consent_state.as_str()).collect(),
            hashes: receipts().map(|receipt| receipt.policy_hash.as_str()).collect(),
            // `unnest()` would flatten an array of arrays, so each list is passed as one text.
            purposes: receipts().map(|receipt| joined(&receipt.purposes)).collect(),
            times: receipts().map(|receipt| receipt.recorded_at).collect(),
            signatures: rows().map(|row| &row.signed.signature[..]).collect(),
            choices: rows().map(|row| row.choice).collect(),
            deadlines: rows().map(|row| on.clock.at(row.deadline())).collect(),
            expiries: rows().map(|row| row.expires_at).collect(),
            languages: shown().map(|shown| Some(shown?.language.as_str())).collect(),
            notices: shown().map(|shown| shown?.notice.as_ref().map(|it| &it[..])).collect(),
            scripts: shown().map(|shown| shown?.script.as_ref().map(|it| &it[..])).collect(),
            acts: shown().map(|shown| shown?.action.act.map(Act::as_str)).collect(),
            seen: shown().map(|shown| shown?.action.seen.map(Seen::as_str)).collect(),
            automated: shown().map(|shown| shown?.action.automated).collect(),
        }
    }
}

fn joined(purposes: &[Granted]) -> String {
    purposes.iter().map(|purpose| purpose.as_str()).collect::<Vec<_>>().join(",")
}

/// The stored receipt of each, in the given order: the first receipt of its choice, or its own if the choice
/// has no id. Every lookup is a separate subquery, as in [`list_latest`](super::latest::list_latest).
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
        "FROM unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[]) WITH ORDINALITY
             AS job (pixel_id, visitor_id, receipt_id, choice_id, position)
         CROSS JOIN LATERAL (
             (SELECT * FROM consent_receipts AS named
              WHERE named.pixel_id = job.pixel_id AND named.choice_id = job.choice_id LIMIT 1)
             UNION ALL
             (SELECT * FROM consent_receipts AS nameless
              WHERE job.choice_id IS NULL AND nameless.pixel_id = job.pixel_id
                  AND nameless.visitor_id = job.visitor_id
                  AND nameless.receipt_id = job.receipt_id
              ORDER BY seq DESC LIMIT 1)
         ) AS receipt",
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
