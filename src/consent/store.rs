//! The SQL of policies and receipts.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use super::directory::Site;
use super::policy::Policy;
use super::receipt::{Receipt, SignedReceipt};
use super::standings::Question;
use super::terms::{ConsentState, Purpose};
use crate::error::{Error, Result};
use crate::ids::{PixelId, PixelRef, VisitorId};
use crate::pixels::SiteHost;
use crate::pixels::store::find_public_pixel;

pub mod counts;
pub mod erasure;
pub mod recording;

struct PolicyRow {
    version: i32,
    policy_hash: String,
    document: String,
    domain: SiteHost,
    published_at: DateTime<Utc>,
}

impl TryFrom<PolicyRow> for Policy {
    type Error = Error;

    fn try_from(row: PolicyRow) -> Result<Self> {
        Ok(Self {
            version: row.version,
            hash: row.policy_hash,
            text: serde_json::from_str(&row.document).map_err(Error::internal)?,
            domain: row.domain,
            published_at: row.published_at,
        })
    }
}

pub async fn insert_policy(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    policy: &Policy,
    document: &str,
) -> Result<()> {
    query!(
        "INSERT INTO consent_policies (pixel_id, version, policy_hash, document, domain,
             published_at, account_id)
         VALUES ($1, $2, $3, $4, $5, $6, (SELECT account_id FROM pixels WHERE pixel_id = $1))",
        pixel_id.as_str(),
        policy.version,
        policy.hash,
        document,
        policy.domain.as_str(),
        policy.published_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_current_policy(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Policy>> {
    let row = query_as!(
        PolicyRow,
        "SELECT version, policy_hash, document, domain, published_at FROM consent_policies
         WHERE pixel_id = $1 ORDER BY version DESC LIMIT 1",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(Policy::try_from).transpose()
}

/// The newest version that has the hash.
pub async fn find_policy_by_hash(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hash: &str,
) -> Result<Option<Policy>> {
    let row = query_as!(
        PolicyRow,
        "SELECT version, policy_hash, document, domain, published_at FROM consent_policies
         WHERE pixel_id = $1 AND policy_hash = $2 ORDER BY version DESC LIMIT 1",
        pixel_id.as_str(),
        hash,
    )
    .fetch_optional(connection)
    .await?;
    row.map(Policy::try_from).transpose()
}

/// A stored version of a policy, its text as it was hashed.
pub struct PolicyVersion {
    pub version: i32,
    pub policy_hash: String,
    pub document: String,
    pub domain: SiteHost,
    pub published_at: DateTime<Utc>,
}

/// The versions after one, oldest first.
pub async fn list_policies(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i32,
    limit: i64,
) -> Result<Vec<PolicyVersion>> {
    let versions = query_as!(
        PolicyVersion,
        "SELECT version, policy_hash, document, domain, published_at FROM consent_policies
         WHERE pixel_id = $1 AND version > $2 ORDER BY version LIMIT $3",
        pixel_id.as_str(),
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(versions)
}

pub async fn upsert_appearance(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    appearance: &Value,
) -> Result<()> {
    query!(
        "INSERT INTO consent_appearances (pixel_id, appearance) VALUES ($1, $2)
         ON CONFLICT (pixel_id) DO UPDATE SET appearance = $2",
        pixel_id.as_str(),
        appearance,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The pixel of a canonical id or an alias, with its current policy and look.
pub async fn find_site(connection: &mut PgConnection, name: &PixelRef) -> Result<Option<Site>> {
    let Some(pixel) = find_public_pixel(connection, name).await? else { return Ok(None) };
    let policy = find_current_policy(connection, &pixel.pixel_id).await?;
    let appearance = query_scalar!(
        "SELECT appearance FROM consent_appearances WHERE pixel_id = $1",
        pixel.pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Site::new(pixel, policy, appearance).map(Some)
}

struct ReceiptRow {
    pixel_id: PixelId,
    receipt_id: Uuid,
    visitor_id: VisitorId,
    origin: String,
    consent_state: ConsentState,
    policy_hash: String,
    purposes: Vec<String>,
    recorded_at: DateTime<Utc>,
    signature: Vec<u8>,
}

impl From<ReceiptRow> for SignedReceipt {
    fn from(row: ReceiptRow) -> Self {
        Self {
            receipt: Receipt {
                pixel_id: row.pixel_id,
                receipt_id: row.receipt_id,
                visitor_id: row.visitor_id,
                origin: row.origin,
                consent_state: row.consent_state,
                policy_hash: row.policy_hash,
                purposes: row.purposes.into_iter().map(Purpose::from).collect(),
                recorded_at: row.recorded_at,
            },
            signature: row.signature,
        }
    }
}

/// The receipt in a record of a query that has more than a receipt's columns: such a record has a
/// type of its own for every query.
macro_rules! receipt_of {
    ($row:ident) => {
        SignedReceipt::from($crate::consent::store::ReceiptRow {
            pixel_id: $row.pixel_id,
            receipt_id: $row.receipt_id,
            visitor_id: $row.visitor_id,
            origin: $row.origin,
            consent_state: $row.consent_state.into(),
            policy_hash: $row.policy_hash,
            purposes: $row.purposes,
            recorded_at: $row.recorded_at,
            signature: $row.signature,
        })
    };
}
use receipt_of;

/// What was found for some of so many questions, each at its place; positions count from 1.
fn in_places<T>(len: usize, found: impl Iterator<Item = (i64, T)>) -> Result<Vec<Option<T>>> {
    let mut places = Vec::new();
    places.resize_with(len, || None);
    for (position, value) in found {
        let place = usize::try_from(position - 1).map_err(Error::internal)?;
        if let Some(slot) = places.get_mut(place) {
            *slot = Some(value);
        }
    }
    Ok(places)
}

/// Newest first: all in the order in which they were recorded, those of one state by their time.
pub async fn list_receipts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    state: Option<ConsentState>,
    limit: i64,
) -> Result<Vec<SignedReceipt>> {
    let rows = match state {
        None => {
            query_as!(
                ReceiptRow,
                "SELECT pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash,
                     purposes, recorded_at, signature
                 FROM consent_receipts
                 WHERE pixel_id = $1
                 ORDER BY seq DESC LIMIT $2",
                pixel_id.as_str(),
                limit,
            )
            .fetch_all(connection)
            .await?
        }
        Some(state) => {
            query_as!(
                ReceiptRow,
                "SELECT pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash,
                     purposes, recorded_at, signature
                 FROM consent_receipts
                 WHERE pixel_id = $1 AND consent_state = $2
                 ORDER BY recorded_at DESC, seq DESC LIMIT $3",
                pixel_id.as_str(),
                state.as_str(),
                limit,
            )
            .fetch_all(connection)
            .await?
        }
    };
    Ok(rows.into_iter().map(SignedReceipt::from).collect())
}

/// The position of the pixel's newest receipt, 0 when there is none.
pub async fn find_last_seq(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<i64> {
    let seq = query_scalar!(
        "SELECT COALESCE(max(seq), 0) AS \"seq!\" FROM consent_receipts WHERE pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(seq)
}

/// Receipts after one position and up to another, oldest first, each with its position.
pub async fn list_receipts_after(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    last: i64,
    limit: i64,
) -> Result<Vec<(i64, SignedReceipt)>> {
    let rows = query!(
        "SELECT seq, pixel_id AS \"pixel_id: PixelId\", receipt_id,
             visitor_id AS \"visitor_id: VisitorId\", origin, consent_state, policy_hash, purposes,
             recorded_at, signature
         FROM consent_receipts
         WHERE pixel_id = $1 AND seq > $2 AND seq <= $3
         ORDER BY seq LIMIT $4",
        pixel_id.as_str(),
        after,
        last,
        limit,
    )
    .fetch_all(connection)
    .await?;
    let signed = rows.into_iter().map(|row| (row.seq, receipt_of!(row)));
    Ok(signed.collect())
}

/// A visitor's latest receipt beside the pixel's present settings.
pub struct Standing {
    pub signed: SignedReceipt,
    /// The popup is on and the owner is not suspended. Off for a deleted pixel.
    pub consent_in_force: bool,
    pub current_policy_hash: Option<String>,
}

/// The latest receipt of each visitor that is asked for, in the order of the questions; the pixel
/// by its canonical id or an alias. A deleted pixel's receipts are found by its canonical id.
///
/// Every lookup is a subquery of its own, so that each goes by index, whatever the planner thinks
/// of the number of questions.
pub async fn list_standings(
    connection: &mut PgConnection,
    questions: &[Question],
) -> Result<Vec<Option<Standing>>> {
    let pixels = questions.iter().map(|question| question.pixel.to_string()).collect::<Vec<_>>();
    let visitors =
        questions.iter().map(|question| question.visitor_id.to_string()).collect::<Vec<_>>();
    let rows = query!(
        "SELECT position AS \"position!\", receipt.pixel_id AS \"pixel_id: PixelId\", receipt_id,
             receipt.visitor_id AS \"visitor_id: VisitorId\", origin, consent_state, policy_hash,
             purposes, recorded_at, signature,
             COALESCE((SELECT consent_enabled AND status <> 'suspended'
                 FROM pixels JOIN accounts USING (account_id)
                 WHERE pixels.pixel_id = receipt.pixel_id), false) AS \"consent_in_force!\",
             (SELECT policy.policy_hash FROM consent_policies AS policy
              WHERE policy.pixel_id = receipt.pixel_id ORDER BY version DESC LIMIT 1)
                 AS current_policy_hash
         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY
             AS question (pixel, visitor_id, position)
         CROSS JOIN LATERAL (
             SELECT * FROM consent_receipts
             WHERE pixel_id = COALESCE(
                     (SELECT a.pixel_id FROM pixel_aliases AS a WHERE alias = question.pixel),
                     question.pixel)
                 AND consent_receipts.visitor_id = question.visitor_id
             ORDER BY seq DESC LIMIT 1
         ) AS receipt",
        &pixels,
        &visitors,
    )
    .fetch_all(connection)
    .await?;
    let found = rows.into_iter().map(|row| {
        let standing = Standing {
            consent_in_force: row.consent_in_force,
            current_policy_hash: row.current_policy_hash,
            signed: receipt_of!(row),
        };
        (row.position, standing)
    });
    in_places(questions.len(), found)
}
