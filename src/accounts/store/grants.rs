use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::accounts::scope::Scope;
use crate::error::Result;
use crate::infra::deletion;
use crate::types::ids::AccountId;

pub struct NewGrant<'a> {
    pub grant_id: &'a str,
    pub account_id: &'a AccountId,
    pub member_id: Option<Uuid>,
    pub address: &'a str,
    pub session_id: Uuid,
    pub client_id: &'a str,
    pub client_name: &'a str,
    pub client_host: Option<&'a str>,
    pub scope: Scope,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

pub async fn insert_grant(connection: &mut PgConnection, new: &NewGrant<'_>) -> Result<()> {
    query!(
        "INSERT INTO grants (grant_id, account_id, member_id, address, session_id, client_id,
             client_name, client_host, scope, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        new.grant_id,
        new.account_id.as_str(),
        new.member_id,
        new.address,
        new.session_id,
        new.client_id,
        new.client_name,
        new.client_host,
        new.scope.as_str(),
        new.created_at,
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct GrantRow {
    pub grant_id: String,
    pub account_id: AccountId,
    pub member_id: Option<Uuid>,
    pub address: String,
    pub client_id: String,
    pub client_name: String,
    pub client_host: Option<String>,
    pub scope: Scope,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
    pub exceeded_at: Option<DateTime<Utc>>,
}

macro_rules! select_grants {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            GrantRow,
            "SELECT grant_id, account_id, member_id, address, client_id, client_name, client_host,
                 scope, created_at, last_used_at, exceeded_at
             FROM grants " + $rest,
            $($argument),+
        )
    };
}

pub async fn find_grant(
    connection: &mut PgConnection,
    grant_id: &str,
    now: DateTime<Utc>,
) -> Result<Option<GrantRow>> {
    let row = select_grants!("WHERE grant_id = $1 AND expires_at > $2", grant_id, now)
        .fetch_optional(connection)
        .await?;
    Ok(row)
}

/// Like [`find_grant`], but locks the grant until the transaction ends.
pub async fn lock_grant(
    connection: &mut PgConnection,
    grant_id: &str,
    now: DateTime<Utc>,
) -> Result<Option<GrantRow>> {
    let row = select_grants!("WHERE grant_id = $1 AND expires_at > $2 FOR UPDATE", grant_id, now)
        .fetch_optional(connection)
        .await?;
    Ok(row)
}

pub async fn list_grants(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<Vec<GrantRow>> {
    let rows = select_grants!(
        "WHERE account_id = $1 AND expires_at > $2 ORDER BY created_at, grant_id",
        account_id.as_str(),
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn update_grant_used(
    connection: &mut PgConnection,
    grant_id: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE grants SET last_used_at = $2 WHERE grant_id = $1", grant_id, now)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn update_grant_exceeded(
    connection: &mut PgConnection,
    grant_id: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE grants SET exceeded_at = $2 WHERE grant_id = $1", grant_id, now)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn update_grant_extended(
    connection: &mut PgConnection,
    grant_id: &str,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE grants SET expires_at = $2 WHERE grant_id = $1", grant_id, expires_at)
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns the account of the grant; `None` when it has ended already.
pub async fn delete_grant(
    connection: &mut PgConnection,
    grant_id: &str,
) -> Result<Option<AccountId>> {
    let account_id = query_scalar!(
        "DELETE FROM grants WHERE grant_id = $1 RETURNING account_id AS \"account_id: AccountId\"",
        grant_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(account_id)
}

pub async fn delete_grants_of(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
) -> Result<()> {
    query!(
        "DELETE FROM grants WHERE account_id = $1 AND address = $2",
        account_id.as_str(),
        address,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_grants_of_app(
    connection: &mut PgConnection,
    account_id: &AccountId,
    address: &str,
    client_id: &str,
) -> Result<()> {
    query!(
        "DELETE FROM grants WHERE account_id = $1 AND address = $2 AND client_id = $3",
        account_id.as_str(),
        address,
        client_id,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_grants_since(
    connection: &mut PgConnection,
    account_id: &AccountId,
    since: DateTime<Utc>,
) -> Result<()> {
    query!(
        "DELETE FROM grants WHERE account_id = $1 AND created_at >= $2",
        account_id.as_str(),
        since,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_grants_of_session(
    connection: &mut PgConnection,
    session_id: Uuid,
) -> Result<()> {
    query!("DELETE FROM grants WHERE session_id = $1", session_id).execute(connection).await?;
    Ok(())
}

/// Deletes the least recently used grants of the account, so that at most `most` remain.
pub async fn delete_grants_beyond(
    connection: &mut PgConnection,
    account_id: &AccountId,
    most: i64,
) -> Result<()> {
    query!(
        "DELETE FROM grants WHERE grant_id IN (
             SELECT grant_id FROM grants WHERE account_id = $1
             ORDER BY COALESCE(last_used_at, created_at) DESC, created_at DESC OFFSET $2)",
        account_id.as_str(),
        most,
    )
    .execute(connection)
    .await?;
    Ok(())
}

deletion!(delete_expired_grants, "grants", "grant_id", "expires_at <= $1");
