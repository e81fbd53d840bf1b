//! The SQL that erases what was recorded of a visitor, or at all pixels of an account.

use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::ids::{AccountId, PixelId, PixelRef, VisitorId};

/// The canonical id of an id or alias; also of a deleted pixel whose policies remain.
pub async fn find_canonical(
    connection: &mut PgConnection,
    name: &PixelRef,
) -> Result<Option<PixelId>> {
    let pixel_id = query_scalar!(
        "SELECT pixel_id AS \"pixel_id!: PixelId\" FROM pixel_aliases WHERE alias = $1
         UNION ALL SELECT pixel_id FROM pixels WHERE pixel_id = $1
         UNION ALL SELECT pixel_id FROM consent_policies WHERE pixel_id = $1
         LIMIT 1",
        name.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel_id)
}

/// All pixels that an account has or had, those included that are deleted but left receipts.
pub async fn list_pixels_ever(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<String>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id AS \"pixel_id!\" FROM pixels WHERE account_id = $1
         UNION SELECT pixel_id FROM consent_policies WHERE account_id = $1",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

pub async fn delete_receipts_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM consent_receipts WHERE pixel_id = $1 AND visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_shown_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM consent_shown WHERE pixel_id = $1 AND visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// How many rows of each kind went.
pub struct Erased {
    pub policies: u64,
    pub appearances: u64,
    pub receipts: u64,
    pub shown: u64,
}

/// Deletes all that consent keeps of these pixels.
pub async fn delete_all_of_pixels(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<Erased> {
    let receipts = query!("DELETE FROM consent_receipts WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    let shown = query!("DELETE FROM consent_shown WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    let appearances = query!("DELETE FROM consent_appearances WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    let policies = query!("DELETE FROM consent_policies WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(Erased {
        policies: policies.rows_affected(),
        appearances: appearances.rows_affected(),
        receipts: receipts.rows_affected(),
        shown: shown.rows_affected(),
    })
}
