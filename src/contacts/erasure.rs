use sqlx::PgConnection;

use super::store::writing as store;
use crate::accounts::access::Caller;
use crate::accounts::event::EventKind;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::pixels::{list_pixel_ids, lock_pixel};
use crate::types::hem::Hem;
use crate::types::ids::{AccountId, PixelId, VisitorId};

/// Deletes a pixel's contact of a person. Idempotent.
///
/// Waits for a running store, which could otherwise count the deleted contact as an update.
pub async fn erase(infra: &Infra, caller: &Caller, pixel_id: &str, hem: &Hem) -> Result<PixelId> {
    let pixel = find_for(infra, caller, pixel_id).await?;
    let mut transaction = infra.pool.begin().await?;
    lock_pixel(&mut transaction, &pixel.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let pixel_ids = [pixel.pixel_id.to_string()];
    store::delete_contacts(&mut transaction, &pixel_ids, &[*hem]).await?;
    let (now, kind) = (infra.clock.now(), EventKind::ContactErased);
    let subject = Some(pixel.pixel_id.as_str());
    caller.note(&mut transaction, now, &pixel.account_id, kind, subject).await?;
    transaction.commit().await?;
    tracing::info!(pixel_id = %pixel.pixel_id, "contact erased");
    Ok(pixel.pixel_id)
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
/// must be suppressed, so that nobody can store them meanwhile.
pub async fn erase_from_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
    hems: &[Hem],
) -> Result<u64> {
    let pixel_ids = list_pixel_ids(connection, account_id).await?;
    store::delete_contacts(connection, &pixel_ids, hems).await
}
