use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::stripe::provider_reference::ProviderId;
use crate::error::Result;
use crate::types::ids::AccountId;

/// Marks the account as paid until a time, which never moves backwards. An unlimited account keeps
/// its plan. Returns `false` without a change.
pub async fn update_account_paid(
    connection: &mut PgConnection,
    account_id: &AccountId,
    paid_until: DateTime<Utc>,
) -> Result<bool> {
    let changed = query!(
        "UPDATE accounts
         SET plan = CASE plan WHEN 'free' THEN 'paid' ELSE plan END,
             paid_until = GREATEST(paid_until, $2)
         WHERE account_id = $1
             AND (plan = 'free' OR paid_until IS NULL OR paid_until < $2)",
        account_id.as_str(),
        paid_until,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Stores a subscription. It stays with its first account, and an ended one never runs again.
pub async fn upsert_subscription(
    connection: &mut PgConnection,
    account_id: &AccountId,
    subscription_id: &ProviderId,
    customer_id: Option<&ProviderId>,
    ended: bool,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO subscriptions (subscription_id, account_id, customer_id, ended, known_since)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (subscription_id) DO UPDATE
         SET customer_id = COALESCE(subscriptions.customer_id, EXCLUDED.customer_id),
             ended = subscriptions.ended OR EXCLUDED.ended
         WHERE subscriptions.account_id = EXCLUDED.account_id",
        subscription_id.as_str(),
        account_id.as_str(),
        customer_id.map(ProviderId::as_str),
        ended,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_subscriber(
    connection: &mut PgConnection,
    subscription_id: &ProviderId,
) -> Result<Option<AccountId>> {
    let account_id = query_scalar!(
        "SELECT account_id FROM subscriptions WHERE subscription_id = $1",
        subscription_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(account_id.map(AccountId::from))
}

#[derive(Serialize)]
pub struct KnownSubscription {
    pub subscription_id: String,
    pub customer_id: Option<String>,
    pub ended: bool,
}

pub async fn list_subscriptions(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<KnownSubscription>> {
    let subscriptions = query_as!(
        KnownSubscription,
        "SELECT subscription_id, customer_id, ended FROM subscriptions
         WHERE account_id = $1 ORDER BY known_since DESC, subscription_id",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(subscriptions)
}

/// Marks a subscription as ended; returns its account when it had not ended before.
pub async fn update_subscription_ended(
    connection: &mut PgConnection,
    subscription_id: &ProviderId,
) -> Result<Option<AccountId>> {
    let account_id = query_scalar!(
        "UPDATE subscriptions SET ended = true WHERE subscription_id = $1 AND NOT ended
         RETURNING account_id",
        subscription_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(account_id.map(AccountId::from))
}

/// Returns the time when the session was first found to be paid: now, or earlier.
pub async fn upsert_paid_checkout(
    connection: &mut PgConnection,
    account_id: &AccountId,
    session_id: &ProviderId,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>> {
    let paid_at = query_scalar!(
        "INSERT INTO paid_checkouts (session_id, account_id, paid_at) VALUES ($1, $2, $3)
         ON CONFLICT (session_id) DO UPDATE SET paid_at = paid_checkouts.paid_at
         RETURNING paid_at",
        session_id.as_str(),
        account_id.as_str(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(paid_at)
}

#[derive(Clone, Debug)]
pub struct CheckoutAttempt {
    pub idempotency_key: String,
    pub session_id: Option<String>,
    pub started_at: DateTime<Utc>,
}

/// Returns the account's attempt, or a new one with this key. It is a single statement, so that a
/// concurrent deletion of the attempt cannot leave the caller without one.
pub async fn find_or_insert_attempt(
    connection: &mut PgConnection,
    account_id: &AccountId,
    new_key: &str,
    now: DateTime<Utc>,
) -> Result<CheckoutAttempt> {
    let attempt = query_as!(
        CheckoutAttempt,
        "INSERT INTO checkout_attempts (account_id, idempotency_key, started_at)
         VALUES ($1, $2, $3)
         ON CONFLICT (account_id) DO UPDATE SET started_at = checkout_attempts.started_at
         RETURNING idempotency_key, session_id, started_at",
        account_id.as_str(),
        new_key,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(attempt)
}

pub async fn delete_attempt(
    connection: &mut PgConnection,
    account_id: &AccountId,
    key: &str,
) -> Result<()> {
    query!(
        "DELETE FROM checkout_attempts WHERE account_id = $1 AND idempotency_key = $2",
        account_id.as_str(),
        key,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_attempt_session(
    connection: &mut PgConnection,
    account_id: &AccountId,
    key: &str,
    session_id: &ProviderId,
) -> Result<()> {
    query!(
        "UPDATE checkout_attempts SET session_id = $3
         WHERE account_id = $1 AND idempotency_key = $2",
        account_id.as_str(),
        key,
        session_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn has_failed_invoice(
    connection: &mut PgConnection,
    invoice_id: &ProviderId,
) -> Result<bool> {
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM failed_invoices WHERE invoice_id = $1) AS \"found!\"",
        invoice_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// Records that a mail about a failed payment is due; `false` when it was recorded before.
pub async fn insert_failed_invoice(
    connection: &mut PgConnection,
    invoice_id: &str,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let inserted = query!(
        "INSERT INTO failed_invoices (invoice_id, account_id, told_at) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
        invoice_id,
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub async fn update_failed_invoice_paid(
    connection: &mut PgConnection,
    invoice_id: &ProviderId,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE failed_invoices SET paid_at = $2 WHERE invoice_id = $1 AND paid_at IS NULL",
        invoice_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn is_failed_invoice_unpaid(
    connection: &mut PgConnection,
    invoice_id: &str,
) -> Result<bool> {
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM failed_invoices WHERE invoice_id = $1 AND paid_at IS NULL)
             AS \"found!\"",
        invoice_id,
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}
