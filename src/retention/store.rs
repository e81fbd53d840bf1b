//! The SQL of what is deleted by age. Every statement deletes a batch at most.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{Connection, PgConnection, query, query_scalar};

use crate::error::Result;

/// The advisory lock of whoever deletes: any number that nothing else uses.
const TURN: i64 = 0x0a55_e117_de1e;

/// Takes the turn until the transaction ends; `false` when another node has it.
pub async fn take_turn(connection: &mut PgConnection) -> Result<bool> {
    let taken = query_scalar!("SELECT pg_try_advisory_xact_lock($1) AS \"taken!\"", TURN)
        .fetch_one(connection)
        .await?;
    Ok(taken)
}

/// The next pixel, in the order of ids, whose popup was shown to anybody.
pub async fn find_next_pixel_shown(
    connection: &mut PgConnection,
    after: &str,
) -> Result<Option<String>> {
    let pixel_id =
        query_scalar!("SELECT min(pixel_id) FROM consent_shown WHERE pixel_id > $1", after)
            .fetch_one(connection)
            .await?;
    Ok(pixel_id)
}

pub async fn delete_shown(
    connection: &mut PgConnection,
    pixel_id: &str,
    before: NaiveDate,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM consent_shown
         WHERE pixel_id = $1 AND (shown_on, visitor_id) IN (
             SELECT shown_on, visitor_id FROM consent_shown
             WHERE pixel_id = $1 AND shown_on < $2 ORDER BY shown_on, visitor_id LIMIT $3)",
        pixel_id,
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// The next pixel, in the order of ids, that has receipts.
pub async fn find_next_pixel_recorded(
    connection: &mut PgConnection,
    after: &str,
) -> Result<Option<String>> {
    let pixel_id =
        query_scalar!("SELECT min(pixel_id) FROM consent_receipts WHERE pixel_id > $1", after)
            .fetch_one(connection)
            .await?;
    Ok(pixel_id)
}

/// One answer after the other, since the index that knows the time lists each by itself. Acceptances
/// come first: a round that breaks off never leaves one whose withdrawal is gone.
pub async fn delete_receipts(
    connection: &mut PgConnection,
    pixel_id: &str,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM consent_receipts
         WHERE pixel_id = $1 AND seq IN (
             SELECT seq
             FROM unnest(ARRAY['accepted', 'declined', 'withdrawn']) AS state (name)
             CROSS JOIN LATERAL (
                 SELECT seq FROM consent_receipts
                 WHERE pixel_id = $1 AND consent_state = state.name AND recorded_at < $2
                 ORDER BY recorded_at LIMIT $3
             ) AS old
             LIMIT $3)",
        pixel_id,
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Deletes accounts that nobody confirmed, activated or paid for, and that hold no link that
/// could still confirm them.
///
/// The rows are locked before they are judged: whoever pays or confirms at this moment is waited
/// for, or left alone.
pub async fn delete_unconfirmed(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    opened_until: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let mut transaction = connection.begin().await?;
    let account_ids = query_scalar!(
        "SELECT account_id FROM accounts
         WHERE status = 'pending_email' AND email_verified_at IS NULL AND created_at <= $1
             AND plan = 'free' AND paid_until IS NULL
             AND NOT EXISTS (SELECT FROM confirmation_links AS link
                 WHERE link.account_id = accounts.account_id AND link.expires_at > $2)
             AND NOT EXISTS (SELECT FROM checkout_attempts AS attempt
                 WHERE attempt.account_id = accounts.account_id AND attempt.started_at > $1)
             AND NOT EXISTS (SELECT FROM subscriptions
                 WHERE subscriptions.account_id = accounts.account_id)
             AND NOT EXISTS (SELECT FROM paid_checkouts
                 WHERE paid_checkouts.account_id = accounts.account_id)
         LIMIT $3 FOR UPDATE SKIP LOCKED",
        opened_until,
        now,
        limit,
    )
    .fetch_all(&mut *transaction)
    .await?;
    // Judged again, now that nothing of theirs can change.
    let deleted = query!(
        "DELETE FROM accounts
         WHERE account_id = ANY($1) AND paid_until IS NULL
             AND NOT EXISTS (SELECT FROM confirmation_links AS link
                 WHERE link.account_id = accounts.account_id AND link.expires_at > $2)
             AND NOT EXISTS (SELECT FROM checkout_attempts AS attempt
                 WHERE attempt.account_id = accounts.account_id AND attempt.started_at > $3)
             AND NOT EXISTS (SELECT FROM subscriptions
                 WHERE subscriptions.account_id = accounts.account_id)
             AND NOT EXISTS (SELECT FROM paid_checkouts
                 WHERE paid_checkouts.account_id = accounts.account_id)",
        &account_ids,
        now,
        opened_until,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_signup_tokens(
    connection: &mut PgConnection,
    expired_before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM signup_tokens
         WHERE expires_at < $1 AND account_id IN (
             SELECT account_id FROM signup_tokens WHERE expires_at < $1 LIMIT $2)",
        expired_before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_links(
    connection: &mut PgConnection,
    expired_before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM confirmation_links WHERE token_hash IN (
             SELECT token_hash FROM confirmation_links WHERE expires_at < $1 LIMIT $2)",
        expired_before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_codes(
    connection: &mut PgConnection,
    expired_before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM confirmation_codes
         WHERE expires_at < $1 AND account_id IN (
             SELECT account_id FROM confirmation_codes WHERE expires_at < $1 LIMIT $2)",
        expired_before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Forgets addresses whose last code lies before.
pub async fn delete_code_requests(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM code_requests
         WHERE last_sent_at < $1 AND sent_on < $2 AND address_hash IN (
             SELECT address_hash FROM code_requests
             WHERE last_sent_at < $1 AND sent_on < $2 LIMIT $3)",
        before,
        before.date_naive(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
