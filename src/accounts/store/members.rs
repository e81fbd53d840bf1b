use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};
use uuid::Uuid;

use crate::accounts::scope::Scope;
use crate::accounts::sites::Sites;
use crate::error::Result;
use crate::types::ids::AccountId;

#[derive(Clone)]
pub struct StoredMember {
    pub member_id: Uuid,
    pub account_id: AccountId,
    pub email: String,
    pub role: Scope,
    pub sites: Sites,
    pub created_at: DateTime<Utc>,
}

macro_rules! select_member {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            StoredMember,
            "SELECT member_id, account_id, email, role, pixels AS sites, created_at FROM members " + $rest,
            $($argument),+
        )
    };
}

pub async fn list_memberships_of(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Vec<StoredMember>> {
    let stored = select_member!("WHERE email = $1 ORDER BY created_at, member_id", email)
        .fetch_all(connection)
        .await?;
    Ok(stored)
}

pub async fn list_members(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<StoredMember>> {
    let id = account_id.as_str();
    let stored = select_member!("WHERE account_id = $1 ORDER BY created_at, member_id", id)
        .fetch_all(connection)
        .await?;
    Ok(stored)
}

pub async fn find_member_by_id(
    connection: &mut PgConnection,
    account_id: &AccountId,
    member_id: Uuid,
) -> Result<Option<StoredMember>> {
    let id = account_id.as_str();
    let stored = select_member!("WHERE account_id = $1 AND member_id = $2", id, member_id)
        .fetch_optional(connection)
        .await?;
    Ok(stored)
}

pub async fn insert_member(connection: &mut PgConnection, stored: &StoredMember) -> Result<()> {
    query!(
        "INSERT INTO members (member_id, account_id, email, role, pixels, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        stored.member_id,
        stored.account_id.as_str(),
        stored.email,
        stored.role.as_str(),
        stored.sites.listed(),
        stored.created_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the role and the sites.
pub async fn update_role(connection: &mut PgConnection, stored: &StoredMember) -> Result<()> {
    query!(
        "UPDATE members SET role = $3, pixels = $4 WHERE account_id = $1 AND member_id = $2",
        stored.account_id.as_str(),
        stored.member_id,
        stored.role.as_str(),
        stored.sites.listed(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_member(
    connection: &mut PgConnection,
    account_id: &AccountId,
    member_id: Uuid,
) -> Result<()> {
    query!(
        "DELETE FROM members WHERE account_id = $1 AND member_id = $2",
        account_id.as_str(),
        member_id,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_member(
    connection: &mut PgConnection,
    account_id: &AccountId,
    email: &str,
) -> Result<Option<StoredMember>> {
    let stored = select_member!("WHERE account_id = $1 AND email = $2", account_id.as_str(), email)
        .fetch_optional(connection)
        .await?;
    Ok(stored)
}

/// Returns `false` when the address is not a member.
pub async fn delete_member_of(
    connection: &mut PgConnection,
    account_id: &AccountId,
    email: &str,
) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM members WHERE account_id = $1 AND email = $2",
        account_id.as_str(),
        email,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}
