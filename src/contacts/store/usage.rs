use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::contacts::allowance::coverage::{Coverage, UsageSnapshot};
use crate::error::Result;
use crate::types::ids::AccountId;

pub async fn find_usage(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
) -> Result<i64> {
    let stored = query_scalar!(
        "SELECT stored FROM contact_usage WHERE account_id = $1 AND month = $2",
        account_id.as_str(),
        month,
    )
    .fetch_optional(connection)
    .await?;
    Ok(stored.unwrap_or_default())
}

pub async fn add_usage(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
    new: i64,
    reached_percent: i16,
) -> Result<()> {
    query!(
        "INSERT INTO contact_usage AS usage (account_id, month, stored, reached_percent)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (account_id, month) DO UPDATE
         SET stored = usage.stored + excluded.stored,
             reached_percent = GREATEST(usage.reached_percent, excluded.reached_percent)",
        account_id.as_str(),
        month,
        new,
        reached_percent,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Active accounts that have reached a higher percentage than they were notified of, by id.
pub async fn list_unnotified(
    connection: &mut PgConnection,
    month: NaiveDate,
    after: Option<&AccountId>,
    limit: i64,
) -> Result<Vec<AccountId>> {
    let accounts = query_scalar!(
        // The few rows of the index first, then their accounts.
        "WITH untold AS MATERIALIZED (
             SELECT account_id FROM contact_usage
             WHERE month = $1 AND reached_percent > told_percent)
         SELECT account_id AS \"account_id: AccountId\" FROM untold JOIN accounts USING (account_id)
         WHERE account_id > COALESCE($2, '')
             AND plan <> 'unlimited' AND status = 'active' AND email_verified_at IS NOT NULL
         ORDER BY account_id LIMIT $3",
        month,
        after.map(AccountId::as_str),
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(accounts)
}

/// Records the notification; returns the percentage, unless it was recorded before.
pub async fn update_notified(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
) -> Result<Option<i16>> {
    let percent = query_scalar!(
        "UPDATE contact_usage SET told_percent = reached_percent
         WHERE account_id = $1 AND month = $2 AND reached_percent > told_percent
         RETURNING told_percent",
        account_id.as_str(),
        month,
    )
    .fetch_optional(connection)
    .await?;
    Ok(percent)
}

pub async fn find_reached(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
) -> Result<i16> {
    let percent = query_scalar!(
        "SELECT reached_percent FROM contact_usage WHERE account_id = $1 AND month = $2",
        account_id.as_str(),
        month,
    )
    .fetch_optional(connection)
    .await?;
    Ok(percent.unwrap_or_default())
}

pub async fn find_usage_snapshot(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
) -> Result<Option<UsageSnapshot>> {
    let row = query!(
        "SELECT plan, trial_ends_at, paid_until, COALESCE(usage.stored, 0) AS \"used!\"
         FROM accounts LEFT JOIN contact_usage AS usage
             ON usage.account_id = accounts.account_id AND usage.month = $2
         WHERE accounts.account_id = $1",
        account_id.as_str(),
        month,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| UsageSnapshot {
        coverage: Coverage {
            plan: row.plan.into(),
            trial_ends_at: row.trial_ends_at,
            paid_until: row.paid_until,
        },
        used: row.used,
        month,
    }))
}

/// Accounts whose trial or paid period has ended without a notification of that end.
pub async fn list_end_unnotified(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<AccountId>> {
    let accounts = query_scalar!(
        "(SELECT account_id AS \"account_id!: AccountId\" FROM accounts
          WHERE plan = 'free' AND trial_ends_at <= $1
              AND (end_told_at IS NULL OR end_told_at <> trial_ends_at)
          ORDER BY trial_ends_at DESC LIMIT $2)
         UNION ALL
         (SELECT account_id FROM accounts
          WHERE plan = 'paid' AND paid_until <= $1
              AND (end_told_at IS NULL OR end_told_at <> paid_until)
          ORDER BY paid_until DESC LIMIT $2)",
        now,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(accounts)
}

/// Records the notification of an end; `false` if it was recorded before.
pub async fn update_end_notified(
    connection: &mut PgConnection,
    account_id: &AccountId,
    ended_at: DateTime<Utc>,
) -> Result<bool> {
    let noted = query!(
        "UPDATE accounts SET end_told_at = $2
         WHERE account_id = $1 AND end_told_at IS DISTINCT FROM $2",
        account_id.as_str(),
        ended_at,
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected() == 1)
}
