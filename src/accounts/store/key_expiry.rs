use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;
use crate::types::ids::AccountId;

pub struct ExpiringKey {
    pub account_id: AccountId,
    pub prefix: String,
}

/// Valid keys that expire by `until` and whose owners have not been notified. Keys that were issued for a week or
/// less are left out.
pub async fn list_expiring_keys(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<ExpiringKey>> {
    let keys = query_as!(
        ExpiringKey,
        "SELECT account_id, prefix FROM api_keys
         WHERE expires_at > $1 AND expires_at <= $2 AND revoked_at IS NULL
             AND expiry_noted_at IS NULL AND expiry_told_at IS NULL
             AND expires_at > created_at + interval '7 days'
         ORDER BY expires_at LIMIT $3",
        now,
        until,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(keys)
}

/// Returns `false` when the owner has been notified, or the key was revoked.
pub async fn update_expiry_notified(
    connection: &mut PgConnection,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let noted = query!(
        "UPDATE api_keys SET expiry_told_at = $2
         WHERE prefix = $1 AND expiry_told_at IS NULL AND revoked_at IS NULL",
        prefix,
        now,
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected() == 1)
}

/// Marks keys that have expired, and returns them. Rows that another transaction has locked are left for the next run.
pub async fn update_expiry_noted(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<ExpiringKey>> {
    let keys = query_as!(
        ExpiringKey,
        "UPDATE api_keys SET expiry_noted_at = $1
         WHERE prefix IN (
             SELECT prefix FROM api_keys
             WHERE expires_at <= $1 AND revoked_at IS NULL AND expiry_noted_at IS NULL
             ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING account_id, prefix",
        now,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(keys)
}

pub struct EndOfKey {
    pub name: Option<String>,
    pub expires_at: DateTime<Utc>,
}

/// The name and the expiry of a valid key; `None` also for a key that does not expire.
pub async fn find_end_of_key(
    connection: &mut PgConnection,
    account_id: &AccountId,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<Option<EndOfKey>> {
    let end = query_as!(
        EndOfKey,
        "SELECT name, expires_at AS \"expires_at!\" FROM api_keys
         WHERE account_id = $1 AND prefix = $2 AND expires_at > $3 AND revoked_at IS NULL",
        account_id.as_str(),
        prefix,
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(end)
}
