//! People of a pixel as a list that is ordered and searched, for the console.

pub mod filter;
pub mod finding;
pub mod listing;

use self::filter::PeopleRequest;
use self::listing::Listing;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::contacts::contact::Contact;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::receipts::days::wrong_order;

/// Number of people per page.
pub const PAGE: usize = 50;

pub struct PeoplePage {
    /// With the times at which they were last seen.
    pub contacts: Vec<Contact>,
    /// The `after` of the next page.
    pub next: Option<String>,
    /// Whether more people match than all pages list.
    pub is_cut: bool,
}

/// A page of people. Only the console lists them so: an address with a search would contain personal data.
pub struct ListPeople;

impl Capability for ListPeople {
    const NAME: &'static str = "list_people";
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = PeopleRequest;
    type Output = PeoplePage;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong_order()]
    }

    async fn run(infra: &Infra, caller: Caller, request: PeopleRequest) -> Result<PeoplePage> {
        let filter = request.filter()?;
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let order = filter.order;
        let mut listing = Listing::open(infra, &pixel_id, filter).await?;
        let contacts = listing.next(PAGE).await?.unwrap_or_default();
        let next = listing.end().map(|position| position.text(order));
        Ok(PeoplePage { contacts, next, is_cut: listing.is_cut })
    }
}
