//! The SQL that reads pages of contacts that are not hidden. Whether they may be read is evaluated separately.

use chrono::NaiveDate;
use serde_json::value::RawValue;
use sqlx::types::Json;
use sqlx::{PgConnection, query, query_scalar};

use crate::contacts::contact::Contact;
use crate::error::Result;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// A contact at its position in a reading, not yet evaluated.
pub struct PositionedContact {
    pub position: i64,
    pub is_bound: bool,
    pub contact: Contact,
}

type Activity = (Option<i64>, Option<String>, Option<i32>);

const NOTHING: Activity = (None, None, None);

/// Selects contacts by the rest of a `SELECT`. Columns about changes are read only where needed:
/// they cost time.
macro_rules! list_positioned {
    ($connection:ident, $changes:literal, |$row:ident| $activity:expr, $rest:literal, $($argument:expr),+ $(,)?) => {{
        let rows = query!(
            "SELECT id, hem AS \"hem: Hem\", resolved_at,
                 contact AS \"contact: Json<Box<RawValue>>\", visitor_id IS NOT NULL AS \"is_bound!\""
                + $changes
                + " FROM contacts "
                + $rest,
            $($argument),+
        )
        .fetch_all($connection)
        .await?;
        let contacts = rows.into_iter().map(|$row| {
            let (change, last_seen_at, visits): Activity = $activity;
            PositionedContact {
                position: change.unwrap_or($row.id),
                is_bound: $row.is_bound,
                contact: Contact {
                    id: $row.id,
                    hem: $row.hem,
                    resolved_at: $row.resolved_at,
                    contact: $row.contact,
                    change,
                    last_seen_at,
                    visits,
                    consent: None,
                },
            }
        });
        Ok(contacts.collect())
    }};
}

pub async fn list_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Vec<PositionedContact>> {
    list_positioned!(
        connection,
        "",
        |row| NOTHING,
        "WHERE pixel_id = $1 AND id > $2 AND hidden_at IS NULL ORDER BY id LIMIT $3",
        pixel_id.as_str(),
        after,
        limit,
    )
}

pub async fn list_contacts_of_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    after: i64,
    limit: i64,
) -> Result<Vec<PositionedContact>> {
    list_positioned!(
        connection,
        "",
        |row| NOTHING,
        "WHERE pixel_id = $1 AND resolved_on = $2 AND id > $3 AND hidden_at IS NULL
         ORDER BY resolved_on, id LIMIT $4",
        pixel_id.as_str(),
        day,
        after,
        limit,
    )
}

pub async fn list_changed_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Vec<PositionedContact>> {
    list_positioned!(
        connection,
        ", COALESCE(change, id) AS change, COALESCE(last_seen_at, resolved_at) AS last_seen_at, visits",
        |row| (row.change, row.last_seen_at, Some(row.visits)),
        "WHERE pixel_id = $1 AND COALESCE(change, id) > $2 AND hidden_at IS NULL
         ORDER BY COALESCE(change, id) LIMIT $3",
        pixel_id.as_str(),
        after,
        limit,
    )
}

pub async fn list_contacts_of_person(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<Vec<PositionedContact>> {
    list_positioned!(
        connection,
        "",
        |row| NOTHING,
        "WHERE pixel_id = $1 AND hem = $2 AND hidden_at IS NULL",
        pixel_id.as_str(),
        hem as Hem,
    )
}

pub async fn list_contacts_with_ids(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
) -> Result<Vec<PositionedContact>> {
    list_positioned!(
        connection,
        "",
        |row| NOTHING,
        "WHERE pixel_id = $1 AND id = ANY ($2) AND hidden_at IS NULL",
        pixel_id.as_str(),
        ids,
    )
}

/// Contacts with the times at which they were last seen and their visits, in no particular order.
pub async fn list_people_with_ids(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
) -> Result<Vec<PositionedContact>> {
    list_positioned!(
        connection,
        ", COALESCE(change, id) AS change, COALESCE(last_seen_at, resolved_at) AS last_seen_at, visits",
        |row| (row.change, row.last_seen_at, Some(row.visits)),
        "WHERE pixel_id = $1 AND id = ANY ($2) AND hidden_at IS NULL ORDER BY id",
        pixel_id.as_str(),
        ids,
    )
}

/// Days without contacts are left out.
pub async fn count_contacts_by_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: NaiveDate,
    to: NaiveDate,
) -> Result<Vec<(NaiveDate, i64)>> {
    let rows = query!(
        "SELECT resolved_on, count(*) AS \"contacts!\" FROM contacts
         WHERE pixel_id = $1 AND resolved_on BETWEEN $2 AND $3 AND hidden_at IS NULL
         GROUP BY resolved_on",
        pixel_id.as_str(),
        from,
        to,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.resolved_on, row.contacts)).collect())
}

/// The last id of a page of `limit` contacts, if more follow.
pub async fn find_page_end(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Option<i64>> {
    let ids = query_scalar!(
        "SELECT id FROM contacts WHERE pixel_id = $1 AND id > $2 AND hidden_at IS NULL
         ORDER BY id LIMIT 2 OFFSET $3 - 1::bigint",
        pixel_id.as_str(),
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(ids.first().copied().filter(|_| ids.len() > 1))
}

pub async fn find_page_end_of_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    after: i64,
    limit: i64,
) -> Result<Option<i64>> {
    let ids = query_scalar!(
        "SELECT id FROM contacts WHERE pixel_id = $1 AND resolved_on = $2 AND id > $3
             AND hidden_at IS NULL
         ORDER BY resolved_on, id LIMIT 2 OFFSET $4 - 1::bigint",
        pixel_id.as_str(),
        day,
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(ids.first().copied().filter(|_| ids.len() > 1))
}

pub async fn find_page_end_of_changes(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Option<i64>> {
    let changes = query_scalar!(
        "SELECT COALESCE(change, id) AS \"change!\" FROM contacts
         WHERE pixel_id = $1 AND COALESCE(change, id) > $2 AND hidden_at IS NULL
         ORDER BY COALESCE(change, id) LIMIT 2 OFFSET $3 - 1::bigint",
        pixel_id.as_str(),
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(changes.first().copied().filter(|_| changes.len() > 1))
}
