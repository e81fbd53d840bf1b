use chrono::NaiveDate;
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::types::ids::AccountId;

/// Accounts that have no digest of the week yet, and whose delay is at most `minutes`.
pub async fn list_due(
    connection: &mut PgConnection,
    week: NaiveDate,
    minutes: i32,
    limit: i64,
) -> Result<Vec<AccountId>> {
    let accounts = query_scalar!(
        "SELECT account_id AS \"account_id: AccountId\" FROM weekly_digests
         WHERE sent_for < $1 AND delay_minutes <= $2 ORDER BY sent_for, delay_minutes LIMIT $3",
        week,
        minutes,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(accounts)
}

/// Records the digest of a week; `false` if it was recorded before or the digest is off.
pub async fn update_sent(
    connection: &mut PgConnection,
    account_id: &AccountId,
    week: NaiveDate,
) -> Result<bool> {
    let noted = query!(
        "UPDATE weekly_digests SET sent_for = $2 WHERE account_id = $1 AND sent_for < $2",
        account_id.as_str(),
        week,
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected() == 1)
}
