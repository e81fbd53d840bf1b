use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};
use uuid::Uuid;

use crate::accounts::scope::Scope;
use crate::error::Result;
use crate::types::ids::AccountId;

/// An account that is offered to a client.
#[derive(Clone)]
pub struct ClientInvitation {
    pub invitation_id: Uuid,
    /// The asker's first account.
    pub account_id: AccountId,
    /// The address of the person who asked.
    pub asker: String,
    /// The client's address.
    pub client: String,
    pub display_name: String,
    /// The role of the asker in the client's account.
    pub role: Scope,
    pub created_at: DateTime<Utc>,
    pub mailed_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub declined_at: Option<DateTime<Utc>>,
}

impl ClientInvitation {
    /// Whether the client can still confirm it.
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        self.declined_at.is_none() && self.expires_at > now
    }
}

macro_rules! select_invitation {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            ClientInvitation,
            "SELECT invitation_id, account_id, asker, client, display_name, role, created_at,
                 mailed_at, expires_at, declined_at
             FROM client_invitations " + $rest,
            $($argument),+
        )
    };
}

/// Lists the person's invitations, oldest first, including expired ones.
pub async fn list_client_invitations(
    connection: &mut PgConnection,
    asker: &str,
) -> Result<Vec<ClientInvitation>> {
    let stored = select_invitation!("WHERE asker = $1 ORDER BY created_at, invitation_id", asker)
        .fetch_all(connection)
        .await?;
    Ok(stored)
}

pub async fn list_client_invitations_of_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<ClientInvitation>> {
    let stored = select_invitation!(
        "WHERE account_id = $1 ORDER BY created_at, invitation_id",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(stored)
}

pub async fn find_client_invitation(
    connection: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<ClientInvitation>> {
    let stored =
        select_invitation!("WHERE token_hash = $1", token_hash).fetch_optional(connection).await?;
    Ok(stored)
}

/// Locks the invitation until the transaction ends, so that it is confirmed once.
pub async fn lock_client_invitation(
    connection: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<ClientInvitation>> {
    let stored = select_invitation!("WHERE token_hash = $1 FOR UPDATE", token_hash)
        .fetch_optional(connection)
        .await?;
    Ok(stored)
}

/// An invitation of this asker, locked until the transaction ends.
pub async fn lock_own_client_invitation(
    connection: &mut PgConnection,
    asker: &str,
    invitation_id: Uuid,
) -> Result<Option<ClientInvitation>> {
    let stored = select_invitation!(
        "WHERE asker = $1 AND invitation_id = $2 FOR UPDATE",
        asker,
        invitation_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(stored)
}

pub async fn insert_client_invitation(
    connection: &mut PgConnection,
    new: &ClientInvitation,
    token_hash: &[u8],
) -> Result<()> {
    query!(
        "INSERT INTO client_invitations (invitation_id, account_id, asker, client, display_name,
             role, token_hash, created_at, mailed_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        new.invitation_id,
        new.account_id.as_str(),
        new.asker,
        new.client,
        new.display_name,
        new.role.as_str(),
        token_hash,
        new.created_at,
        new.mailed_at,
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces the link, so that the links of earlier mails end.
pub async fn update_client_invitation_mailed(
    connection: &mut PgConnection,
    invitation_id: Uuid,
    token_hash: &[u8],
    mailed_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE client_invitations SET token_hash = $2, mailed_at = $3, expires_at = $4
         WHERE invitation_id = $1",
        invitation_id,
        token_hash,
        mailed_at,
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Keeps the row until `kept_until`, so that the client cannot be invited again before.
pub async fn update_client_invitation_declined(
    connection: &mut PgConnection,
    invitation_id: Uuid,
    declined_at: DateTime<Utc>,
    kept_until: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE client_invitations SET declined_at = $2, expires_at = $3 WHERE invitation_id = $1",
        invitation_id,
        declined_at,
        kept_until,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_client_invitation(
    connection: &mut PgConnection,
    invitation_id: Uuid,
) -> Result<()> {
    query!("DELETE FROM client_invitations WHERE invitation_id = $1", invitation_id)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_expired_client_invitations(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM client_invitations WHERE invitation_id IN (
             SELECT invitation_id FROM client_invitations WHERE expires_at <= $1 LIMIT $2)",
        now,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
