//! The SQL that reads pages of contacts. What was noted as hidden is left out; whether the rest may
//! be read is judged apart.

use chrono::NaiveDate;
use serde_json::value::RawValue;
use sqlx::types::Json;
use sqlx::{PgConnection, query, query_scalar};

use crate::contacts::contact::Contact;
use crate::error::Result;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// A contact at its place in a reading, not yet judged.
pub struct PlacedContact {
    /// What the next page begins after.
    pub place: i64,
    pub is_bound: bool,
    pub contact: Contact,
}

/// What is told of a change beside the contact: its place, the latest time, and how often it was stored.
type Activity = (Option<i64>, Option<String>, Option<i32>);

const NOTHING: Activity = (None, None, None);

/// Contacts by the rest of a `SELECT`. Columns about changes cost each row, so they are read only
/// where they are told.
macro_rules! list_placed {
    ($connection:ident, $changes:literal, |$row:ident| $told:expr, $rest:literal, $($argument:expr),+ $(,)?) => {{
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
        let placed = rows.into_iter().map(|$row| {
            let (change, last_seen_at, visits): Activity = $told;
            PlacedContact {
                place: change.unwrap_or($row.id),
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
        Ok(placed.collect())
    }};
}

/// Contacts with an id greater than `after`, in id order.
pub async fn list_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Vec<PlacedContact>> {
    list_placed!(
        connection,
        "",
        |row| NOTHING,
        "WHERE pixel_id = $1 AND id > $2 AND hidden_at IS NULL ORDER BY id LIMIT $3",
        pixel_id.as_str(),
        after,
        limit,
    )
}

/// As [`list_contacts`], of people first seen on a UTC day.
pub async fn list_contacts_of_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    after: i64,
    limit: i64,
) -> Result<Vec<PlacedContact>> {
    list_placed!(
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

/// Contacts that were stored or changed after another change, in the order of their last changes.
pub async fn list_changed_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Vec<PlacedContact>> {
    list_placed!(
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

/// The contact of a person, if there is one: a pixel has one of each.
pub async fn list_contacts_of_person(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<Vec<PlacedContact>> {
    list_placed!(
        connection,
        "",
        |row| NOTHING,
        "WHERE pixel_id = $1 AND hem = $2 AND hidden_at IS NULL",
        pixel_id.as_str(),
        hem as Hem,
    )
}

/// The contacts with these ids that there are.
pub async fn list_contacts_with_ids(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
) -> Result<Vec<PlacedContact>> {
    list_placed!(
        connection,
        "",
        |row| NOTHING,
        "WHERE pixel_id = $1 AND id = ANY ($2) AND hidden_at IS NULL",
        pixel_id.as_str(),
        ids,
    )
}

/// How many contacts each of these days has that has any.
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

/// The last id of a page of so many contacts, when there are more after it.
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

/// As [`find_page_end`], of people first seen on a UTC day.
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

/// As [`find_page_end`], of changes.
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
