use std::time::Duration;

use serde_json::Value;
use sqlx::{PgConnection, query, query_as};

use super::event::{EventRow, Subscriber};
use crate::error::Result;
use crate::types::ids::AccountId;

/// The account's endpoints, including paused ones: their events are kept.
pub async fn list_subscribers(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<Subscriber>> {
    let endpoints = query_as!(
        Subscriber,
        "SELECT endpoint_id, events, pixels FROM webhook_endpoints
         WHERE account_id = $1 ORDER BY endpoint_id",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(endpoints)
}

pub struct WrittenEvent {
    pub partition_key: String,
    pub seq: i64,
    pub subject: Value,
}

pub async fn insert_events(
    connection: &mut PgConnection,
    rows: &[EventRow],
    held: Duration,
) -> Result<Vec<WrittenEvent>> {
    let partition_keys = rows.iter().map(|row| row.partition_key.as_str()).collect::<Vec<_>>();
    let endpoints = rows.iter().map(|row| row.endpoint_id).collect::<Vec<_>>();
    let events = rows.iter().map(|row| row.event_id).collect::<Vec<_>>();
    let kinds = rows.iter().map(|row| row.kind.as_str()).collect::<Vec<_>>();
    let subjects = rows.iter().map(|row| row.subject.clone()).collect::<Vec<_>>();
    let times = rows.iter().map(|row| row.occurred_at).collect::<Vec<_>>();
    let written = query_as!(
        WrittenEvent,
        "INSERT INTO webhook_deliveries (pixel_id, endpoint_id, event_id, kind, subject,
             occurred_at, next_attempt_at)
         SELECT pixel_id, endpoint_id, event_id, kind, subject, occurred_at,
             occurred_at + make_interval(secs => $7)
         FROM (
             SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::jsonb[],
                 $6::timestamptz[]) WITH ORDINALITY
                 AS event (pixel_id, endpoint_id, event_id, kind, subject, occurred_at, position)
             ORDER BY position OFFSET 0
         ) AS event
         RETURNING pixel_id AS partition_key, seq, subject",
        &partition_keys as &[&str],
        &endpoints,
        &events,
        &kinds as &[&str],
        &subjects,
        &times,
        held.as_secs_f64(),
    )
    .fetch_all(connection)
    .await?;
    Ok(written)
}

pub async fn release_events(connection: &mut PgConnection, events: &[WrittenEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let (partition_keys, seqs) = keys_of(events);
    query!(
        "UPDATE webhook_deliveries AS delivery SET next_attempt_at = delivery.occurred_at
         FROM unnest($1::text[], $2::bigint[]) AS held (pixel_id, seq)
         WHERE delivery.pixel_id = held.pixel_id AND delivery.seq = held.seq
             AND delivery.next_attempt_at IS NOT NULL",
        &partition_keys as &[&str],
        &seqs,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_events(connection: &mut PgConnection, events: &[WrittenEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let (partition_keys, seqs) = keys_of(events);
    delete_events_at(connection, &partition_keys, &seqs).await
}

fn keys_of(events: &[WrittenEvent]) -> (Vec<&str>, Vec<i64>) {
    events.iter().map(|event| (event.partition_key.as_str(), event.seq)).unzip()
}

pub async fn delete_events_at(
    connection: &mut PgConnection,
    partition_keys: &[&str],
    seqs: &[i64],
) -> Result<()> {
    query!(
        "DELETE FROM webhook_deliveries AS delivery
         USING unnest($1::text[], $2::bigint[]) AS over (pixel_id, seq)
         WHERE delivery.pixel_id = over.pixel_id AND delivery.seq = over.seq",
        partition_keys as &[&str],
        seqs,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes pending events of accounts that are being deleted. Their endpoints are deleted with the accounts.
pub async fn delete_events_of_accounts(
    connection: &mut PgConnection,
    account_ids: &[String],
) -> Result<()> {
    query!(
        "DELETE FROM webhook_deliveries WHERE endpoint_id IN (
             SELECT endpoint_id FROM webhook_endpoints WHERE account_id = ANY($1))",
        account_ids,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_events_of_pixels(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<()> {
    query!("DELETE FROM webhook_deliveries WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(())
}
