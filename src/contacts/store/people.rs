//! The SQL that orders and finds people, without hidden ones. Each statement reads a range of one index of the
//! pixel (`migrations/0025_people.sql`), and returns at most as many rows as requested.

use chrono::NaiveDate;
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// The values by which a person is ordered.
pub struct PersonKeys {
    pub id: i64,
    pub last_seen_at: String,
    pub resolved_on: NaiveDate,
    pub name: String,
}

/// The times at which people were last seen, and their ids: latest first, after a position and not before `from`.
pub async fn list_last(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: &str,
    (before, before_id): (&str, i64),
    limit: i64,
) -> Result<Vec<(String, i64)>> {
    let rows = query!(
        "SELECT COALESCE(last_seen_at, resolved_at) AS \"last!\", id FROM contacts
         WHERE pixel_id = $1 AND COALESCE(last_seen_at, resolved_at) COLLATE \"C\" >= $2
             AND (COALESCE(last_seen_at, resolved_at) COLLATE \"C\", id) < ($3, $4)
             AND hidden_at IS NULL
         ORDER BY COALESCE(last_seen_at, resolved_at) COLLATE \"C\" DESC, id DESC LIMIT $5",
        pixel_id.as_str(),
        from,
        before,
        before_id,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.last, row.id)).collect())
}

/// Like [`list_last`], with the days on which people were first seen.
pub async fn list_first(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: NaiveDate,
    (before, before_id): (NaiveDate, i64),
    limit: i64,
) -> Result<Vec<(NaiveDate, i64)>> {
    let rows = query!(
        "SELECT resolved_on, id FROM contacts
         WHERE pixel_id = $1 AND resolved_on >= $2 AND (resolved_on, id) < ($3, $4)
             AND hidden_at IS NULL
         ORDER BY resolved_on DESC, id DESC LIMIT $5",
        pixel_id.as_str(),
        from,
        before,
        before_id,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.resolved_on, row.id)).collect())
}

/// Names and ids in the order of the names, after a position.
pub async fn list_names(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    (after, after_id): (&str, i64),
    limit: i64,
) -> Result<Vec<(String, i64)>> {
    let rows = query!(
        "SELECT person_name(contact) AS \"name!\", id FROM contacts
         WHERE pixel_id = $1 AND (person_name(contact) COLLATE \"C\", id) > ($2, $3)
             AND hidden_at IS NULL
         ORDER BY person_name(contact) COLLATE \"C\", id LIMIT $4",
        pixel_id.as_str(),
        after,
        after_id,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.name, row.id)).collect())
}

pub async fn find_name(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    id: i64,
) -> Result<Option<String>> {
    let name = query_scalar!(
        "SELECT person_name(contact) AS \"name!\" FROM contacts WHERE pixel_id = $1 AND id = $2",
        pixel_id.as_str(),
        id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(name)
}

/// Selects the ids of people with a field that begins with a text, each with the number of the field. The fields are
/// given as columns of the result and the function whose index is read.
macro_rules! list_beginning {
    ([$($columns:literal of $field:literal),+], $others:literal, $($argument:expr),+ $(,)?) => {
        query!(
            $("(SELECT " + $columns + " FROM contacts
          WHERE pixel_id = $1 AND " + $field + "(contact) COLLATE \"C\" >= folded($2)
              AND " + $field + "(contact) COLLATE \"C\" < folded($2) || chr(1114111)
              AND hidden_at IS NULL
          ORDER BY " + $field + "(contact) COLLATE \"C\", id LIMIT $3)
         UNION ALL
         " +)+ $others,
            $($argument),+
        )
    };
}

/// The ids of people with a field that begins with a text, or with the given hash, each with the number of the
/// field. For every field, the first ones in its order, at most `limit`.
pub async fn list_matching(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    beginning: &str,
    hem: Option<Hem>,
    limit: i64,
) -> Result<Vec<(i32, i64)>> {
    let rows = list_beginning!(
        [
            "1 AS \"field!\", id AS \"id!\"" of "person_name",
            "2, id" of "person_last_name",
            "3, id" of "person_company",
            "4, id" of "person_email"
        ],
        "(SELECT 5, id FROM contacts WHERE pixel_id = $1 AND hem = $4 AND hidden_at IS NULL)",
        pixel_id.as_str(),
        beginning,
        limit,
        hem as Option<Hem>,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.field, row.id)).collect())
}

/// The people who were first identified in a range of days, the latest first.
pub async fn list_ids_of_days(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: NaiveDate,
    to: NaiveDate,
    limit: i64,
) -> Result<Vec<i64>> {
    let ids = query_scalar!(
        "SELECT id FROM contacts
         WHERE pixel_id = $1 AND resolved_on BETWEEN $2 AND $3 AND hidden_at IS NULL
         ORDER BY resolved_on DESC, id DESC LIMIT $4",
        pixel_id.as_str(),
        from,
        to,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

pub async fn list_keys(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
) -> Result<Vec<PersonKeys>> {
    let rows = query!(
        "SELECT id, COALESCE(last_seen_at, resolved_at) AS \"last!\", resolved_on,
             person_name(contact) AS \"name!\"
         FROM contacts WHERE pixel_id = $1 AND id = ANY ($2)",
        pixel_id.as_str(),
        ids,
    )
    .fetch_all(connection)
    .await?;
    let keys = rows.into_iter().map(|row| PersonKeys {
        id: row.id,
        last_seen_at: row.last,
        resolved_on: row.resolved_on,
        name: row.name,
    });
    Ok(keys.collect())
}

pub async fn list_ids_of_hems(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hems: &[Hem],
) -> Result<Vec<i64>> {
    let ids = query_scalar!(
        "SELECT id FROM contacts
         WHERE pixel_id = $1 AND hem = ANY ($2) AND hidden_at IS NULL ORDER BY id",
        pixel_id.as_str(),
        hems as &[Hem],
    )
    .fetch_all(connection)
    .await?;
    Ok(ids)
}
