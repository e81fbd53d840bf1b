//! The SQL that ends pixels, with all that ends with them.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::ids::{AccountId, PixelId};

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

/// Deletes the account's pixels that were made at `until` or before, except that of one host.
pub async fn delete_pixels_made_until(
    connection: &mut PgConnection,
    owner: &AccountId,
    until: DateTime<Utc>,
    kept: &str,
) -> Result<Deleted> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id FROM pixels
         WHERE account_id = $1 AND created_at <= $2 AND domain <> $3 FOR UPDATE",
        owner.as_str(),
        until,
        kept,
    )
    .fetch_all(&mut *connection)
    .await?;
    delete_pixels(connection, &pixel_ids).await
}

/// The rows of a pixel's visitors have no foreign key that would take them along. Receipts and
/// policies stay: they prove that choices were made.
async fn delete_pixels(connection: &mut PgConnection, pixel_ids: &[String]) -> Result<Deleted> {
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
