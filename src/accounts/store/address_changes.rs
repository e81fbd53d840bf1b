use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::Result;
use crate::types::ids::AccountId;

pub struct AddressChange {
    pub new_address: String,
    /// The time of the first request; later requests replace the change but keep this time.
    pub began_at: DateTime<Utc>,
    pub takes_effect_at: DateTime<Utc>,
    pub withdrawn_at: Option<DateTime<Utc>>,
    pub asked_by: String,
    pub asked_session: Option<Uuid>,
}

macro_rules! select_change {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            AddressChange,
            "SELECT new_address, began_at, takes_effect_at, withdrawn_at, asked_by, asked_session
             FROM address_changes " + $rest,
            $($argument),+
        )
    };
}

/// Stores a change, replacing a pending one. Links mailed for the replaced change cancel this one too.
pub async fn upsert_address_change(
    connection: &mut PgConnection,
    account_id: &AccountId,
    change: &AddressChange,
    link_hash: &[u8],
) -> Result<()> {
    query!(
        "INSERT INTO address_changes AS waiting (account_id, new_address, began_at, takes_effect_at,
             asked_by, asked_session, link_hashes)
         VALUES ($1, $2, $3, $4, $5, $6, ARRAY[$7::bytea])
         ON CONFLICT (account_id) DO UPDATE
         SET new_address = $2, takes_effect_at = $4, withdrawn_at = NULL, asked_by = $5,
             asked_session = $6,
             link_hashes = waiting.link_hashes || ARRAY[$7::bytea]",
        account_id.as_str(),
        change.new_address,
        change.began_at,
        change.takes_effect_at,
        change.asked_by,
        change.asked_session,
        link_hash,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_address_change(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<AddressChange>> {
    let change = find_cancellable_change(connection, account_id).await?;
    Ok(change.filter(|change| change.withdrawn_at.is_none()))
}

/// Finds the change, pending or withdrawn, whose links are valid.
pub async fn find_cancellable_change(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<AddressChange>> {
    let change = select_change!("WHERE account_id = $1", account_id.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(change)
}

pub async fn find_account_of_change_link(
    connection: &mut PgConnection,
    link_hash: &[u8],
) -> Result<Option<AccountId>> {
    let account_id = query_scalar!(
        "SELECT account_id FROM address_changes WHERE link_hashes @> ARRAY[$1::bytea]",
        link_hash,
    )
    .fetch_optional(connection)
    .await?;
    Ok(account_id.map(AccountId::from))
}

pub async fn list_due_address_changes(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<Vec<AccountId>> {
    let account_ids = query_scalar!(
        "SELECT account_id FROM address_changes WHERE takes_effect_at <= $1
         ORDER BY takes_effect_at",
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(account_ids.into_iter().map(AccountId::from).collect())
}

/// Returns `false` when no change is pending.
pub async fn update_change_withdrawn(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let withdrawn = query!(
        "UPDATE address_changes SET withdrawn_at = $2
         WHERE account_id = $1 AND withdrawn_at IS NULL",
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(withdrawn.rows_affected() == 1)
}

pub async fn delete_address_change(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<()> {
    query!("DELETE FROM address_changes WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}
