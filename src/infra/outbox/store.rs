use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use super::mail::{ClaimedMail, Kind};
use crate::error::Result;
use crate::types::ids::{AccountId, PixelId};

pub async fn insert_mail(
    connection: &mut PgConnection,
    mail: &ClaimedMail,
    now: DateTime<Utc>,
    give_up_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO outbox (message_id, kind, account_id, pixel_id, sealed, created_at,
             next_attempt_at, attempts, give_up_at, claimed_until)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9)",
        mail.message_id,
        mail.kind.as_str(),
        mail.account_id.as_ref().map(AccountId::as_str),
        mail.pixel_id.as_ref().map(PixelId::as_str),
        &mail.sealed,
        now,
        mail.attempts,
        give_up_at,
        mail.claimed_until,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Claims the mail that has been due for longest, except the given ones and those of kinds unknown to this version.
pub async fn claim_due(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
    but_not: &[Uuid],
) -> Result<Option<ClaimedMail>> {
    let kinds = Kind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect::<Vec<_>>();
    let mail = query_as!(
        ClaimedMail,
        "UPDATE outbox
         SET claimed_until = $2, unanswered = unanswered OR claimed_until IS NOT NULL
         WHERE message_id = (
             SELECT message_id FROM outbox
             WHERE next_attempt_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)
                 AND kind = ANY($3) AND message_id <> ALL($4)
             ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING message_id, kind, account_id AS \"account_id: AccountId\",
             pixel_id AS \"pixel_id: PixelId\", sealed, attempts,
             claimed_until AS \"claimed_until!\", unanswered",
        now,
        until,
        &kinds,
        but_not,
    )
    .fetch_optional(connection)
    .await?;
    Ok(mail)
}

pub async fn find_claim(
    connection: &mut PgConnection,
    kind: Kind,
    pixel_id: &PixelId,
) -> Result<Option<DateTime<Utc>>> {
    let until = query_scalar!(
        "SELECT max(claimed_until) FROM outbox WHERE pixel_id = $1 AND kind = $2",
        pixel_id.as_str(),
        kind.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(until)
}

pub async fn update_postponed(
    connection: &mut PgConnection,
    mail: &ClaimedMail,
    next_attempt_at: DateTime<Utc>,
    unanswered: bool,
) -> Result<()> {
    query!(
        "UPDATE outbox
         SET attempts = $3, next_attempt_at = $4, claimed_until = NULL, unanswered = unanswered OR $5
         WHERE message_id = $1 AND claimed_until = $2",
        mail.message_id,
        mail.claimed_until,
        mail.attempts + 1,
        next_attempt_at,
        unanswered,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_mail(connection: &mut PgConnection, message_id: Uuid) -> Result<()> {
    query!("DELETE FROM outbox WHERE message_id = $1", message_id).execute(connection).await?;
    Ok(())
}

/// Deletes a mail whose claim has not lapsed; returns whether it existed.
pub async fn delete_claimed(connection: &mut PgConnection, mail: &ClaimedMail) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM outbox WHERE message_id = $1 AND claimed_until = $2",
        mail.message_id,
        mail.claimed_until,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}

pub async fn delete_given_up(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM outbox
         WHERE give_up_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)",
        now,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Whether the account has a newer pending mail of these kinds that has certainly not arrived yet.
pub async fn has_newer_undecided(
    connection: &mut PgConnection,
    mail: &ClaimedMail,
    account_id: &AccountId,
    kinds: &[Kind],
) -> Result<bool> {
    let kinds = kinds.iter().map(|kind| kind.as_str().to_owned()).collect::<Vec<_>>();
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM outbox
             WHERE account_id = $1 AND kind = ANY($2) AND message_id > $3 AND NOT unanswered)
             AS \"found!\"",
        account_id.as_str(),
        &kinds,
        mail.message_id,
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

pub async fn count_mails(connection: &mut PgConnection) -> Result<i64> {
    let count =
        query_scalar!("SELECT count(*) AS \"count!\" FROM outbox").fetch_one(connection).await?;
    Ok(count)
}

pub async fn delete_mails_of_accounts(
    connection: &mut PgConnection,
    account_ids: &[String],
) -> Result<()> {
    query!("DELETE FROM outbox WHERE account_id = ANY($1)", account_ids)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_mails_of_pixels(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<()> {
    query!("DELETE FROM outbox WHERE pixel_id = ANY($1)", pixel_ids).execute(connection).await?;
    Ok(())
}
