//! The SQL that finds visitors' latest receipts.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::ends::with_end;
use super::rows::{in_places, receipt_of, select_receipt};
use crate::error::Result;
use crate::receipts::receipt::SignedReceipt;
use crate::types::ids::{PixelId, PixelRef, VisitorId};

/// Whose latest receipt is asked for.
pub struct Question {
    pub pixel: PixelRef,
    pub visitor_id: VisitorId,
}

/// A visitor's latest receipt beside the pixel's present settings.
pub struct LatestConsent {
    pub signed: SignedReceipt,
    /// The position of the receipt: a later one has a greater.
    pub seq: i64,
    /// From when on an acceptance permits nothing; `None` for a refusal.
    pub expires_at: Option<DateTime<Utc>>,
    /// The popup is on and the owner is not suspended. Off for a deleted pixel.
    pub consent_in_force: bool,
    pub current_policy_hash: Option<String>,
}

impl LatestConsent {
    /// Whether the time of an acceptance is over.
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}

/// A query for the latest receipt of each of the visitors `$2` at the pixels `$1`.
///
/// Every lookup is a subquery of its own, so that each goes by index, whatever the planner thinks
/// of the number of questions.
macro_rules! select_latest {
    ([$($end:literal),+], $($argument:expr),+) => {
        select_receipt!(
            "position AS \"position!\", receipt.seq AS \"seq!\",
                 CASE WHEN receipt.consent_state = 'accepted' THEN "
                $(+ $end)+
                + " END AS expires_at,
                 COALESCE((SELECT consent_enabled AND status <> 'suspended'
                     FROM pixels JOIN accounts USING (account_id)
                     WHERE pixels.pixel_id = receipt.pixel_id), false) AS \"consent_in_force!\",
                 (SELECT policy.policy_hash FROM consent_policies AS policy
                  WHERE policy.pixel_id = receipt.pixel_id ORDER BY version DESC LIMIT 1)
                     AS current_policy_hash",
            "FROM unnest($1::text[], $2::text[]) WITH ORDINALITY
                 AS question (pixel, visitor_id, position)
             CROSS JOIN LATERAL (
                 SELECT * FROM consent_receipts
                 WHERE pixel_id = COALESCE(
                         (SELECT a.pixel_id FROM pixel_aliases AS a WHERE alias = question.pixel),
                         question.pixel)
                     AND consent_receipts.visitor_id = question.visitor_id
                 ORDER BY seq DESC LIMIT 1
             ) AS receipt",
            $($argument),+
        )
    };
}

/// The latest receipt of each visitor that is asked for, in the order of the questions; the pixel
/// by its canonical id or an alias. A deleted pixel's receipts are found by its canonical id. One
/// that cannot be read is an error of its own.
pub async fn list_latest(
    connection: &mut PgConnection,
    questions: &[impl AsRef<Question>],
) -> Result<Vec<Option<Result<LatestConsent>>>> {
    let asked = || questions.iter().map(AsRef::as_ref);
    let pixels = asked().map(|question| question.pixel.as_str()).collect::<Vec<_>>();
    let visitors = asked().map(|question| question.visitor_id.as_str()).collect::<Vec<_>>();
    let rows =
        with_end!(select_latest of "receipt.pixel_id", &pixels as &[&str], &visitors as &[&str])
            .fetch_all(connection)
            .await?;
    let found = rows.into_iter().map(|row| {
        let position = row.position;
        let (seq, expires_at, consent_in_force) = (row.seq, row.expires_at, row.consent_in_force);
        let current_policy_hash = row.current_policy_hash;
        let latest = receipt_of!(row).map(|signed| LatestConsent {
            signed,
            seq,
            expires_at,
            consent_in_force,
            current_policy_hash,
        });
        (position, latest)
    });
    in_places(questions.len(), found)
}
