use sqlx::PgConnection;

use super::contact::count;
use super::view::ErasedRows;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Governs;
use crate::contacts::contact::Contact;
use crate::contacts::people::listing::Listing;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::hem::Hem;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{PixelId, PixelParam};

/// Maximum number of people in one answer.
pub const MOST_COUNTED: usize = 50;

/// People of a pixel, by their hashes.
pub struct SelectedPeople {
    pub pixel_id: PixelParam,
    pub hems: Vec<IdParam<Hem>>,
}

/// A person, and the numbers of rows that would be erased with the person.
pub struct CountedPerson {
    pub contact: Contact,
    pub rows: ErasedRows,
}

/// How much a pixel stores of each of several people, for the step before they are erased. People who are not
/// stored, or whose consent has ended, are left out.
pub struct CountPeople;

impl Capability for CountPeople {
    const NAME: &'static str = "count_people";
    type Service = Infra;
    type Access = GoodStanding<Governs>;
    type Input = SelectedPeople;
    type Output = Vec<CountedPerson>;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed, Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: SelectedPeople,
    ) -> Result<Vec<CountedPerson>> {
        let hems = request.hems.iter().map(|hem| hem.into_id().ok_or(Error::HemMalformed));
        let hems = hems.take(MOST_COUNTED).collect::<Result<Vec<_>>>()?;
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let mut listing = Listing::of_people(infra, &pixel_id, &hems).await?;
        let contacts = listing.next(MOST_COUNTED).await?.unwrap_or_default();
        let mut connection = infra.pool.acquire().await?;
        counted(&mut connection, &pixel_id, contacts).await
    }
}

async fn counted(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    contacts: Vec<Contact>,
) -> Result<Vec<CountedPerson>> {
    let mut people = Vec::with_capacity(contacts.len());
    for contact in contacts {
        let rows = count(connection, pixel_id, contact.hem).await?;
        people.push(CountedPerson { contact, rows });
    }
    Ok(people)
}
