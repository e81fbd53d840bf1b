use sqlx::PgConnection;

use super::store::writing as store;
use crate::error::{Error, Result};
use crate::pixels::list_pixel_ids;
use crate::types::hem::Hem;
use crate::types::ids::{AccountId, PixelId, VisitorId};

/// Deletes the contact of a person at a pixel whose row is locked, and returns the number of contacts.
pub async fn erase(connection: &mut PgConnection, pixel_id: &PixelId, hem: Hem) -> Result<u64> {
    store::delete_contacts(connection, &[pixel_id.to_string()], &[hem]).await
}

/// The visitors to whom a pixel's contact of a person was ever bound, and the number of its contacts.
pub async fn find_bound(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<(Vec<VisitorId>, i64)> {
    let visitors = store::list_visitors_of_hem(connection, pixel_id, hem).await?;
    let contacts = store::count_contacts_of_hem(connection, pixel_id, hem).await?;
    Ok((visitors, contacts))
}

/// Deletes the people whose contacts at a pixel were ever bound to the visitor, and returns the
/// number of contacts. The pixel's row must be locked.
pub async fn erase_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<u64> {
    let hems = store::list_hems_of_visitor(connection, pixel_id, visitor_id).await?;
    store::delete_contacts(connection, &[pixel_id.to_string()], &hems).await
}

pub async fn count_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<i64> {
    let hems = store::list_hems_of_visitor(connection, pixel_id, visitor_id).await?;
    i64::try_from(hems.len()).map_err(Error::internal)
}

/// Deletes these people from all pixels of an account, and returns the number of contacts. They
/// must be suppressed, so that they cannot be stored again meanwhile.
pub async fn erase_from_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
    hems: &[Hem],
) -> Result<u64> {
    let pixel_ids = list_pixel_ids(connection, account_id).await?;
    store::delete_contacts(connection, &pixel_ids, hems).await
}
