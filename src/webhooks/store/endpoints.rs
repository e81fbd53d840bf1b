use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use super::encrypted::EncryptedSecrets;
use crate::error::Result;
use crate::types::ids::AccountId;
use crate::webhooks::endpoint::{Endpoint, PausedBecause};

macro_rules! select_endpoint {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Endpoint,
            "SELECT endpoint_id, account_id, url, events, pixels, format, public_key, created_at,
                 previous_until, paused_at, paused_because, failing_since
             FROM webhook_endpoints " + $rest,
            $($argument),+
        )
    };
}

pub async fn list_endpoints(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<Endpoint>> {
    let endpoints = select_endpoint!(
        "WHERE account_id = $1 ORDER BY created_at, endpoint_id",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(endpoints)
}

pub async fn find_endpoint(
    connection: &mut PgConnection,
    account_id: &AccountId,
    endpoint_id: Uuid,
) -> Result<Option<Endpoint>> {
    let endpoint = select_endpoint!(
        "WHERE account_id = $1 AND endpoint_id = $2",
        account_id.as_str(),
        endpoint_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(endpoint)
}

pub async fn lock_endpoint(
    connection: &mut PgConnection,
    account_id: &AccountId,
    endpoint_id: Uuid,
) -> Result<Option<Endpoint>> {
    let endpoint = select_endpoint!(
        "WHERE account_id = $1 AND endpoint_id = $2 FOR UPDATE",
        account_id.as_str(),
        endpoint_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(endpoint)
}

pub async fn count_endpoints(connection: &mut PgConnection, account_id: &AccountId) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM webhook_endpoints WHERE account_id = $1",
        account_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn insert_endpoint(
    connection: &mut PgConnection,
    endpoint: &Endpoint,
    encrypted: &[u8],
) -> Result<()> {
    query!(
        "INSERT INTO webhook_endpoints (endpoint_id, account_id, url, events, pixels, format, secret,
             created_at, public_key)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        endpoint.endpoint_id,
        endpoint.account_id.as_str(),
        endpoint.url,
        endpoint.events.as_deref(),
        endpoint.pixels.as_deref(),
        endpoint.format,
        encrypted,
        endpoint.created_at,
        endpoint.public_key,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the owner's changes. Resets the failures of an endpoint without `failing_since`.
pub async fn update_endpoint(connection: &mut PgConnection, endpoint: &Endpoint) -> Result<()> {
    query!(
        "UPDATE webhook_endpoints
         SET url = $2, events = $3, pixels = $4, format = $5, paused_at = $6, paused_because = $7,
             public_key = $9, failing_since = $8, failures = CASE WHEN $8::timestamptz IS NULL THEN 0 ELSE failures END,
             retry_at = CASE WHEN $8::timestamptz IS NULL THEN NULL ELSE retry_at END
         WHERE endpoint_id = $1",
        endpoint.endpoint_id,
        endpoint.url,
        endpoint.events.as_deref(),
        endpoint.pixels.as_deref(),
        endpoint.format,
        endpoint.paused_at,
        endpoint.paused_because,
        endpoint.failing_since,
        endpoint.public_key,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Pauses the endpoint; `false` if it is already paused or deleted.
pub async fn update_paused(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    because: PausedBecause,
    now: DateTime<Utc>,
) -> Result<bool> {
    let paused = query!(
        "UPDATE webhook_endpoints SET paused_at = $3, paused_because = $2
         WHERE endpoint_id = $1 AND paused_at IS NULL",
        endpoint_id,
        because.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(paused.rows_affected() == 1)
}

/// Stores a new signing secret; the present one also signs until the given time.
pub async fn update_secret(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    encrypted: &[u8],
    public_key: Option<&str>,
    previous_until: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE webhook_endpoints
         SET previous_secret = secret, previous_until = $3, secret = $2, public_key = $4
         WHERE endpoint_id = $1",
        endpoint_id,
        encrypted,
        previous_until,
        public_key,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_secrets(
    connection: &mut PgConnection,
    endpoint_id: Uuid,
    now: DateTime<Utc>,
) -> Result<Option<EncryptedSecrets>> {
    let secrets = query_as!(
        EncryptedSecrets,
        "SELECT secret AS present, public_key IS NOT NULL AS \"are_public!\",
             CASE WHEN previous_until > $2 THEN previous_secret END AS previous
         FROM webhook_endpoints WHERE endpoint_id = $1",
        endpoint_id,
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(secrets)
}

pub async fn delete_endpoint(connection: &mut PgConnection, endpoint_id: Uuid) -> Result<()> {
    query!("DELETE FROM webhook_endpoints WHERE endpoint_id = $1", endpoint_id)
        .execute(&mut *connection)
        .await?;
    query!("DELETE FROM webhook_deliveries WHERE endpoint_id = $1", endpoint_id)
        .execute(connection)
        .await?;
    Ok(())
}
