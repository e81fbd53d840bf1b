use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::accounts::account::Plan;
use crate::error::Result;
use crate::types::ids::AccountId;

/// Activates a pending account; if it is suspended, it becomes active when it is resumed. No other
/// statement activates accounts. Returns `false` when the account was not pending.
pub async fn update_activated(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<bool> {
    let changed = query!(
        "UPDATE accounts
         SET status = CASE status WHEN 'pending_email' THEN 'active' ELSE status END,
             suspended_from = CASE suspended_from
                 WHEN 'pending_email' THEN 'active' ELSE suspended_from END
         WHERE account_id = $1 AND (status = 'pending_email' OR suspended_from = 'pending_email')",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Confirms the address, and activates a pending account. Returns `false` when it was confirmed before.
pub async fn update_email_verified(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let changed = query!(
        "UPDATE accounts SET email_verified_at = $2
         WHERE account_id = $1 AND email_verified_at IS NULL",
        account_id.as_str(),
        now,
    )
    .execute(&mut *connection)
    .await?;
    if changed.rows_affected() == 0 {
        return Ok(false);
    }
    update_activated(connection, account_id).await?;
    Ok(true)
}

/// Keeps the previous status, so that it can be restored.
pub async fn update_suspended(connection: &mut PgConnection, account_id: &AccountId) -> Result<()> {
    query!(
        "UPDATE accounts
         SET suspended_from = CASE status WHEN 'suspended' THEN suspended_from ELSE status END,
             status = 'suspended'
         WHERE account_id = $1",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Restores the previous status. Returns `false` when there is no such account.
pub async fn update_resumed(connection: &mut PgConnection, account_id: &AccountId) -> Result<bool> {
    let changed = query!(
        "UPDATE accounts SET status = COALESCE(suspended_from, status), suspended_from = NULL
         WHERE account_id = $1",
        account_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

pub async fn update_plan(
    connection: &mut PgConnection,
    account_id: &AccountId,
    plan: Plan,
) -> Result<()> {
    query!(
        "UPDATE accounts SET plan = $2 WHERE account_id = $1",
        account_id.as_str(),
        plan.as_str()
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn lock_confirmation_mailed_at(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Option<DateTime<Utc>>> {
    let mailed_at = query_scalar!(
        "SELECT confirmation_mailed_at FROM accounts WHERE account_id = $1 FOR UPDATE",
        account_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(mailed_at)
}

pub async fn update_confirmation_mailed_at(
    connection: &mut PgConnection,
    account_id: &AccountId,
    mailed_at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "UPDATE accounts SET confirmation_mailed_at = $2 WHERE account_id = $1",
        account_id.as_str(),
        mailed_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}
