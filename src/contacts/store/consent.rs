//! The SQL that evaluates whether contacts may be read, by the receipts of their visitors.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query};
use uuid::Uuid;

use crate::error::Result;
use crate::infra::postgres::server_watch::require_writable;
use crate::receipts::with_end;
use crate::types::hem::Hem;
use crate::types::ids::{PixelId, VisitorId};

/// The advisory lock for binding contacts of a pixel; `note_consent_change` in the migrations tries it.
const BINDING: i32 = 173_400_343;

/// Takes a lock until the transaction ends. Meanwhile the trigger notes the visitor of every change that
/// it is called for, even without a stored contact, because one may just be bound to the visitor. The lock
/// must be taken before any other lock, and before receipts are read. The trigger tries it on the machine
/// of the pixel's rows. The count, whose result is unused, makes the cluster send the statement there.
pub async fn lock_binding(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<()> {
    query!(
        "SELECT pg_advisory_xact_lock($2, hashtext($1))
         FROM (SELECT count(*) FROM contact_counters WHERE pixel_id = $1) AS here",
        pixel_id.as_str(),
        BINDING,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Selects contacts of the pixel `$1` with the latest receipt of their visitor, and `is_hidden` at the time
/// `$2`: hidden before, by that receipt, because a visitor refused after they were last stored, or because
/// their consent had ended before it was given anew. The other columns and conditions are parameters.
macro_rules! select_evaluated {
    ([$($end:literal),+], $others:literal, $condition:literal, $($argument:expr),+ $(,)?) => {
        query!(
            "SELECT contact.id, contact.visitor_id IS NOT NULL AND (
                 contact.hidden_at IS NOT NULL
                 OR latest.seq IS NULL OR NOT latest.permits OR latest.expires_at <= $2
                 OR EXISTS (
                     SELECT FROM contact_visitors AS bound
                     JOIN consent_receipts AS receipt
                         ON receipt.visitor_id = bound.visitor_id AND receipt.pixel_id = $1
                     WHERE bound.pixel_id = $1 AND bound.contact_id = contact.id
                         -- Only saves reading: nothing is newer than the latest receipt.
                         AND (bound.visitor_id <> contact.visitor_id
                             OR latest.seq > contact.bound_seq)
                         AND receipt.seq > contact.bound_seq
                         AND NOT (consent_state = 'accepted' AND 'resolution' = ANY (purposes)))
                 OR latest.seq > contact.bound_seq AND EXISTS (
                     SELECT FROM (
                         SELECT receipt.recorded_at, lag("
                $(+ $end)+
                + ") OVER (ORDER BY receipt.seq) AS ended_at
                         FROM consent_receipts AS receipt
                         WHERE receipt.visitor_id = contact.visitor_id
                             AND receipt.pixel_id = $1
                             AND receipt.seq >= contact.bound_seq
                     ) AS given WHERE given.recorded_at >= given.ended_at)
             ) AS \"is_hidden!\", "
                + $others
                + " FROM contacts AS contact
             LEFT JOIN LATERAL (
                 SELECT receipt.seq, receipt.policy_hash,
                     receipt.consent_state = 'accepted'
                         AND 'resolution' = ANY (receipt.purposes) AS permits,
                     "
                $(+ $end)+
                + " AS expires_at
                 FROM consent_receipts AS receipt
                 WHERE receipt.visitor_id = contact.visitor_id
                     AND receipt.pixel_id = $1
                 ORDER BY receipt.seq DESC LIMIT 1
             ) AS latest ON true
             WHERE contact.pixel_id = $1 AND "
                + $condition,
            $($argument),+
        )
    };
}

pub struct EvaluatedContact {
    pub id: i64,
    pub is_hidden: bool,
    /// `None` without a consent.
    pub bound: Option<(VisitorId, Uuid)>,
    pub is_current: bool,
    /// Whether the pixel's popup is on, and its owner not suspended.
    pub is_in_force: bool,
}

pub async fn list_evaluated(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
    ids: &[i64],
) -> Result<Vec<EvaluatedContact>> {
    let rows = with_end!(
        select_evaluated of "$1",
        "contact.visitor_id AS \"visitor_id: VisitorId\", contact.receipt_id,
         COALESCE(latest.policy_hash = (
             SELECT policy.policy_hash FROM consent_policies AS policy
             WHERE policy.pixel_id = $1 ORDER BY version DESC LIMIT 1), false) AS \"is_current!\"",
        "contact.id = ANY ($3)",
        pixel_id.as_str(),
        now,
        ids,
    )
    .fetch_all(&mut *connection)
    .await?;
    let is_in_force = is_consent_in_force(connection, pixel_id).await?;
    let evaluated = rows.into_iter().map(|row| EvaluatedContact {
        id: row.id,
        is_hidden: row.is_hidden,
        bound: row.visitor_id.zip(row.receipt_id),
        is_current: row.is_current,
        is_in_force,
    });
    Ok(evaluated.collect())
}

/// Whether the pixel's consent is in force. Queried after the evaluation, so that it fails if the
/// server that answered the evaluation has been demoted.
async fn is_consent_in_force(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
    let found = query!(
        "SELECT consent_enabled AND status <> 'suspended' AS \"in_force!\",
             (SELECT current_setting('transaction_read_only') = 'off') AS \"is_writable!\"
         FROM pixels JOIN accounts USING (account_id) WHERE pixels.pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    let Some(found) = found else { return Ok(false) };
    require_writable(found.is_writable)?;
    Ok(found.in_force)
}

pub struct KnownContact {
    pub hem: Hem,
    pub id: i64,
    pub is_hidden: bool,
    /// The last refusal of a visitor under whose consent the contact was ever stored.
    pub refused_seq: Option<i64>,
}

pub async fn list_known(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
    hems: &[Hem],
) -> Result<Vec<KnownContact>> {
    let rows = with_end!(
        select_evaluated of "$1",
        "contact.hem AS \"hem: Hem\",
         (SELECT max(receipt.seq) FROM contact_visitors AS bound
          JOIN consent_receipts AS receipt ON receipt.visitor_id = bound.visitor_id
              AND receipt.pixel_id = $1
          WHERE bound.pixel_id = $1 AND bound.contact_id = contact.id
              AND NOT (consent_state = 'accepted' AND 'resolution' = ANY (purposes)))
             AS refused_seq",
        "contact.hem = ANY ($3)",
        pixel_id.as_str(),
        now,
        hems as &[Hem],
    )
    .fetch_all(connection)
    .await?;
    let known = rows.into_iter().map(|row| KnownContact {
        hem: row.hem,
        id: row.id,
        is_hidden: row.is_hidden,
        refused_seq: row.refused_seq,
    });
    Ok(known.collect())
}

pub async fn list_refused(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_ids: &[&str],
) -> Result<Vec<(VisitorId, i64)>> {
    let rows = query!(
        "SELECT visitor_id AS \"visitor_id: VisitorId\", max(seq) AS \"seq!\" FROM consent_receipts
         WHERE pixel_id = $1 AND visitor_id = ANY ($2)
             AND NOT (consent_state = 'accepted' AND 'resolution' = ANY (purposes))
         GROUP BY visitor_id",
        pixel_id.as_str(),
        visitor_ids as &[&str],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.visitor_id, row.seq)).collect())
}

pub struct DoubtfulContact {
    pub id: i64,
    pub is_hidden: bool,
    pub expires_at: Option<DateTime<Utc>>,
}

/// Locks visible contacts that were stored under these visitors' consent, and at most `limit` due ones.
pub async fn list_doubtful(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
    visitor_ids: &[String],
    limit: i64,
) -> Result<Vec<DoubtfulContact>> {
    let rows = with_end!(
        select_evaluated of "$1",
        "latest.expires_at",
        "contact.hidden_at IS NULL AND contact.id IN (
             SELECT contact_id FROM contact_visitors
             WHERE contact_visitors.visitor_id = ANY ($3) AND contact_visitors.pixel_id = $1
             UNION ALL
             (SELECT id FROM contacts WHERE pixel_id = $1 AND judge_at <= $2 LIMIT $4))
         ORDER BY contact.id FOR UPDATE OF contact",
        pixel_id.as_str(),
        now,
        visitor_ids,
        limit,
    )
    .fetch_all(connection)
    .await?;
    let doubtful = rows.into_iter().map(|row| DoubtfulContact {
        id: row.id,
        is_hidden: row.is_hidden,
        expires_at: row.expires_at,
    });
    Ok(doubtful.collect())
}
