use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};
use uuid::Uuid;

use super::client::Client;
use super::redirect_uri::RedirectUri;
use crate::accounts::scope::Scope;
use crate::error::Result;
use crate::infra::deletion;
use crate::types::ids::AccountId;

pub async fn insert_client(
    connection: &mut PgConnection,
    client: &Client,
    now: DateTime<Utc>,
) -> Result<()> {
    let redirect_uris = client.redirect_uris.iter().map(|uri| uri.as_str().to_owned());
    query!(
        "INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
         VALUES ($1, $2, $3, $4)",
        client.client_id,
        client.name,
        &redirect_uris.collect::<Vec<_>>(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_client(connection: &mut PgConnection, client_id: &str) -> Result<Option<Client>> {
    let row = query!(
        "SELECT client_id, name, redirect_uris FROM oauth_clients WHERE client_id = $1",
        client_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Client {
        client_id: row.client_id,
        name: row.name,
        host: None,
        redirect_uris: row.redirect_uris.iter().filter_map(|it| RedirectUri::parse(it)).collect(),
    }))
}

pub async fn update_client_used(
    connection: &mut PgConnection,
    client_id: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE oauth_clients SET used_at = $2 WHERE client_id = $1", client_id, now)
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes apps without a grant that were registered by `registered_before` and never authorised, or that were last
/// authorised by `used_before`.
pub async fn delete_unused_clients(
    connection: &mut PgConnection,
    registered_before: DateTime<Utc>,
    used_before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM oauth_clients WHERE client_id IN (
             SELECT client.client_id FROM oauth_clients AS client
             WHERE (client.used_at IS NULL AND client.created_at <= $1
                     OR client.used_at <= $2)
                 AND NOT EXISTS (SELECT FROM grants WHERE grants.client_id = client.client_id)
             LIMIT $3)",
        registered_before,
        used_before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub struct CodeRow {
    pub account_id: AccountId,
    pub member_id: Option<Uuid>,
    pub address: String,
    pub session_id: Uuid,
    pub client_id: String,
    pub client_name: String,
    pub client_host: Option<String>,
    pub redirect_uri: String,
    pub challenge: Vec<u8>,
    pub scope: Scope,
    pub expires_at: DateTime<Utc>,
    pub is_used: bool,
    pub grant_id: Option<String>,
}

pub async fn insert_code(
    connection: &mut PgConnection,
    code_hash: &[u8],
    row: &CodeRow,
) -> Result<()> {
    query!(
        "INSERT INTO oauth_codes (code_hash, account_id, member_id, address, session_id, client_id,
             client_name, client_host, redirect_uri, challenge, scope, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        code_hash,
        row.account_id.as_str(),
        row.member_id,
        row.address,
        row.session_id,
        row.client_id,
        row.client_name,
        row.client_host,
        row.redirect_uri,
        row.challenge,
        row.scope.as_str(),
        row.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct CodeOwner {
    pub account_id: AccountId,
    pub address: String,
}

pub async fn find_owner_of_code(
    connection: &mut PgConnection,
    code_hash: &[u8],
) -> Result<Option<CodeOwner>> {
    let owner = query_as!(
        CodeOwner,
        "SELECT account_id, address FROM oauth_codes WHERE code_hash = $1",
        code_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(owner)
}

pub async fn lock_code(connection: &mut PgConnection, code_hash: &[u8]) -> Result<Option<CodeRow>> {
    let row = query_as!(
        CodeRow,
        "SELECT account_id, member_id, address, session_id, client_id, client_name, client_host,
             redirect_uri, challenge, scope, expires_at, is_used, grant_id
         FROM oauth_codes WHERE code_hash = $1 FOR UPDATE",
        code_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

pub async fn update_code_used(connection: &mut PgConnection, code_hash: &[u8]) -> Result<()> {
    query!("UPDATE oauth_codes SET is_used = true WHERE code_hash = $1", code_hash)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn update_grant_of_code(
    connection: &mut PgConnection,
    code_hash: &[u8],
    grant_id: &str,
) -> Result<()> {
    query!("UPDATE oauth_codes SET grant_id = $2 WHERE code_hash = $1", code_hash, grant_id)
        .execute(connection)
        .await?;
    Ok(())
}

deletion!(delete_expired_codes, "oauth_codes", "code_hash", "expires_at <= $1");

pub async fn insert_token(
    connection: &mut PgConnection,
    token_hash: &[u8],
    grant_id: &str,
    is_refresh: bool,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO oauth_tokens (token_hash, grant_id, is_refresh, expires_at)
         VALUES ($1, $2, $3, $4)",
        token_hash,
        grant_id,
        is_refresh,
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct TokenRow {
    pub grant_id: String,
    pub is_refresh: bool,
    pub expires_at: DateTime<Utc>,
    pub is_used: bool,
}

pub async fn find_token(
    connection: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<TokenRow>> {
    let row = query_as!(
        TokenRow,
        "SELECT grant_id, is_refresh, expires_at, is_used FROM oauth_tokens WHERE token_hash = $1",
        token_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

pub async fn update_token_used(connection: &mut PgConnection, token_hash: &[u8]) -> Result<()> {
    query!("UPDATE oauth_tokens SET is_used = true WHERE token_hash = $1", token_hash)
        .execute(connection)
        .await?;
    Ok(())
}

deletion!(delete_expired_tokens, "oauth_tokens", "token_hash", "expires_at <= $1");
