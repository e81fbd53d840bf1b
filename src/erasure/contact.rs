use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use super::view::{ErasedRows, ErasureRequestView};
use super::{store, visitor};
use crate::accounts::access::{ActiveAccount, Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::{Governs, Reads};
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::contacts::erasure::{erase as erase_contact, find_bound};
use crate::contacts::reading::finding::OfContact;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::lock_pixel;
use crate::pixels::setup::find_for;
use crate::types::hem::Hem;
use crate::types::ids::{AccountId, PixelId};

/// A person of whom nothing is stored any more.
#[derive(Serialize, JsonSchema)]
pub struct ErasedContact {
    pixel_id: PixelId,
    erased: bool,
    #[serde(flatten)]
    pub rows: ErasedRows,
}

/// Erases the contact of a person, with the choices and days shown of every visitor to whom it was ever bound.
/// Contacts of other people with the same visitor lose their consent by it. Idempotent.
pub struct EraseContact;

impl Capability for EraseContact {
    const NAME: &'static str = "erase_contact";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Erase a contact",
        "Erases what the pixel stores of a person, with the choices behind it. Cannot be undone, and \
         gives nothing back of the allowance.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfContact;
    type Output = ErasedContact;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed, Error::PixelNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfContact) -> Result<ErasedContact> {
        let hem = request.hem.into_id().ok_or(Error::HemMalformed)?;
        let pixel = find_for(&infra.pool, &caller, &request.pixel_id).await?;
        let pixel_id = pixel.pixel_id;
        let mut transaction = infra.pool.begin().await?;
        // Waits for a running store, which could otherwise count the deleted contact as an update.
        lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
        let rows = erase(&mut transaction, &infra.clock, &pixel_id, hem).await?;
        record(&mut transaction, &infra.clock, &caller, &pixel.account_id, &pixel_id).await?;
        transaction.commit().await?;
        infra.consent_changes.notify_one();
        tracing::info!(%pixel_id, ?rows, "contact erased");
        Ok(ErasedContact { pixel_id, erased: true, rows })
    }
}

/// Deletes what a pixel stores of a person, and completes an open request of the person by email.
pub(super) async fn erase(
    connection: &mut PgConnection,
    clock: &Clock,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<ErasedRows> {
    let (visitors, _) = find_bound(connection, pixel_id, hem).await?;
    let contacts = erase_contact(connection, pixel_id, hem).await?;
    let mut rows = ErasedRows { receipts: 0, contacts: 0, days_shown: 0 };
    for visitor_id in visitors {
        rows += visitor::erase_choices(connection, clock, pixel_id, &visitor_id, contacts).await?;
    }
    rows.contacts = i64::try_from(contacts).map_err(Error::internal)?;
    store::update_erased_person(connection, pixel_id, hem, clock.now(), &rows).await?;
    Ok(rows)
}

pub(super) async fn record(
    connection: &mut PgConnection,
    clock: &Clock,
    caller: &Caller,
    account_id: &AccountId,
    pixel_id: &PixelId,
) -> Result<()> {
    let (now, subject) = (clock.now(), Some(pixel_id.as_str()));
    caller.record(connection, now, account_id, ActivityKind::ContactErased, subject).await
}

pub struct CountPerson;

impl Capability for CountPerson {
    const NAME: &'static str = "count_person";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfContact;
    type Output = ErasedRows;

    fn refusals() -> Vec<Error> {
        EraseContact::refusals()
    }

    async fn run(infra: &Infra, caller: Caller, request: OfContact) -> Result<ErasedRows> {
        let hem = request.hem.into_id().ok_or(Error::HemMalformed)?;
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        count(&mut connection, &pixel_id, hem).await
    }
}

/// Counts the rows that [`erase`] would delete.
pub(super) async fn count(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<ErasedRows> {
    let (visitors, contacts) = find_bound(connection, pixel_id, hem).await?;
    let mut rows = ErasedRows { receipts: 0, contacts: 0, days_shown: 0 };
    for visitor_id in &visitors {
        rows += visitor::count(connection, pixel_id, visitor_id).await?;
    }
    rows.contacts = contacts;
    Ok(rows)
}

/// The requests of a person by email, newest first, at most 20; none once the person is erased.
pub struct FindRequestsOfPerson;

impl Capability for FindRequestsOfPerson {
    const NAME: &'static str = "find_requests_of_person";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfContact;
    type Output = Vec<ErasureRequestView>;

    fn refusals() -> Vec<Error> {
        EraseContact::refusals()
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        person: OfContact,
    ) -> Result<Vec<ErasureRequestView>> {
        let hem = person.hem.into_id().ok_or(Error::HemMalformed)?;
        let pixel_id = find_for(&infra.pool, &caller, &person.pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        store::list_requests_of_person(&mut connection, &pixel_id, hem).await
    }
}
