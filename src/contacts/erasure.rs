//! Erasing people who ask for it.

use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use super::reading::finding::OfContact;
use super::store::writing as store;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::event::EventKind;
use crate::accounts::scope::Governs;
use crate::accounts::tool::Tool;
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

/// A person who is not stored any more.
#[derive(Serialize, JsonSchema)]
pub struct ErasedContact {
    pixel_id: PixelId,
    erased: bool,
}

/// What a pixel stores of a person is erased; nothing stored is fine too.
pub struct EraseContact;

impl Capability for EraseContact {
    const NAME: &'static str = "erase_contact";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Erase a contact",
        "Erases what the pixel stores of a person who asks for it. Cannot be undone, and gives \
         nothing back of the allowance.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfContact;
    type Output = ErasedContact;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed, Error::PixelNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfContact) -> Result<ErasedContact> {
        let hem = Hem::parse(&request.hem)?;
        let pixel_id = erase(infra, &caller, &request.pixel_id, &hem).await?;
        Ok(ErasedContact { pixel_id, erased: true })
    }
}
