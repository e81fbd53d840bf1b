use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::writing::delete_contacts_by_id;
use crate::clock::Timestamp;
use crate::contacts::contact::WithdrawnContact;
use crate::error::Result;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// Pixels with visitors whose consent may have ended, or with contacts that are due for evaluation.
pub async fn list_pixels_to_evaluate(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id AS \"pixel_id!: PixelId\" FROM consent_changes
         UNION SELECT pixel_id FROM contacts WHERE judge_at <= $1",
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

pub struct ConsentChange {
    pub position: i64,
    pub visitor_id: String,
}

pub async fn list_changes(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    limit: i64,
) -> Result<Vec<ConsentChange>> {
    let changes = query_as!(
        ConsentChange,
        "SELECT position, visitor_id FROM consent_changes WHERE pixel_id = $1
         ORDER BY position LIMIT $2",
        pixel_id.as_str(),
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(changes)
}

pub async fn delete_changes(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    positions: &[i64],
) -> Result<()> {
    query!(
        "DELETE FROM consent_changes WHERE pixel_id = $1 AND position = ANY ($2)",
        pixel_id.as_str(),
        positions,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Records withdrawn contacts, the first with the number after `before`.
pub async fn insert_withdrawn(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    before: i64,
    ids: &[i64],
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE contacts SET hidden_at = $3, judge_at = NULL WHERE pixel_id = $1 AND id = ANY ($2)",
        pixel_id.as_str(),
        ids,
        now,
    )
    .execute(&mut *connection)
    .await?;
    query!(
        "INSERT INTO withdrawn_contacts (pixel_id, position, contact_id, withdrawn_at)
         SELECT $1, $2 + place, id, $4 FROM unnest($3::bigint[]) WITH ORDINALITY AS gone (id, place)
         ON CONFLICT (pixel_id, contact_id) DO NOTHING",
        pixel_id.as_str(),
        before,
        ids,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_judge_at(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
    times: &[DateTime<Utc>],
) -> Result<()> {
    query!(
        "UPDATE contacts SET judge_at = next.judge_at
         FROM unnest($2::bigint[], $3::timestamptz[]) AS next (id, judge_at)
         WHERE contacts.pixel_id = $1 AND contacts.id = next.id",
        pixel_id.as_str(),
        ids,
        times,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_withdrawn(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
) -> Result<()> {
    query!(
        "DELETE FROM withdrawn_contacts WHERE pixel_id = $1 AND contact_id = ANY ($2)",
        pixel_id.as_str(),
        ids,
    )
    .execute(connection)
    .await?;
    Ok(())
}

macro_rules! list_entries {
    ($connection:ident, $rest:literal, $($argument:expr),+ $(,)?) => {{
        let rows = query!(
            "SELECT entry.position, entry.contact_id, contact.hem AS \"hem?: Hem\",
                 entry.withdrawn_at
             FROM withdrawn_contacts AS entry
             LEFT JOIN contacts AS contact
                 ON contact.pixel_id = entry.pixel_id AND contact.id = entry.contact_id
             WHERE entry.pixel_id = $1 AND " + $rest,
            $($argument),+
        )
        .fetch_all($connection)
        .await?;
        let entries = rows.into_iter().map(|row| WithdrawnContact {
            position: row.position,
            id: row.contact_id,
            hem: row.hem,
            withdrawn_at: Timestamp(row.withdrawn_at),
        });
        Ok(entries.collect())
    }};
}

pub async fn list_withdrawn(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Vec<WithdrawnContact>> {
    list_entries!(
        connection,
        "entry.position > $2 ORDER BY entry.position LIMIT $3",
        pixel_id.as_str(),
        after,
        limit,
    )
}

pub async fn list_withdrawn_of(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    contact_ids: &[i64],
) -> Result<Vec<WithdrawnContact>> {
    list_entries!(connection, "entry.contact_id = ANY ($2)", pixel_id.as_str(), contact_ids,)
}

pub async fn list_pixels_to_erase(
    connection: &mut PgConnection,
    until: DateTime<Utc>,
) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT DISTINCT pixel_id AS \"pixel_id: PixelId\" FROM contacts WHERE hidden_at <= $1",
        until,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

/// Erases some contacts hidden until `until`, and returns their number. The pixel's row must be locked.
pub async fn delete_hidden(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    until: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let ids = query_scalar!(
        "SELECT id FROM contacts WHERE pixel_id = $1 AND hidden_at <= $2
         ORDER BY id LIMIT $3 FOR UPDATE",
        pixel_id.as_str(),
        until,
        limit,
    )
    .fetch_all(&mut *connection)
    .await?;
    delete_contacts_by_id(connection, pixel_id, &ids).await
}

/// Deletes entries older than `before`, except those of contacts that are still stored.
pub async fn delete_old_withdrawn(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM withdrawn_contacts WHERE (pixel_id, position) IN (
             SELECT pixel_id, position FROM withdrawn_contacts AS entry
             WHERE withdrawn_at < $1 AND NOT EXISTS (SELECT FROM contacts
                 WHERE contacts.pixel_id = entry.pixel_id AND contacts.id = entry.contact_id)
             LIMIT $2)",
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
