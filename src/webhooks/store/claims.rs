use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::Result;
use crate::types::ids::AccountId;

#[derive(Clone)]
pub struct ClaimedEndpoint {
    pub endpoint_id: Uuid,
    pub account_id: AccountId,
    pub url: String,
    pub format: String,
    pub failing_since: Option<DateTime<Utc>>,
    pub failures: i32,
}

/// Unclaimed endpoints that may be sent to now, except the given ones.
pub async fn list_free(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    formats: &[String],
    but_not: &[Uuid],
) -> Result<Vec<Uuid>> {
    let ids = query_scalar!(
        "SELECT endpoint_id FROM webhook_endpoints JOIN accounts USING (account_id)
         WHERE paused_at IS NULL AND (retry_at IS NULL OR retry_at <= $1)
             AND (claimed_until IS NULL OR claimed_until <= $1)
             AND accounts.status <> 'suspended' AND format = ANY($2) AND endpoint_id <> ALL($3)",
        now,
        formats,
        but_not,
    )
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

pub async fn claim(
    connection: &mut PgConnection,
    endpoint_ids: &[Uuid],
    claim: Uuid,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<ClaimedEndpoint>> {
    let claimed = query_as!(
        ClaimedEndpoint,
        "UPDATE webhook_endpoints SET claimed_by = $2, claimed_until = $4
         WHERE endpoint_id IN (
             SELECT endpoint_id FROM webhook_endpoints
             WHERE endpoint_id = ANY($1) AND paused_at IS NULL
                 AND (claimed_until IS NULL OR claimed_until <= $3)
             FOR UPDATE SKIP LOCKED)
         RETURNING endpoint_id, account_id, url, format, failing_since, failures",
        endpoint_ids,
        claim,
        now,
        until,
    )
    .fetch_all(connection)
    .await?;
    Ok(claimed)
}

/// The endpoint with its claim extended; `None` if the claim is lost, or the endpoint paused or deleted.
pub async fn extend(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    claim: Uuid,
    until: DateTime<Utc>,
) -> Result<Option<ClaimedEndpoint>> {
    let claimed = query_as!(
        ClaimedEndpoint,
        "UPDATE webhook_endpoints SET claimed_until = $3
         WHERE endpoint_id = $1 AND claimed_by = $2 AND paused_at IS NULL
         RETURNING endpoint_id, account_id, url, format, failing_since, failures",
        endpoint_id,
        claim,
        until,
    )
    .fetch_optional(connection)
    .await?;
    Ok(claimed)
}

pub async fn release(connection: &mut PgConnection, endpoint_id: Uuid, claim: Uuid) -> Result<()> {
    query!(
        "UPDATE webhook_endpoints SET claimed_by = NULL, claimed_until = NULL
         WHERE endpoint_id = $1 AND claimed_by = $2",
        endpoint_id,
        claim,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Locks the endpoint until the end of the transaction, before several of its deliveries are
/// changed: different lock orders would deadlock.
pub async fn lock(connection: &mut PgConnection, endpoint_id: Uuid) -> Result<()> {
    query!("SELECT FROM webhook_endpoints WHERE endpoint_id = $1 FOR UPDATE", endpoint_id)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn update_health(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    failing_since: Option<DateTime<Utc>>,
    failures: i32,
    retry_at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "UPDATE webhook_endpoints SET failing_since = $2, failures = $3, retry_at = $4
         WHERE endpoint_id = $1",
        endpoint_id,
        failing_since,
        failures,
        retry_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}
