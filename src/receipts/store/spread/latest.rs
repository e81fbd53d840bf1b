//! Finding the latest receipts of visitors of pixels of one part of the tables.

use std::collections::HashMap;

use sqlx::{PgConnection, query};

use super::pixels_of;
use crate::error::{Error, Result};
use crate::receipts::receipt::SignedReceipt;
use crate::receipts::store::ends::with_end;
use crate::receipts::store::latest::LatestConsent;
use crate::receipts::store::rows::{in_places, receipt_of, select_receipt};
use crate::types::ids::{PixelId, VisitorId};

/// A pixel as a question names it.
#[derive(Clone)]
pub struct NamedPixel {
    pub pixel_id: PixelId,
    /// The popup is on and the owner is not suspended. Off for a deleted pixel.
    pub consent_in_force: bool,
}

/// The pixels of ids or aliases, each looked up by index. What is neither stands for itself: a deleted
/// pixel's receipts are found by its id.
pub async fn list_named(
    connection: &mut PgConnection,
    names: &[&str],
) -> Result<HashMap<String, NamedPixel>> {
    let rows = query!(
        "SELECT name AS \"name!\", pixel_id AS \"pixel_id!: PixelId\",
             COALESCE((SELECT consent_enabled AND status <> 'suspended'
                 FROM pixels JOIN accounts USING (account_id)
                 WHERE pixels.pixel_id = named.pixel_id), false) AS \"consent_in_force!\"
         FROM (
             SELECT name, COALESCE(
                 (SELECT a.pixel_id FROM pixel_aliases AS a WHERE alias = name), name) AS pixel_id
             FROM unnest($1::text[]) AS question (name) OFFSET 0
         ) AS named",
        names as &[&str],
    )
    .fetch_all(connection)
    .await?;
    let named = rows.into_iter().map(|row| {
        let consent_in_force = row.consent_in_force;
        (row.name, NamedPixel { pixel_id: row.pixel_id, consent_in_force })
    });
    Ok(named.collect())
}

/// As [`list_named`], of one.
pub async fn find_named(connection: &mut PgConnection, name: &str) -> Result<NamedPixel> {
    let found = list_named(connection, &[name]).await?.remove(name);
    found.ok_or_else(|| Error::internal("every name stands for a pixel"))
}

/// Whose latest receipt is asked for.
pub struct NamedQuestion {
    pub pixel: NamedPixel,
    pub visitor_id: VisitorId,
}

impl AsRef<Self> for NamedQuestion {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A query for the latest receipt of each of the visitors `$3` at the pixels `$2`, which are those of `$1`.
macro_rules! select_latest_of {
    ([$($end:literal),+], $($argument:expr),+) => {
        select_receipt!(
            "position AS \"position!\", receipt.seq AS \"seq!\",
                 CASE WHEN receipt.consent_state = 'accepted' THEN "
                $(+ $end)+
                + " END AS expires_at,
                 (SELECT policy.policy_hash FROM consent_policies AS policy
                  WHERE policy.pixel_id = ANY ($1) AND policy.pixel_id = receipt.pixel_id
                  ORDER BY version DESC LIMIT 1)
                     AS current_policy_hash",
            "FROM unnest($2::text[], $3::text[]) WITH ORDINALITY
                 AS question (pixel_id, visitor_id, position)
             CROSS JOIN LATERAL (
                 SELECT * FROM consent_receipts
                 WHERE pixel_id = ANY ($1) AND consent_receipts.pixel_id = question.pixel_id
                     AND consent_receipts.visitor_id = question.visitor_id
                 ORDER BY seq DESC LIMIT 1
             ) AS receipt",
            $($argument),+
        )
    };
}

/// As [`list_latest`](crate::receipts::store::latest::list_latest), for questions about pixels of one part of the tables.
pub async fn list_latest(
    connection: &mut PgConnection,
    questions: &[impl AsRef<NamedQuestion>],
) -> Result<Vec<Option<Result<LatestConsent>>>> {
    let questions = questions.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    let pixel_ids = questions.iter().map(|asked| asked.pixel.pixel_id.as_str()).collect::<Vec<_>>();
    let visitors = questions.iter().map(|asked| asked.visitor_id.as_str()).collect::<Vec<_>>();
    let rows = with_end!(
        select_latest_of of "ANY ($1) AND answered.pixel_id = receipt.pixel_id",
        &pixels_of(pixel_ids.iter().copied()),
        &pixel_ids as &[&str],
        &visitors as &[&str]
    )
    .fetch_all(connection)
    .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let place = usize::try_from(row.position - 1).map_err(Error::internal)?;
        let consent_in_force =
            questions.get(place).is_some_and(|asked| asked.pixel.consent_in_force);
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
    in_places(questions.len(), found.into_iter())
}
