use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::infra::events::delete_events_of_pixels;
use crate::infra::outbox;
use crate::types::ids::{AccountId, PixelId};

#[derive(Clone, Copy, Debug, Default)]
pub struct Deleted {
    pub pixels: u64,
    pub aliases: u64,
    pub contacts: u64,
    pub appearances: u64,
}

pub async fn delete_pixel(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<Deleted> {
    delete_pixels(connection, &[pixel_id.to_string()]).await
}

pub async fn delete_pixels_of(connection: &mut PgConnection, owner: &AccountId) -> Result<Deleted> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id FROM pixels WHERE account_id = $1 FOR UPDATE",
        owner.as_str(),
    )
    .fetch_all(&mut *connection)
    .await?;
    delete_pixels(connection, &pixel_ids).await
}

/// Deletes the account's pixels that were created until `until`, except that of one host, and returns them.
pub async fn delete_pixels_made_until(
    connection: &mut PgConnection,
    owner: &AccountId,
    until: DateTime<Utc>,
    kept: &str,
) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id FROM pixels
         WHERE account_id = $1 AND created_at <= $2 AND domain <> $3 FOR UPDATE",
        owner.as_str(),
        until,
        kept,
    )
    .fetch_all(&mut *connection)
    .await?;
    delete_pixels(connection, &pixel_ids).await?;
    Ok(pixel_ids.into_iter().map(PixelId::from).collect())
}

/// Deletes the rows of a pixel's visitors and mails, which have no foreign key. Receipts and
/// policies stay as evidence of the choices.
async fn delete_pixels(connection: &mut PgConnection, pixel_ids: &[String]) -> Result<Deleted> {
    outbox::delete_mails_of_pixels(connection, pixel_ids).await?;
    erase_who_asked(connection, pixel_ids).await?;
    // Pixels first, because storing a contact holds a lock on the pixel's row.
    let aliases = query!("DELETE FROM pixel_aliases WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    let pixels = query!("DELETE FROM pixels WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    let contacts = query!("DELETE FROM contacts WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    delete_consent_of_contacts(connection, pixel_ids).await?;
    delete_counted_days(connection, pixel_ids).await?;
    delete_events_of_pixels(connection, pixel_ids).await?;
    let appearances = query!("DELETE FROM consent_appearances WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(Deleted {
        pixels: pixels.rows_affected(),
        aliases: aliases.rows_affected(),
        contacts: contacts.rows_affected(),
        appearances: appearances.rows_affected(),
    })
}

/// Erases the visitors with open erasure requests, which nobody can answer once the pixel is
/// deleted. Waits for requests that are being stored.
async fn erase_who_asked(connection: &mut PgConnection, pixel_ids: &[String]) -> Result<()> {
    query!("SELECT pixel_id FROM pixels WHERE pixel_id = ANY($1) FOR UPDATE", pixel_ids)
        .fetch_all(&mut *connection)
        .await?;
    let asked = query!(
        "SELECT pixel_id, visitor_id AS \"visitor_id!\" FROM erasure_requests
         WHERE pixel_id = ANY($1) AND status = 'open' AND visitor_id IS NOT NULL",
        pixel_ids,
    )
    .fetch_all(&mut *connection)
    .await?;
    for request in asked {
        let (pixel_id, visitor_id) = (&request.pixel_id, &request.visitor_id);
        query!(
            "DELETE FROM consent_shown WHERE pixel_id = $1 AND visitor_id = $2",
            pixel_id,
            visitor_id,
        )
        .execute(&mut *connection)
        .await?;
        query!(
            "DELETE FROM consent_shown_local WHERE pixel_id = $1 AND visitor_id = $2",
            pixel_id,
            visitor_id,
        )
        .execute(&mut *connection)
        .await?;
        query!(
            "DELETE FROM consent_receipts WHERE pixel_id = $1 AND visitor_id = $2",
            pixel_id,
            visitor_id,
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Deletes the counts of deleted pixels. No job adds counts afterwards: the pixels' progress is deleted, which has
/// waited for running counts.
async fn delete_counted_days(connection: &mut PgConnection, pixel_ids: &[String]) -> Result<()> {
    query!("DELETE FROM consent_days WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    query!("DELETE FROM consent_day_changes WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(())
}

async fn delete_consent_of_contacts(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<()> {
    query!("DELETE FROM contact_visitors WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    query!("DELETE FROM withdrawn_contacts WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    query!("DELETE FROM consent_changes WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(())
}
