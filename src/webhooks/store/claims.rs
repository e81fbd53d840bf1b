use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use super::encrypted::EncryptedSecrets;
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
    pub secret: Vec<u8>,
    pub previous_secret: Option<Vec<u8>>,
    pub has_public_key: bool,
}

impl ClaimedEndpoint {
    /// Whether deliveries have the same receiver, format and signatures.
    pub fn has_target_of(&self, other: &Self) -> bool {
        let Self { url, format, secret, previous_secret, has_public_key, .. } = self;
        (url, format, secret) == (&other.url, &other.format, &other.secret)
            && (previous_secret, *has_public_key) == (&other.previous_secret, other.has_public_key)
    }

    pub fn secrets(&self) -> EncryptedSecrets {
        EncryptedSecrets {
            present: self.secret.clone(),
            previous: self.previous_secret.clone(),
            are_public: self.has_public_key,
        }
    }
}

#[derive(Clone, Copy)]
pub struct EndpointHealth {
    pub endpoint_id: Uuid,
    pub failing_since: Option<DateTime<Utc>>,
    pub failures: i32,
    pub retry_at: Option<DateTime<Utc>>,
}

impl EndpointHealth {
    /// The health of an endpoint that has just answered.
    pub fn good(endpoint_id: Uuid) -> Self {
        Self { endpoint_id, failing_since: None, failures: 0, retry_at: None }
    }
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
         RETURNING endpoint_id, account_id, url, format, failing_since, failures, secret,
             CASE WHEN previous_until > $3 THEN previous_secret END AS previous_secret,
             public_key IS NOT NULL AS \"has_public_key!\"",
        endpoint_ids,
        claim,
        now,
        until,
    )
    .fetch_all(connection)
    .await?;
    Ok(claimed)
}

/// The endpoint with its claim extended; `None` if the claim is lost, the endpoint paused or deleted, or its account
/// suspended.
pub async fn extend(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    claim: Uuid,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Option<ClaimedEndpoint>> {
    let claimed = query_as!(
        ClaimedEndpoint,
        "UPDATE webhook_endpoints SET claimed_until = $4
         WHERE endpoint_id = $1 AND claimed_by = $2 AND paused_at IS NULL
             AND EXISTS (SELECT FROM accounts WHERE accounts.account_id = webhook_endpoints.account_id
                 AND status <> 'suspended')
         RETURNING endpoint_id, account_id, url, format, failing_since, failures, secret,
             CASE WHEN previous_until > $3 THEN previous_secret END AS previous_secret,
             public_key IS NOT NULL AS \"has_public_key!\"",
        endpoint_id,
        claim,
        now,
        until,
    )
    .fetch_optional(connection)
    .await?;
    Ok(claimed)
}

/// Releases claims, each given by its endpoint and its claim.
pub async fn release(
    connection: &mut PgConnection,
    endpoint_ids: &[Uuid],
    claims: &[Uuid],
) -> Result<()> {
    query!(
        "UPDATE webhook_endpoints AS endpoint SET claimed_by = NULL, claimed_until = NULL
         FROM unnest($1::uuid[], $2::uuid[]) AS ended (endpoint_id, claim)
         WHERE endpoint.endpoint_id = ended.endpoint_id AND endpoint.claimed_by = ended.claim",
        endpoint_ids,
        claims,
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

/// Like [`lock`] for several endpoints, but without waiting. Returns the ones that it has locked. Statements that follow
/// in the transaction wait for a lock for at most 100 ms, and then fail.
pub async fn lock_free(connection: &mut PgConnection, endpoint_ids: &[Uuid]) -> Result<Vec<Uuid>> {
    query!("SET LOCAL lock_timeout = '100ms'").execute(&mut *connection).await?;
    let locked = query_scalar!(
        "SELECT endpoint_id FROM webhook_endpoints WHERE endpoint_id = ANY($1)
         FOR UPDATE SKIP LOCKED",
        endpoint_ids,
    )
    .fetch_all(connection)
    .await?;
    Ok(locked)
}

pub async fn update_health(
    connection: &mut PgConnection,
    health: &[&EndpointHealth],
) -> Result<()> {
    let endpoint_ids = health.iter().map(|health| health.endpoint_id).collect::<Vec<_>>();
    let failing_since = health.iter().map(|health| health.failing_since).collect::<Vec<_>>();
    let failures = health.iter().map(|health| health.failures).collect::<Vec<_>>();
    let retry_at = health.iter().map(|health| health.retry_at).collect::<Vec<_>>();
    query!(
        "UPDATE webhook_endpoints AS endpoint
         SET failing_since = known.failing_since, failures = known.failures,
             retry_at = known.retry_at
         FROM unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::timestamptz[])
             AS known (endpoint_id, failing_since, failures, retry_at)
         WHERE endpoint.endpoint_id = known.endpoint_id",
        &endpoint_ids,
        &failing_since as &[Option<DateTime<Utc>>],
        &failures,
        &retry_at as &[Option<DateTime<Utc>>],
    )
    .execute(connection)
    .await?;
    Ok(())
}
