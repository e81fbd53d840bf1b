use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::store;
use super::view::ErasedRows;
use crate::accounts::access::Caller;
use crate::accounts::event::EventKind;
use crate::clock::Clock;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::pixels::pixel::Pixel;
use crate::pixels::setup::find_for;
use crate::types::ids::{AccountId, PixelId, VisitorId};
use crate::{contacts, pixels, receipts};

/// A visitor of whom nothing is kept any more.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ErasedVisitor {
    pub pixel_id: PixelId,
    pub visitor_id: VisitorId,
    pub erased: ErasedRows,
}

/// Erases a visitor of the caller's pixel. Idempotent.
pub async fn erase_visitor(
    infra: &Infra,
    caller: &Caller,
    pixel_id: &str,
    visitor_id: &str,
) -> Result<ErasedVisitor> {
    let Pixel { pixel_id, account_id, .. } = find_for(infra, caller, pixel_id).await?;
    let visitor_id = VisitorId::parse(visitor_id).ok_or_else(malformed)?;
    let mut transaction = infra.pool.begin().await?;
    // Whoever stores contacts of the visitor is waited for.
    pixels::lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let erased = erase(&mut transaction, &infra.clock, &pixel_id, &visitor_id).await?;
    note(&mut transaction, &infra.clock, caller, &account_id, &pixel_id).await?;
    transaction.commit().await?;
    infra.consent_changes.notify_one();
    tracing::info!(%pixel_id, ?erased, "visitor erased");
    Ok(ErasedVisitor { pixel_id, visitor_id, erased })
}

/// Counts the rows that [`erase_visitor`] would delete.
pub async fn count_visitor(
    infra: &Infra,
    caller: &Caller,
    pixel_id: &str,
    visitor_id: &str,
) -> Result<ErasedRows> {
    let pixel_id = find_for(infra, caller, pixel_id).await?.pixel_id;
    let visitor_id = VisitorId::parse(visitor_id).ok_or_else(malformed)?;
    let mut connection = infra.pool.acquire().await?;
    let connection = &mut *connection;
    Ok(ErasedRows {
        receipts: receipts::count_receipts_of_visitor(connection, &pixel_id, &visitor_id).await?,
        contacts: contacts::erasure::count_of_visitor(connection, &pixel_id, &visitor_id).await?,
        days_shown: receipts::count_shown_of_visitor(connection, &pixel_id, &visitor_id).await?,
    })
}

pub async fn note(
    connection: &mut PgConnection,
    clock: &Clock,
    caller: &Caller,
    account_id: &AccountId,
    pixel_id: &PixelId,
) -> Result<()> {
    let (now, subject) = (clock.now(), Some(pixel_id.as_str()));
    caller.note(connection, now, account_id, EventKind::VisitorErased, subject).await
}

/// Deletes the pixel's data of a visitor, completes an open request, and removes the id from all requests.
pub async fn erase(
    connection: &mut PgConnection,
    clock: &Clock,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<ErasedRows> {
    let contacts = contacts::erasure::erase_of_visitor(connection, pixel_id, visitor_id).await?;
    let receipts = receipts::delete_receipts_of_visitor(connection, pixel_id, visitor_id).await?;
    let days_shown = receipts::delete_shown_of_visitor(connection, pixel_id, visitor_id).await?;
    // What showed that the pixel is in use may be gone now.
    if contacts + receipts + days_shown > 0 {
        pixels::update_used(connection, pixel_id, clock.now()).await?;
    }
    let count = |rows: u64| i64::try_from(rows).map_err(Error::internal);
    let erased = ErasedRows {
        receipts: count(receipts)?,
        contacts: count(contacts)?,
        days_shown: count(days_shown)?,
    };
    store::update_erased(connection, pixel_id, visitor_id, clock.now(), &erased).await?;
    Ok(erased)
}

pub fn malformed() -> Error {
    let msg = "must be 1 to 128 letters, digits, - and _";
    Error::Validation(vec![FieldError::new(&["path", "visitor_id"], msg, "value_error")])
}
