use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::accounts::scope::Scope;
use crate::accounts::sites::Sites;
use crate::error::Result;
use crate::types::ids::AccountId;

pub struct NewKey<'a> {
    pub account_id: &'a AccountId,
    pub key_hash: &'a [u8],
    pub prefix: &'a str,
    pub name: Option<&'a str>,
    pub scope: Scope,
    pub sites: &'a Sites,
    pub expires_at: Option<DateTime<Utc>>,
    pub from_signup_token: bool,
    pub made_by: &'a str,
    pub created_at: DateTime<Utc>,
}

pub async fn insert_api_key(connection: &mut PgConnection, new: &NewKey<'_>) -> Result<()> {
    query!(
        "INSERT INTO api_keys
             (key_hash, account_id, prefix, name, scope, from_signup_token, made_by, created_at,
              pixels, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        new.key_hash,
        new.account_id.as_str(),
        new.prefix,
        new.name,
        new.scope.as_str(),
        new.from_signup_token,
        new.made_by,
        new.created_at,
        new.sites.listed(),
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct ApiKeyRow {
    pub account_id: AccountId,
    pub prefix: String,
    pub scope: Scope,
    pub sites: Sites,
    pub from_signup_token: bool,
    pub revoked_at: Option<DateTime<Utc>>,
    pub expires_at: Option<DateTime<Utc>>,
}

pub async fn find_api_key(
    connection: &mut PgConnection,
    key_hash: &[u8],
) -> Result<Option<ApiKeyRow>> {
    let row = query_as!(
        ApiKeyRow,
        "SELECT account_id, prefix, scope, pixels AS sites, from_signup_token, revoked_at, expires_at
         FROM api_keys WHERE key_hash = $1",
        key_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Counts the valid keys. The caller must lock the account's row, so that the number stays correct.
pub async fn count_live_keys(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM api_keys
         WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
        account_id.as_str(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn count_keys_ever(connection: &mut PgConnection, account_id: &AccountId) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM api_keys WHERE account_id = $1",
        account_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub struct LiveKey {
    pub prefix: String,
    pub name: Option<String>,
    pub scope: Scope,
    pub sites: Sites,
    /// The actor, in the form of the account's events; `None` for keys older than this column.
    pub made_by: Option<String>,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub last_used_at: Option<DateTime<Utc>>,
}

/// Lists the keys that are not revoked, oldest first, without those that expired before a time.
pub async fn list_live_keys(
    connection: &mut PgConnection,
    account_id: &AccountId,
    expired_since: DateTime<Utc>,
) -> Result<Vec<LiveKey>> {
    let keys = query_as!(
        LiveKey,
        "SELECT prefix, name, scope, pixels AS sites, made_by, created_at, expires_at, last_used_at
         FROM api_keys
         WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
         ORDER BY created_at, prefix",
        account_id.as_str(),
        expired_since,
    )
    .fetch_all(connection)
    .await?;
    Ok(keys)
}

/// The prefixes and names of all keys with a name, including keys that have ended.
pub async fn list_key_names(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<(String, String)>> {
    let rows = query!(
        "SELECT prefix, name AS \"name!\" FROM api_keys WHERE account_id = $1 AND name IS NOT NULL",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.prefix, row.name)).collect())
}

pub async fn find_scope_of_live_key(
    connection: &mut PgConnection,
    account_id: &AccountId,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<Option<Scope>> {
    let scope = query_scalar!(
        "SELECT scope FROM api_keys
         WHERE account_id = $1 AND prefix = $2 AND revoked_at IS NULL
             AND (expires_at IS NULL OR expires_at > $3)",
        account_id.as_str(),
        prefix,
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(scope.map(Scope::from))
}

pub async fn list_live_keys_made_by(
    connection: &mut PgConnection,
    account_id: &AccountId,
    maker: &str,
    now: DateTime<Utc>,
) -> Result<Vec<String>> {
    let prefixes = query_scalar!(
        "WITH RECURSIVE made AS (
             SELECT prefix FROM api_keys WHERE account_id = $1 AND made_by = $2
             UNION
             SELECT key.prefix FROM api_keys AS key JOIN made ON key.made_by = made.prefix
             WHERE key.account_id = $1)
         SELECT prefix FROM api_keys
         WHERE account_id = $1 AND revoked_at IS NULL AND prefix IN (SELECT prefix FROM made)
             AND (expires_at IS NULL OR expires_at > $3)
         ORDER BY created_at, prefix",
        account_id.as_str(),
        maker,
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(prefixes)
}

pub async fn list_live_keys_since(
    connection: &mut PgConnection,
    account_id: &AccountId,
    since: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<Vec<String>> {
    let prefixes = query_scalar!(
        "SELECT prefix FROM api_keys
         WHERE account_id = $1 AND revoked_at IS NULL AND created_at >= $2
             AND (expires_at IS NULL OR expires_at > $3)
         ORDER BY created_at, prefix",
        account_id.as_str(),
        since,
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(prefixes)
}

pub async fn update_key_revoked(
    connection: &mut PgConnection,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE prefix = $1",
        prefix,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_key_owner(
    connection: &mut PgConnection,
    prefix: &str,
) -> Result<Option<AccountId>> {
    let owner = query_scalar!(
        "SELECT account_id AS \"account_id: AccountId\" FROM api_keys WHERE prefix = $1",
        prefix,
    )
    .fetch_optional(connection)
    .await?;
    Ok(owner)
}

/// Returns `false` when the account has no active key with that prefix.
pub async fn update_own_key_revoked(
    connection: &mut PgConnection,
    account_id: &AccountId,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let changed = query!(
        "UPDATE api_keys SET revoked_at = $3
         WHERE account_id = $1 AND prefix = $2 AND revoked_at IS NULL",
        account_id.as_str(),
        prefix,
        now,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

pub async fn update_keys_revoked(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<u64> {
    let changed = query!(
        "UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL",
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected())
}

pub async fn update_token_keys_revoked(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<u64> {
    let changed = query!(
        "UPDATE api_keys SET revoked_at = $2
         WHERE account_id = $1 AND from_signup_token AND revoked_at IS NULL",
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected())
}
