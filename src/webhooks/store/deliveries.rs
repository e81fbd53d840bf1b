use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use super::waiting::DueDelivery;
use crate::error::Result;

pub struct Delivery {
    pub event_id: Uuid,
    pub kind: String,
    pub partition_key: String,
    pub occurred_at: DateTime<Utc>,
    pub attempts: i32,
    pub attempted_at: Option<DateTime<Utc>>,
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub delivered_at: Option<DateTime<Utc>>,
    pub status: Option<i32>,
    pub answer: Option<String>,
    pub failure: Option<String>,
}

pub async fn list_attempted(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let deliveries = query_as!(
        Delivery,
        "SELECT event_id, kind, pixel_id AS partition_key, occurred_at, attempts, attempted_at,
             next_attempt_at, delivered_at, status, answer, failure
         FROM webhook_deliveries WHERE endpoint_id = $1 AND attempted_at IS NOT NULL
         ORDER BY attempted_at DESC, seq DESC LIMIT $2",
        endpoint_id,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(deliveries)
}

pub async fn count_waiting(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    most: i64,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM (
             SELECT FROM webhook_deliveries WHERE endpoint_id = $1 AND next_attempt_at IS NOT NULL
             LIMIT $2) AS waiting",
        endpoint_id,
        most,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// Makes one event due at once, with retries for a day; `false` if it is no longer stored.
pub async fn update_replayed(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    event_id: Uuid,
    now: DateTime<Utc>,
) -> Result<bool> {
    let replayed = query!(
        "UPDATE webhook_deliveries
         SET next_attempt_at = $3, attempts = 0, failing_since = $3, delivered_at = NULL
         WHERE endpoint_id = $1 AND event_id = $2",
        endpoint_id,
        event_id,
        now,
    )
    .execute(connection)
    .await?;
    Ok(replayed.rows_affected() > 0)
}

/// Makes all stored events since a time due again, or only the failed ones; returns their number.
/// Unattempted events that are not due are skipped: they are deferred for another reason.
pub async fn update_replayed_since(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    since: DateTime<Utc>,
    failed_only: bool,
    now: DateTime<Utc>,
) -> Result<u64> {
    let replayed = query!(
        "UPDATE webhook_deliveries
         SET next_attempt_at = $3, attempts = 0, failing_since = $3, delivered_at = NULL
         WHERE endpoint_id = $1 AND occurred_at >= $2
             AND (attempted_at IS NOT NULL OR next_attempt_at <= $3)
             AND (NOT $4 OR next_attempt_at IS NULL AND delivered_at IS NULL AND kind <> 'test')",
        endpoint_id,
        since,
        now,
        failed_only,
    )
    .execute(connection)
    .await?;
    Ok(replayed.rows_affected())
}

/// Inserts an event that was already sent, so that it is listed among the latest.
pub async fn insert_attempted(
    connection: &mut PgConnection,
    due: &DueDelivery,
    delivery: &Delivery,
) -> Result<()> {
    query!(
        "INSERT INTO webhook_deliveries (pixel_id, endpoint_id, event_id, kind, subject, occurred_at,
             attempts, attempted_at, delivered_at, status, answer, failure)
         VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9, $10, $11)",
        due.partition_key,
        due.endpoint_id,
        due.event_id,
        due.kind,
        due.subject,
        due.occurred_at,
        delivery.attempted_at,
        delivery.delivered_at,
        delivery.status,
        delivery.answer,
        delivery.failure,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Clears the endpoint's backoff, so that all due deliveries may be sent now.
pub async fn update_retried_now(connection: &mut PgConnection, endpoint_id: Uuid) -> Result<()> {
    query!("UPDATE webhook_endpoints SET retry_at = NULL WHERE endpoint_id = $1", endpoint_id)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn find_attempted(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    event_id: Uuid,
) -> Result<Option<DueDelivery>> {
    let delivery = query_as!(
        DueDelivery,
        "SELECT endpoint_id, pixel_id AS partition_key, seq, event_id, kind, subject, occurred_at,
             attempts, failing_since
         FROM webhook_deliveries
         WHERE endpoint_id = $1 AND event_id = $2 AND attempted_at IS NOT NULL",
        endpoint_id,
        event_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(delivery)
}
