use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_scalar};

use super::switch::MailSwitch;
use crate::error::Result;
use crate::types::ids::AccountId;

/// Lists the kinds that are turned off. Kinds of later versions are left out.
pub async fn list_off(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<MailSwitch>> {
    let mails =
        query_scalar!("SELECT mail FROM mails_off WHERE account_id = $1", account_id.as_str())
            .fetch_all(connection)
            .await?;
    Ok(mails.iter().filter_map(|mail| MailSwitch::parse(mail)).collect())
}

pub async fn is_off(
    connection: &mut PgConnection,
    account_id: &AccountId,
    switch: MailSwitch,
) -> Result<bool> {
    let off = query_scalar!(
        "SELECT EXISTS (SELECT FROM mails_off WHERE account_id = $1 AND mail = $2) AS \"off!\"",
        account_id.as_str(),
        switch.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(off)
}

pub async fn insert_off(
    connection: &mut PgConnection,
    account_id: &AccountId,
    switch: MailSwitch,
    now: DateTime<Utc>,
) -> Result<bool> {
    let inserted = query!(
        "INSERT INTO mails_off (account_id, mail, turned_off_at) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
        account_id.as_str(),
        switch.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub async fn delete_off(
    connection: &mut PgConnection,
    account_id: &AccountId,
    switch: MailSwitch,
) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM mails_off WHERE account_id = $1 AND mail = $2",
        account_id.as_str(),
        switch.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}

pub async fn has_digest(connection: &mut PgConnection, account_id: &AccountId) -> Result<bool> {
    let has = query_scalar!(
        "SELECT EXISTS (SELECT FROM weekly_digests WHERE account_id = $1) AS \"has!\"",
        account_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(has)
}

pub async fn insert_digest(
    connection: &mut PgConnection,
    account_id: &AccountId,
    now: DateTime<Utc>,
    delay_minutes: i32,
    sent_for: NaiveDate,
) -> Result<bool> {
    let inserted = query!(
        "INSERT INTO weekly_digests (account_id, turned_on_at, delay_minutes, sent_for)
         VALUES ($1, $2, $3, $4) ON CONFLICT (account_id) DO NOTHING",
        account_id.as_str(),
        now,
        delay_minutes,
        sent_for,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub async fn delete_digest(connection: &mut PgConnection, account_id: &AccountId) -> Result<bool> {
    let deleted = query!("DELETE FROM weekly_digests WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected() == 1)
}

/// Active accounts in their trial that are due a mail: the first mail if the trial ends by `early`,
/// the second if it ends by `late`.
pub async fn list_unnotified_trials(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    early: DateTime<Utc>,
    late: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<AccountId>> {
    let accounts = query_scalar!(
        "(SELECT account_id AS \"account_id!: AccountId\" FROM accounts
          WHERE plan = 'free' AND trial_told_days IS NULL AND trial_ends_at > $1
              AND trial_ends_at <= $2 AND status = 'active' AND email_verified_at IS NOT NULL
          ORDER BY trial_ends_at LIMIT $4)
         UNION ALL
         (SELECT account_id FROM accounts
          WHERE plan = 'free' AND trial_told_days = 7 AND trial_ends_at > $1
              AND trial_ends_at <= $3 AND status = 'active' AND email_verified_at IS NOT NULL
          ORDER BY trial_ends_at LIMIT $4)",
        now,
        early,
        late,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(accounts)
}

/// Records that an account was notified this many days before the end of its trial; `false` when this
/// notification or a later one is recorded already.
pub async fn update_trial_notified(
    connection: &mut PgConnection,
    account_id: &AccountId,
    days: i16,
) -> Result<bool> {
    let noted = query!(
        "UPDATE accounts SET trial_told_days = $2
         WHERE account_id = $1 AND (trial_told_days IS NULL OR trial_told_days > $2)",
        account_id.as_str(),
        days,
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected() == 1)
}
