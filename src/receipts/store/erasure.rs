//! SQL that erases the data of a visitor, or of all pixels of an account.

use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::pixels::list_pixel_ids;
use crate::types::ids::{AccountId, PixelId, PixelRef, VisitorId};

/// The canonical id of an id or alias; also for a deleted pixel whose policies remain.
pub async fn find_canonical(
    connection: &mut PgConnection,
    name: &PixelRef,
) -> Result<Option<PixelId>> {
    let pixel_id = query_scalar!(
        "SELECT pixel_id AS \"pixel_id!: PixelId\" FROM pixel_aliases WHERE alias = $1
         UNION ALL SELECT pixel_id FROM pixels WHERE pixel_id = $1
         LIMIT 1",
        name.as_str(),
    )
    .fetch_optional(&mut *connection)
    .await?;
    if pixel_id.is_some() {
        return Ok(pixel_id);
    }
    let of_deleted = query_scalar!(
        "SELECT pixel_id AS \"pixel_id: PixelId\" FROM consent_policies WHERE pixel_id = $1 LIMIT 1",
        name.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(of_deleted)
}

/// Waits until all recordings that began earlier have committed. Later recordings see everything that was
/// committed before this call.
pub async fn wait_for_recorders(connection: &mut PgConnection) -> Result<()> {
    query!("SELECT wait_for_recorders()").execute(connection).await?;
    Ok(())
}

/// All pixels that an account has or had, including deleted ones with remaining receipts.
pub async fn list_pixels_ever(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<String>> {
    let mut pixel_ids = list_pixel_ids(&mut *connection, account_id).await?;
    let asking = query_scalar!(
        "SELECT DISTINCT pixel_id FROM consent_policies WHERE account_id = $1",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    pixel_ids.extend(asking);
    pixel_ids.sort_unstable();
    pixel_ids.dedup();
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

/// Returns the number of UTC days.
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
    .execute(&mut *connection)
    .await?;
    query!(
        "DELETE FROM consent_shown_local WHERE pixel_id = $1 AND visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn count_receipts_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM consent_receipts WHERE pixel_id = $1 AND visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn count_shown_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM consent_shown WHERE pixel_id = $1 AND visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// The number of deleted rows of each kind.
pub struct Erased {
    pub policies: u64,
    pub appearances: u64,
    pub receipts: u64,
    pub shown: u64,
}

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
    query!("DELETE FROM consent_shown_local WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    let appearances = query!("DELETE FROM consent_appearances WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    let policies = query!("DELETE FROM consent_policies WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(&mut *connection)
        .await?;
    // The salts are deleted with the receipts. These rows are the positions of their leaves; the log's
    // private trees retain hashes that cannot be attributed. The rows are deleted last, because appending to the log
    // waits for their deletion.
    query!("DELETE FROM log_leaves WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(Erased {
        policies: policies.rows_affected(),
        appearances: appearances.rows_affected(),
        receipts: receipts.rows_affected(),
        shown: shown.rows_affected(),
    })
}
