//! The SQL that ends pixels, with all that ends with them.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::infra::events::store::delete_events_of_pixels;
use crate::infra::outbox::store as outbox;
use crate::types::ids::{AccountId, PixelId};

/// How many rows went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deleted {
    pub pixels: u64,
    pub aliases: u64,
    pub contacts: u64,
    pub appearances: u64,
}

/// Deletes a pixel.
pub async fn delete_pixel(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<Deleted> {
    delete_pixels(connection, &[pixel_id.to_string()]).await
}

/// Deletes all pixels of an account.
pub async fn delete_pixels_of(connection: &mut PgConnection, owner: &AccountId) -> Result<Deleted> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id FROM pixels WHERE account_id = $1 FOR UPDATE",
        owner.as_str(),
    )
    .fetch_all(&mut *connection)
    .await?;
    delete_pixels(connection, &pixel_ids).await
}

/// Deletes the account's pixels that were made at `until` or before, except that of one host, and
/// says which.
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

/// The rows of a pixel's visitors and mails have no foreign key that would take them along. Receipts and
/// policies stay: they prove that choices were made.
async fn delete_pixels(connection: &mut PgConnection, pixel_ids: &[String]) -> Result<Deleted> {
    outbox::delete_mails_of_pixels(connection, pixel_ids).await?;
    erase_who_asked(connection, pixel_ids).await?;
    // First the pixels: who stores a contact at this moment holds a lock on the pixel's row.
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

/// Erases the visitors whose requests for erasure are open: with the pixel goes whoever could answer
/// them. Requests that come at this moment are waited for.
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
            "DELETE FROM consent_receipts WHERE pixel_id = $1 AND visitor_id = $2",
            pixel_id,
            visitor_id,
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Nobody reads the counts of a pixel that is gone. What says how far they are went with the pixel,
/// and whoever was counting was waited for.
async fn delete_counted_days(connection: &mut PgConnection, pixel_ids: &[String]) -> Result<()> {
    query!("DELETE FROM consent_days WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    query!("DELETE FROM consent_day_changes WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes whose consent contacts were stored with, and which were withdrawn.
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
