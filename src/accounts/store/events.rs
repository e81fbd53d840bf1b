use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};
use uuid::Uuid;

use crate::accounts::event::{ActivityKind, EventView};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::types::ids::AccountId;

pub struct NewEvent<'a> {
    pub event_id: Uuid,
    pub account_id: &'a AccountId,
    pub happened_at: DateTime<Utc>,
    pub kind: ActivityKind,
    pub actor: &'a str,
    pub subject: Option<&'a str>,
}

pub async fn insert_event(connection: &mut PgConnection, new: &NewEvent<'_>) -> Result<()> {
    query!(
        "INSERT INTO account_events (event_id, account_id, happened_at, kind, actor, subject)
         VALUES ($1, $2, $3, $4, $5, $6)",
        new.event_id,
        new.account_id.as_str(),
        new.happened_at,
        new.kind.as_str(),
        new.actor,
        new.subject,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The events to list; all by default.
#[derive(Default)]
pub struct EventSelection<'a> {
    pub before: Option<Uuid>,
    pub since: Option<Uuid>,
    /// Only events with one of these subjects.
    pub of: Option<&'a [String]>,
    pub kinds: Option<&'a [String]>,
    pub actor: Option<&'a str>,
    /// Only events whose subject contains this text in lowercase, or is one of `subjects`.
    pub text: Option<&'a str>,
    pub subjects: &'a [String],
}

/// Lists events, newest first.
pub async fn list_events(
    connection: &mut PgConnection,
    account_id: &AccountId,
    selection: &EventSelection<'_>,
    limit: i64,
) -> Result<Vec<EventView>> {
    let rows = query!(
        "SELECT event_id, happened_at, kind, actor, subject FROM account_events
         WHERE account_id = $1 AND ($2::uuid IS NULL OR event_id < $2)
             AND ($3::uuid IS NULL OR event_id >= $3)
             AND ($4::text[] IS NULL OR subject = ANY($4))
             AND ($5::text[] IS NULL OR kind = ANY($5))
             AND ($6::text IS NULL OR actor = $6)
             AND ($7::text IS NULL OR strpos(lower(subject), $7) > 0 OR subject = ANY($8))
         ORDER BY event_id DESC LIMIT $9",
        account_id.as_str(),
        selection.before,
        selection.since,
        selection.of,
        selection.kinds,
        selection.actor,
        selection.text,
        selection.subjects,
        limit,
    )
    .fetch_all(connection)
    .await?;
    let views = rows.into_iter().map(|row| EventView {
        event_id: row.event_id,
        happened_at: Timestamp(row.happened_at),
        kind: row.kind,
        actor: row.actor,
        subject: row.subject,
    });
    Ok(views.collect())
}

/// The actors of all events, or of those with one of these subjects, in alphabetical order.
pub async fn list_actors(
    connection: &mut PgConnection,
    account_id: &AccountId,
    of: Option<&[String]>,
    limit: i64,
) -> Result<Vec<String>> {
    let actors = query_scalar!(
        "SELECT DISTINCT actor FROM account_events
         WHERE account_id = $1 AND ($2::text[] IS NULL OR subject = ANY($2))
         ORDER BY actor LIMIT $3",
        account_id.as_str(),
        of,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(actors)
}

pub async fn list_newest_of_kind(
    connection: &mut PgConnection,
    account_id: &AccountId,
    kind: ActivityKind,
) -> Result<Vec<(String, DateTime<Utc>)>> {
    let rows = query!(
        "SELECT actor, max(happened_at) AS \"happened_at!\" FROM account_events
         WHERE account_id = $1 AND kind = $2 GROUP BY actor",
        account_id.as_str(),
        kind.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.actor, row.happened_at)).collect())
}

pub async fn delete_events_of(
    connection: &mut PgConnection,
    account_ids: &[String],
) -> Result<u64> {
    let deleted = query!("DELETE FROM account_events WHERE account_id = ANY($1)", account_ids)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}

pub async fn count_events_since(
    connection: &mut PgConnection,
    account_id: &AccountId,
    kind: ActivityKind,
    since: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM account_events
         WHERE account_id = $1 AND kind = $2 AND happened_at > $3",
        account_id.as_str(),
        kind.as_str(),
        since,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}
