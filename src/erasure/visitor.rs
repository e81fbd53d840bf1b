use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::store;
use super::view::ErasedRows;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::{Governs, Reads};
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::pixels::pixel::Pixel;
use crate::pixels::setup::find_for;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{AccountId, PixelId, PixelParam, VisitorId};
use crate::{contacts, pixels, receipts};

/// A visitor of whom nothing is kept any more.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ErasedVisitor {
    pub pixel_id: PixelId,
    pub visitor_id: VisitorId,
    pub erased: ErasedRows,
}

/// A visitor of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfVisitor {
    pub pixel_id: PixelParam,
    /// As the consent tag made it.
    pub visitor_id: IdParam<VisitorId>,
}

/// Erases a visitor of the caller's pixel; one of whom nothing is kept is fine too.
pub struct EraseVisitor;

impl Capability for EraseVisitor {
    const NAME: &'static str = "erase_visitor";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Erase a visitor",
        "Erases what the pixel has of a visitor, receipts included. Cannot be undone.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfVisitor;
    type Output = ErasedVisitor;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, malformed()]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfVisitor) -> Result<ErasedVisitor> {
        let OfVisitor { pixel_id, visitor_id } = request;
        let Pixel { pixel_id, account_id, .. } = find_for(&infra.pool, &caller, &pixel_id).await?;
        let visitor_id = visitor_id.into_id().ok_or_else(malformed)?;
        let mut transaction = infra.pool.begin().await?;
        // Waits for transactions that store contacts of the visitor.
        pixels::lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
        let erased = erase(&mut transaction, &infra.clock, &pixel_id, &visitor_id).await?;
        record(&mut transaction, &infra.clock, &caller, &account_id, &pixel_id).await?;
        transaction.commit().await?;
        infra.consent_changes.notify_one();
        tracing::info!(%pixel_id, ?erased, "visitor erased");
        Ok(ErasedVisitor { pixel_id, visitor_id, erased })
    }
}

/// How much the caller's pixel keeps of a visitor: what [`erase_visitor`] would erase.
pub struct CountVisitor;

impl Capability for CountVisitor {
    const NAME: &'static str = "count_visitor";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfVisitor;
    type Output = ErasedRows;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, malformed()]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfVisitor) -> Result<ErasedRows> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let visitor_id = request.visitor_id.into_id().ok_or_else(malformed)?;
        let mut connection = infra.pool.acquire().await?;
        count(&mut connection, &pixel_id, &visitor_id).await
    }
}

/// Counts the rows that [`erase`] would delete.
pub(super) async fn count(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<ErasedRows> {
    Ok(ErasedRows {
        receipts: receipts::count_receipts_of_visitor(connection, pixel_id, visitor_id).await?,
        contacts: contacts::erasure::count_of_visitor(connection, pixel_id, visitor_id).await?,
        days_shown: receipts::count_shown_of_visitor(connection, pixel_id, visitor_id).await?,
    })
}

pub async fn record(
    connection: &mut PgConnection,
    clock: &Clock,
    caller: &Caller,
    account_id: &AccountId,
    pixel_id: &PixelId,
) -> Result<()> {
    let (now, subject) = (clock.now(), Some(pixel_id.as_str()));
    caller.record(connection, now, account_id, ActivityKind::VisitorErased, subject).await
}

/// Deletes the pixel's data of a visitor, completes an open request, and removes the id from all requests.
pub async fn erase(
    connection: &mut PgConnection,
    clock: &Clock,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<ErasedRows> {
    let contacts = contacts::erasure::erase_of_visitor(connection, pixel_id, visitor_id).await?;
    erase_choices(connection, clock, pixel_id, visitor_id, contacts).await
}

/// Like [`erase`], for a visitor whose contacts, in this number, the caller has already deleted.
pub(super) async fn erase_choices(
    connection: &mut PgConnection,
    clock: &Clock,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
    contacts: u64,
) -> Result<ErasedRows> {
    let receipts = receipts::delete_receipts_of_visitor(connection, pixel_id, visitor_id).await?;
    let days_shown = receipts::delete_shown_of_visitor(connection, pixel_id, visitor_id).await?;
    receipts::delete_test_receipts_of_visitor(connection, pixel_id, visitor_id).await?;
    // The deleted rows may have been the only ones that showed that the pixel is in use.
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
