//! The SQL of who sends to which endpoint.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::Result;
use crate::types::ids::AccountId;

/// An endpoint that one node sends to.
#[derive(Clone)]
pub struct ClaimedEndpoint {
    pub endpoint_id: Uuid,
    pub account_id: AccountId,
    pub url: String,
    pub format: String,
    pub failing_since: Option<DateTime<Utc>>,
    pub failures: i32,
}

/// Endpoints that may be sent to now and are nobody's, except for some.
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

/// Claims those of the endpoints that are still nobody's.
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

/// The endpoint as it is now, and longer the claim's; `None` when it is not the claim's any more,
/// paused or gone.
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

/// Gives the endpoint back.
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

/// Locks the endpoint until the transaction ends. Whoever changes several of its deliveries does this
/// first: two who lock the same rows in another order would wait for each other.
pub async fn lock(connection: &mut PgConnection, endpoint_id: Uuid) -> Result<()> {
    query!("SELECT FROM webhook_endpoints WHERE endpoint_id = $1 FOR UPDATE", endpoint_id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Notes that the endpoint answers, or since when it does not and when it is tried again.
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
