use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::Result;

/// The number of attempted deliveries of an endpoint that are kept and listed.
pub const KEPT_DELIVERIES: i64 = 50;

#[derive(Clone)]
pub struct DueDelivery {
    pub endpoint_id: Uuid,
    /// The pixel, or the account for an event of the whole account.
    pub partition_key: String,
    pub seq: i64,
    pub event_id: Uuid,
    pub kind: String,
    pub subject: Value,
    pub occurred_at: DateTime<Utc>,
    pub attempts: i32,
    pub failing_since: Option<DateTime<Utc>>,
}

pub struct Settled {
    pub partition_key: String,
    pub seq: i64,
    pub attempted_at: DateTime<Utc>,
    pub is_delivered: bool,
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub status: Option<i32>,
    pub answer: Option<String>,
    pub failure: Option<String>,
}

pub async fn list_with_due(
    connection: &mut PgConnection,
    endpoint_ids: &[Uuid],
    kinds: &[String],
    now: DateTime<Utc>,
) -> Result<Vec<Uuid>> {
    let ids = query_scalar!(
        "SELECT endpoint_id AS \"endpoint_id!\" FROM unnest($1::uuid[]) AS free (endpoint_id)
         WHERE EXISTS (
             SELECT FROM webhook_deliveries AS delivery
             WHERE delivery.endpoint_id = free.endpoint_id AND next_attempt_at <= $3
                 AND kind = ANY($2))",
        endpoint_ids,
        kinds,
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// The due deliveries of endpoints, of the kinds that this version knows: at most this number for each
/// endpoint, in the order of events.
pub async fn list_due(
    connection: &mut PgConnection,
    endpoint_ids: &[Uuid],
    kinds: &[String],
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<DueDelivery>> {
    let due = query_as!(
        DueDelivery,
        "SELECT due.endpoint_id, pixel_id AS partition_key, seq, event_id, kind, subject,
             occurred_at, attempts, failing_since
         FROM unnest($1::uuid[]) AS claimed (endpoint_id), LATERAL (
             SELECT * FROM webhook_deliveries AS delivery
             WHERE delivery.endpoint_id = claimed.endpoint_id AND next_attempt_at <= $3
                 AND kind = ANY($2)
             ORDER BY seq LIMIT $4) AS due
         ORDER BY seq",
        endpoint_ids,
        kinds,
        now,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(due)
}

/// Stores the results of attempts, except for deliveries that have meanwhile arrived by another attempt.
pub async fn update_settled(connection: &mut PgConnection, settled: &[&Settled]) -> Result<()> {
    let partition_keys = settled.iter().map(|one| one.partition_key.as_str()).collect::<Vec<_>>();
    let seqs = settled.iter().map(|one| one.seq).collect::<Vec<_>>();
    let times = settled.iter().map(|one| one.attempted_at).collect::<Vec<_>>();
    let delivered = settled.iter().map(|one| one.is_delivered).collect::<Vec<_>>();
    let next = settled.iter().map(|one| one.next_attempt_at).collect::<Vec<_>>();
    let statuses = settled.iter().map(|one| one.status).collect::<Vec<_>>();
    let answers = settled.iter().map(|one| one.answer.as_deref()).collect::<Vec<_>>();
    let failures = settled.iter().map(|one| one.failure.as_deref()).collect::<Vec<_>>();
    query!(
        "UPDATE webhook_deliveries AS delivery
         SET attempts = delivery.attempts + 1, attempted_at = settled.attempted_at,
             delivered_at = CASE WHEN settled.delivered THEN settled.attempted_at END,
             failing_since = CASE WHEN NOT settled.delivered
                 THEN COALESCE(delivery.failing_since, settled.attempted_at) END,
             next_attempt_at = settled.next_attempt_at, status = settled.status,
             answer = settled.answer, failure = settled.failure
         FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::boolean[], $5::timestamptz[],
             $6::integer[], $7::text[], $8::text[])
             AS settled (pixel_id, seq, attempted_at, delivered, next_attempt_at, status, answer,
                 failure)
         WHERE delivery.pixel_id = settled.pixel_id AND delivery.seq = settled.seq
             AND delivery.next_attempt_at IS NOT NULL",
        &partition_keys as &[&str],
        &seqs,
        &times,
        &delivered,
        &next as &[Option<DateTime<Utc>>],
        &statuses as &[Option<i32>],
        &answers as &[Option<&str>],
        &failures as &[Option<&str>],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Makes all failed deliveries due at once, because the endpoints respond again. Unattempted events
/// are skipped: they are deferred for another reason.
pub async fn update_due_now(
    connection: &mut PgConnection,
    endpoint_ids: &[Uuid],
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE webhook_deliveries SET next_attempt_at = $2
         WHERE endpoint_id = ANY($1) AND next_attempt_at > $2 AND attempts > 0",
        endpoint_ids,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes deliveries to endpoints that are not retried, except the latest of all attempted ones of each endpoint. At
/// most 1,000 deliveries of an endpoint are considered, so that one with many failed deliveries does not take long.
pub async fn delete_settled(
    connection: &mut PgConnection,
    endpoint_ids: &[Uuid],
    kept: i64,
) -> Result<()> {
    query!(
        "DELETE FROM webhook_deliveries AS delivery
         USING unnest($1::uuid[]) AS tidied (endpoint_id), LATERAL (
             SELECT pixel_id, seq, next_attempt_at FROM webhook_deliveries AS attempted
             WHERE attempted.endpoint_id = tidied.endpoint_id AND attempted_at IS NOT NULL
             ORDER BY attempted_at DESC, seq DESC OFFSET $2 LIMIT 1000) AS former
         WHERE delivery.pixel_id = former.pixel_id AND delivery.seq = former.seq
             AND former.next_attempt_at IS NULL",
        endpoint_ids,
        kept,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a batch of unattempted events from before a time. Events replayed since then are kept; rows that
/// are locked are left to the next run.
pub async fn delete_untried_deliveries(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM webhook_deliveries AS delivery
         USING (SELECT pixel_id, seq FROM webhook_deliveries
             WHERE occurred_at < $1 AND attempted_at IS NULL
                 AND (failing_since IS NULL OR failing_since < $1)
             LIMIT $2 FOR UPDATE SKIP LOCKED) AS old
         WHERE delivery.pixel_id = old.pixel_id AND delivery.seq = old.seq",
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Gives up a batch of deliveries that have been failing since before a time; rows that are locked are left
/// to the next run.
pub async fn update_given_up_deliveries(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let given_up = query!(
        "UPDATE webhook_deliveries AS delivery SET next_attempt_at = NULL
         FROM (SELECT pixel_id, seq FROM webhook_deliveries
             WHERE next_attempt_at IS NOT NULL AND attempted_at IS NOT NULL
                 AND failing_since < $1
             LIMIT $2 FOR UPDATE SKIP LOCKED) AS old
         WHERE delivery.pixel_id = old.pixel_id AND delivery.seq = old.seq",
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(given_up.rows_affected())
}
