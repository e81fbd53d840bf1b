//! The SQL of the writer of receipts.

use sqlx::{PgConnection, query};
use uuid::Uuid;

use super::{in_places, receipt_of};
use crate::consent::receipt::SignedReceipt;
use crate::consent::recorder::Job;
use crate::error::{Error, Result};
use crate::ids::{PixelId, VisitorId};

/// Inserts receipts in the order given and returns how many are new. The rest repeat a choice that
/// the pixel has already.
pub async fn insert_receipts(connection: &mut PgConnection, jobs: &[Job]) -> Result<usize> {
    let receipts = || jobs.iter().map(|job| &job.signed.receipt);
    let pixel_ids = receipts().map(|receipt| receipt.pixel_id.as_str()).collect::<Vec<_>>();
    let receipt_ids = receipts().map(|receipt| receipt.receipt_id).collect::<Vec<_>>();
    let visitor_ids = receipts().map(|receipt| receipt.visitor_id.as_str()).collect::<Vec<_>>();
    let origins = receipts().map(|receipt| receipt.origin.as_str()).collect::<Vec<_>>();
    let states = receipts().map(|receipt| receipt.consent_state.as_str()).collect::<Vec<_>>();
    let hashes = receipts().map(|receipt| receipt.policy_hash.as_str()).collect::<Vec<_>>();
    // unnest() would flatten an array of arrays, so each list of purposes travels as one text.
    let purposes = receipts()
        .map(|receipt| {
            receipt.purposes.iter().map(|purpose| purpose.as_str()).collect::<Vec<_>>().join(",")
        })
        .collect::<Vec<_>>();
    let times = receipts().map(|receipt| receipt.recorded_at).collect::<Vec<_>>();
    let signatures = jobs.iter().map(|job| &job.signed.signature[..]).collect::<Vec<_>>();
    let choice_ids = jobs.iter().map(|job| job.choice_id).collect::<Vec<_>>();
    let done = query!(
        "INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, choice_id)
         SELECT pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash,
             string_to_array(purposes, ','), recorded_at, signature, choice_id
         FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
             $7::text[], $8::timestamptz[], $9::bytea[], $10::uuid[])
             WITH ORDINALITY AS job (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, choice_id, position)
         ORDER BY position
         ON CONFLICT (pixel_id, choice_id) WHERE choice_id IS NOT NULL DO NOTHING",
        &pixel_ids as &[&str],
        &receipt_ids,
        &visitor_ids as &[&str],
        &origins as &[&str],
        &states as &[&str],
        &hashes as &[&str],
        &purposes,
        &times,
        &signatures as &[&[u8]],
        &choice_ids as &[Option<Uuid>],
    )
    .execute(connection)
    .await?;
    usize::try_from(done.rows_affected()).map_err(Error::internal)
}

/// The stored receipt of each job's choice, in the order of the jobs. Every lookup is a subquery of
/// its own, as in [`list_standings`](super::list_standings).
pub async fn list_receipts_of_choices(
    connection: &mut PgConnection,
    jobs: &[Job],
) -> Result<Vec<Option<SignedReceipt>>> {
    let pixel_ids = jobs.iter().map(|job| job.signed.receipt.pixel_id.as_str()).collect::<Vec<_>>();
    let choice_ids = jobs.iter().map(|job| job.choice_id).collect::<Vec<_>>();
    let rows = query!(
        "SELECT position AS \"position!\", receipt.pixel_id AS \"pixel_id: PixelId\", receipt_id,
             visitor_id AS \"visitor_id: VisitorId\", origin, consent_state, policy_hash, purposes,
             recorded_at, signature
         FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY
             AS choice (pixel_id, id, position)
         CROSS JOIN LATERAL (
             SELECT * FROM consent_receipts
             WHERE pixel_id = choice.pixel_id AND choice_id = choice.id LIMIT 1
         ) AS receipt",
        &pixel_ids as &[&str],
        &choice_ids as &[Option<Uuid>],
    )
    .fetch_all(connection)
    .await?;
    let found = rows.into_iter().map(|row| (row.position, receipt_of!(row)));
    in_places(jobs.len(), found)
}
