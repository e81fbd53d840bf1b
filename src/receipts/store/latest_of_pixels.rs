//! Lookup of the latest receipts for pixels of one shard.

use std::collections::HashMap;

use chrono::Duration;
use sqlx::{PgConnection, query};

use super::latest::LatestConsent;
use super::named_pixels::NamedPixel;
use super::rows::{by_position, pixels_of, receipt_of, select_receipt};
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::{Error, Result};
use crate::infra::postgres::server_watch::require_writable;
use crate::policies::policy::USUAL_DAYS;
use crate::types::consent::ConsentState;
use crate::types::ids::{PixelId, VisitorId};

/// The visitor whose latest receipt is looked up, of a pixel that was found.
pub struct PixelVisitor {
    pub pixel: NamedPixel,
    pub visitor_id: VisitorId,
}

impl AsRef<Self> for PixelVisitor {
    fn as_ref(&self) -> &Self {
        self
    }
}

pub async fn list_latest(
    connection: &mut PgConnection,
    lookups: &[impl AsRef<PixelVisitor>],
) -> Result<Vec<Option<Result<LatestConsent>>>> {
    let lookups = lookups.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    let pixel_ids = lookups.iter().map(|lookup| lookup.pixel.pixel_id.as_str()).collect::<Vec<_>>();
    let visitors = lookups.iter().map(|lookup| lookup.visitor_id.as_str()).collect::<Vec<_>>();
    let pixels = pixels_of(pixel_ids.iter().copied());
    let rows = select_receipt!(
        "position AS \"position!\", receipt.seq AS \"seq!\", receipt.expires_at,
             (SELECT policy.policy_hash FROM consent_policies AS policy
              WHERE policy.pixel_id = ANY ($1) AND policy.pixel_id = receipt.pixel_id
              ORDER BY version DESC LIMIT 1)
                 AS current_policy_hash,
             current_setting('transaction_read_only') = 'off' AS \"is_writable!\"",
        "FROM unnest($2::text[], $3::text[]) WITH ORDINALITY
             AS question (pixel_id, visitor_id, position)
         CROSS JOIN LATERAL (
             SELECT * FROM consent_receipts
             WHERE pixel_id = ANY ($1) AND consent_receipts.pixel_id = question.pixel_id
                 AND consent_receipts.visitor_id = question.visitor_id
             ORDER BY seq DESC LIMIT 1
         ) AS receipt",
        &pixels,
        &pixel_ids as &[&str],
        &visitors as &[&str],
    )
    .fetch_all(&mut *connection)
    .await?;
    require_writable(rows.iter().all(|row| row.is_writable))?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let index = usize::try_from(row.position - 1).map_err(Error::internal)?;
        let consent_in_force =
            lookups.get(index).is_some_and(|lookup| lookup.pixel.consent_in_force);
        let (position, seq, expires_at) = (row.position, row.seq, row.expires_at);
        let current_policy_hash = row.current_policy_hash;
        let latest = receipt_of!(row).map(|signed| LatestConsent {
            signed,
            seq,
            expires_at,
            consent_in_force,
            current_policy_hash,
        });
        found.push((position, latest));
    }
    let of_before = found.iter_mut().filter_map(|(_, latest)| latest.as_mut().ok());
    let of_before = of_before.filter(|latest| {
        let state = latest.signed.receipt.consent_state;
        state == ConsentState::Accepted && latest.expires_at.is_none()
    });
    set_ends(connection, &pixels, of_before.collect()).await?;
    by_position(lookups.len(), found.into_iter())
}

/// Sets the end of acceptances that an older version recorded, from the days in their policies. This is a
/// separate query, because on a cluster another lookup for all receipts would add a third to the duration of
/// a check.
async fn set_ends(
    connection: &mut PgConnection,
    pixel_ids: &[String],
    acceptances: Vec<&mut LatestConsent>,
) -> Result<()> {
    if acceptances.is_empty() {
        return Ok(());
    }
    let hashes = acceptances.iter().map(|latest| latest.signed.receipt.policy_hash.as_str());
    let policies = query!(
        "SELECT pixel_id, policy_hash, consent_days FROM consent_policies
         WHERE pixel_id = ANY ($1) AND policy_hash = ANY ($2)",
        pixel_ids,
        &hashes.collect::<Vec<_>>() as &[&str],
    )
    .fetch_all(connection)
    .await?;
    let days = policies.iter().map(|policy| {
        ((policy.pixel_id.as_str(), policy.policy_hash.as_str()), policy.consent_days)
    });
    let days = days.collect::<HashMap<_, _>>();
    for latest in acceptances {
        let receipt = &latest.signed.receipt;
        let policy = (receipt.pixel_id.as_str(), receipt.policy_hash.as_str());
        let days = days.get(&policy).copied().unwrap_or(USUAL_DAYS);
        latest.expires_at = Some(receipt.recorded_at + Duration::days(days.into()));
    }
    Ok(())
}
