//! The SQL of subscriptions and checkouts.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::provider_objects::ProviderId;
use crate::error::Result;
use crate::ids::AccountId;

/// Marks the account as paid until a time, which never moves backwards. A pending account becomes
/// active, a suspended one stays suspended, an unlimited one keeps its plan.
pub async fn update_account_paid(
    connection: &mut PgConnection,
    account_id: &AccountId,
    paid_until: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE accounts
         SET plan = CASE plan WHEN 'free' THEN 'paid' ELSE plan END,
             status = CASE status WHEN 'pending_email' THEN 'active' ELSE status END,
             suspended_from = CASE suspended_from WHEN 'pending_email' THEN 'active' ELSE suspended_from END,
             paid_until = GREATEST(paid_until, $2)
         WHERE account_id = $1",
        account_id.as_str(),
        paid_until,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Remembers a subscription. It stays with the account that had it first, and once it has ended
/// it never runs again.
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

/// The account that a subscription is known to belong to.
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

/// A subscription that the service knows of.
pub struct KnownSubscription {
    pub subscription_id: String,
    pub customer_id: Option<String>,
    pub ended: bool,
}

/// The account's subscriptions, newest first.
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

/// Marks a subscription as over, if it is known.
pub async fn update_subscription_ended(
    connection: &mut PgConnection,
    subscription_id: &ProviderId,
) -> Result<()> {
    query!(
        "UPDATE subscriptions SET ended = true WHERE subscription_id = $1",
        subscription_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// When the session was first seen paid: now, or earlier.
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

/// The checkout that an account has open.
#[derive(Clone, Debug)]
pub struct CheckoutAttempt {
    pub idempotency_key: String,
    pub session_id: Option<String>,
    pub started_at: DateTime<Utc>,
}

/// The account's attempt; when there is none, a new one with this key.
pub async fn find_or_insert_attempt(
    connection: &mut PgConnection,
    account_id: &AccountId,
    new_key: &str,
    now: DateTime<Utc>,
) -> Result<CheckoutAttempt> {
    query!(
        "INSERT INTO checkout_attempts (account_id, idempotency_key, started_at)
         VALUES ($1, $2, $3) ON CONFLICT (account_id) DO NOTHING",
        account_id.as_str(),
        new_key,
        now,
    )
    .execute(&mut *connection)
    .await?;
    let attempt = query_as!(
        CheckoutAttempt,
        "SELECT idempotency_key, session_id, started_at FROM checkout_attempts
         WHERE account_id = $1",
        account_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(attempt)
}

/// Gives up the attempt with this key; one that somebody began meanwhile stays.
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

/// Notes the session that the attempt with this key has led to.
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
