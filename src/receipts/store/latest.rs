use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::ends::with_end;
use super::rows::{receipt_of, select_receipt};
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::Result;
use crate::infra::postgres::server_watch::require_writable;
use crate::types::ids::{PixelId, PixelRef, VisitorId};

/// The visitor whose latest receipt is looked up, of a pixel that is named by its id or its alias.
pub struct VisitorRef {
    pub pixel: PixelRef,
    pub visitor_id: VisitorId,
}

/// A visitor's latest receipt with the pixel's current settings.
pub struct LatestConsent {
    pub signed: SignedReceipt,
    /// The position of the receipt: later ones are greater.
    pub seq: i64,
    /// The time at which an acceptance expires; `None` for a refusal.
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether the popup is on and the owner not suspended. False for a deleted pixel.
    pub consent_in_force: bool,
    pub current_policy_hash: Option<String>,
}

impl LatestConsent {
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}

/// A query for the latest receipts of visitors, for each of the pixels `$1` with its visitors' ids joined in
/// `$2`. The data of a pixel are looked up once, however many lookups concern it; `OFFSET 0` keeps the
/// planner from repeating that for each. Every lookup is a separate subquery, so that each uses the index,
/// whatever the planner's estimate of their number.
macro_rules! select_latest {
    ([$($end:literal),+], $($argument:expr),+) => {
        select_receipt!(
            "pixel.number AS \"number!\", visitor.position AS \"position!\", receipt.seq AS \"seq!\",
                 CASE WHEN receipt.consent_state = 'accepted' THEN "
                $(+ $end)+
                + " END AS expires_at,
                 pixel.consent_in_force AS \"consent_in_force!\", pixel.current_policy_hash,
                 (SELECT current_setting('transaction_read_only') = 'off') AS \"is_writable!\"",
            "FROM (
                 SELECT number, visitors, pixel_id,
                     COALESCE((SELECT consent_enabled AND status <> 'suspended'
                         FROM pixels JOIN accounts USING (account_id)
                         WHERE pixels.pixel_id = named.pixel_id), false) AS consent_in_force,
                     (SELECT policy.policy_hash FROM consent_policies AS policy
                      WHERE policy.pixel_id = named.pixel_id ORDER BY version DESC LIMIT 1)
                         AS current_policy_hash
                 FROM (
                     SELECT number, visitors, COALESCE(
                         (SELECT a.pixel_id FROM pixel_aliases AS a WHERE alias = name), name)
                             AS pixel_id
                     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY
                         AS asked (name, visitors, number) OFFSET 0
                 ) AS named OFFSET 0
             ) AS pixel
             CROSS JOIN LATERAL string_to_table(pixel.visitors, ',') WITH ORDINALITY
                 AS visitor (visitor_id, position)
             CROSS JOIN LATERAL (
                 SELECT * FROM consent_receipts
                 WHERE consent_receipts.pixel_id = pixel.pixel_id
                     AND consent_receipts.visitor_id = visitor.visitor_id
                 ORDER BY seq DESC LIMIT 1
             ) AS receipt",
            $($argument),+
        )
    };
}

#[derive(Default)]
struct ByPixel<'a> {
    names: Vec<&'a str>,
    visitors: Vec<Vec<&'a str>>,
    /// The indexes of a group's lookups.
    indexes: Vec<Vec<usize>>,
}

impl<'a> ByPixel<'a> {
    fn of(lookups: impl Iterator<Item = &'a VisitorRef>) -> Self {
        let mut groups = Self::default();
        let mut numbers = HashMap::new();
        for (index, VisitorRef { pixel, visitor_id }) in lookups.enumerate() {
            let number = *numbers.entry(pixel.as_str()).or_insert_with(|| {
                groups.names.push(pixel.as_str());
                groups.visitors.push(Vec::new());
                groups.indexes.push(Vec::new());
                groups.names.len() - 1
            });
            groups.visitors[number].push(visitor_id.as_str());
            groups.indexes[number].push(index);
        }
        groups
    }

    /// The index of a lookup from the ordinals of its pixel and its visitor, which count from 1.
    fn index_of(&self, number: i64, position: i64) -> Option<usize> {
        let at = |number: i64| usize::try_from(number - 1).ok();
        self.indexes.get(at(number)?)?.get(at(position)?).copied()
    }
}

/// The latest receipt of each visitor, in the order of the lookups; pixels are named by canonical id or
/// alias. A deleted pixel's receipts are found by its canonical id. A receipt that cannot be parsed is an
/// error for that visitor only. Fails on a server that takes no writes, because its receipts may be out of
/// date.
pub async fn list_latest(
    connection: &mut PgConnection,
    lookups: &[impl AsRef<VisitorRef>],
) -> Result<Vec<Option<Result<LatestConsent>>>> {
    let groups = ByPixel::of(lookups.iter().map(AsRef::as_ref));
    // `unnest()` would flatten an array of arrays, so each list is passed as one text.
    let visitors = groups.visitors.iter().map(|ids| ids.join(",")).collect::<Vec<_>>();
    let rows = with_end!(select_latest of "receipt.pixel_id", &groups.names as &[&str], &visitors)
        .fetch_all(connection)
        .await?;
    let mut found = Vec::new();
    found.resize_with(lookups.len(), || None);
    for row in rows {
        require_writable(row.is_writable)?;
        let Some(index) = groups.index_of(row.number, row.position) else { continue };
        let (seq, expires_at, consent_in_force) = (row.seq, row.expires_at, row.consent_in_force);
        let current_policy_hash = row.current_policy_hash;
        found[index] = Some(receipt_of!(row).map(|signed| LatestConsent {
            signed,
            seq,
            expires_at,
            consent_in_force,
            current_policy_hash,
        }));
    }
    Ok(found)
}
