use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};
use uuid::Uuid;

use crate::error::Result;

pub struct Stored {
    pub request: Vec<u8>,
    pub attempt: Uuid,
    pub started_at: DateTime<Utc>,
    pub status: Option<i16>,
    pub answer: Option<Vec<u8>>,
}

/// Takes a key that is new, has expired, or belongs to an abandoned attempt of the same request; `false` for
/// any other key.
pub async fn upsert_attempt(
    connection: &mut PgConnection,
    scope: &[u8],
    request: &[u8],
    attempt: Uuid,
    now: DateTime<Utc>,
    expired: DateTime<Utc>,
    abandoned: DateTime<Utc>,
) -> Result<bool> {
    let taken = query!(
        "INSERT INTO idempotency_keys AS stored (scope, request, attempt, started_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (scope) DO UPDATE
         SET request = excluded.request, attempt = excluded.attempt,
             started_at = excluded.started_at, status = NULL, answer = NULL
         WHERE stored.started_at <= $5
            OR (stored.answer IS NULL AND stored.started_at <= $6
                AND stored.request = excluded.request)",
        scope,
        request,
        attempt,
        now,
        expired,
        abandoned,
    )
    .execute(connection)
    .await?;
    Ok(taken.rows_affected() > 0)
}

pub async fn find_stored(connection: &mut PgConnection, scope: &[u8]) -> Result<Option<Stored>> {
    let stored = query_as!(
        Stored,
        "SELECT request, attempt, started_at, status, answer
         FROM idempotency_keys WHERE scope = $1",
        scope,
    )
    .fetch_optional(connection)
    .await?;
    Ok(stored)
}

/// Stores the answer of an attempt; `false` if another request has taken the key over.
pub async fn update_answer(
    connection: &mut PgConnection,
    scope: &[u8],
    attempt: Uuid,
    status: Option<i16>,
    answer: &[u8],
) -> Result<bool> {
    let updated = query!(
        "UPDATE idempotency_keys SET status = $3, answer = $4 WHERE scope = $1 AND attempt = $2",
        scope,
        attempt,
        status,
        answer,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() > 0)
}

pub async fn delete_attempt(
    connection: &mut PgConnection,
    scope: &[u8],
    attempt: Uuid,
    only_unanswered: bool,
) -> Result<()> {
    query!(
        "DELETE FROM idempotency_keys
         WHERE scope = $1 AND attempt = $2 AND (answer IS NULL OR NOT $3::boolean)",
        scope,
        attempt,
        only_unanswered,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_expired(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM idempotency_keys WHERE scope IN (
             SELECT scope FROM idempotency_keys WHERE started_at <= $1
             ORDER BY started_at LIMIT $2)",
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
