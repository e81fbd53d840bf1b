use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{Connection, PgConnection, query, query_scalar};

use crate::accounts::delete_events_of;
use crate::error::Result;
use crate::infra::{deletion, outbox};

/// The advisory lock for the deletion: an arbitrary number that is used nowhere else.
const TURN: i64 = 0x0a55_e117_de1e;

/// Takes the lock until the end of the transaction; `false` if another node holds it.
pub async fn take_lock(connection: &mut PgConnection) -> Result<bool> {
    let taken = query_scalar!("SELECT pg_try_advisory_xact_lock($1) AS \"taken!\"", TURN)
        .fetch_one(connection)
        .await?;
    Ok(taken)
}

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

pub async fn find_next_pixel_shown_local(
    connection: &mut PgConnection,
    after: &str,
) -> Result<Option<String>> {
    let pixel_id =
        query_scalar!("SELECT min(pixel_id) FROM consent_shown_local WHERE pixel_id > $1", after)
            .fetch_one(connection)
            .await?;
    Ok(pixel_id)
}

pub async fn delete_shown_local(
    connection: &mut PgConnection,
    pixel_id: &str,
    before: NaiveDate,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM consent_shown_local
         WHERE pixel_id = $1 AND (time_zone, shown_on, visitor_id) IN (
             SELECT time_zone, shown_on, visitor_id FROM consent_shown_local
             WHERE pixel_id = $1 AND shown_on < $2
             ORDER BY time_zone, shown_on, visitor_id LIMIT $3)",
        pixel_id,
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

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

/// Selects rows per consent state, because the state precedes the time in the index. Acceptances come first, so
/// that an interrupted run never leaves an acceptance whose withdrawal is deleted.
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

/// Deletes accounts that were never confirmed, activated or paid for. Only their age counts, because
/// repeated requests for codes must not withhold an address from its owner. The rows are locked before
/// the final check, so that concurrent payments and confirmations are not overlooked.
pub async fn delete_unconfirmed(
    connection: &mut PgConnection,
    opened_until: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let mut transaction = connection.begin().await?;
    let account_ids = query_scalar!(
        "SELECT account_id FROM accounts
         WHERE status = 'pending_email' AND email_verified_at IS NULL AND created_at <= $1
             AND plan = 'free' AND paid_until IS NULL
             AND NOT EXISTS (SELECT FROM checkout_attempts AS attempt
                 WHERE attempt.account_id = accounts.account_id AND attempt.started_at > $1)
             AND NOT EXISTS (SELECT FROM subscriptions
                 WHERE subscriptions.account_id = accounts.account_id)
             AND NOT EXISTS (SELECT FROM paid_checkouts
                 WHERE paid_checkouts.account_id = accounts.account_id)
         LIMIT $2 FOR UPDATE SKIP LOCKED",
        opened_until,
        limit,
    )
    .fetch_all(&mut *transaction)
    .await?;
    // The conditions are checked again, now that the rows are locked.
    let deleted = query_scalar!(
        "DELETE FROM accounts
         WHERE account_id = ANY($1) AND paid_until IS NULL
             AND NOT EXISTS (SELECT FROM checkout_attempts AS attempt
                 WHERE attempt.account_id = accounts.account_id AND attempt.started_at > $2)
             AND NOT EXISTS (SELECT FROM subscriptions
                 WHERE subscriptions.account_id = accounts.account_id)
             AND NOT EXISTS (SELECT FROM paid_checkouts
                 WHERE paid_checkouts.account_id = accounts.account_id)
         RETURNING account_id",
        &account_ids,
        opened_until,
    )
    .fetch_all(&mut *transaction)
    .await?;
    outbox::delete_mails_of_accounts(&mut transaction, &deleted).await?;
    delete_events_of(&mut transaction, &deleted).await?;
    transaction.commit().await?;
    Ok(deleted.len() as u64)
}

deletion!(delete_signup_tokens, "signup_tokens", "account_id", "expires_at < $1");
deletion!(delete_links, "confirmation_links", "token_hash", "expires_at < $1");
deletion!(delete_codes, "confirmation_codes", "account_id", "expires_at < $1");
deletion!(delete_account_codes, "account_codes", "asker_hash", "expires_at < $1");
deletion!(delete_test_receipts, "test_receipts", "seq", "recorded_at < $1");
deletion!(delete_events, "account_events", "event_id", "happened_at < $1");
deletion!(
    /// Deletes addresses whose last code was sent before `until`.
    delete_code_requests,
    "code_requests",
    "address_hash",
    "last_sent_at < $1 AND sent_on < ($1 AT TIME ZONE 'UTC')::date"
);
deletion!(
    /// Deletes mailboxes whose mail limit has recovered completely.
    delete_mailboxes,
    "mailboxes",
    "mailbox_hash",
    "full_at <= $1"
);
deletion!(delete_claims, "pixel_claims", "token_hash", "expires_at <= $1");
