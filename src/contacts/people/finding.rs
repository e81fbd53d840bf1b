use super::listing::Listing;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::contacts::contact::Contact;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_by_id;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// Maximum number of people in one answer.
const MOST_PEOPLE: usize = 50;

/// Several people on a pixel, by their hashes.
pub struct OfPeople {
    pub pixel_id: PixelId,
    pub hems: Vec<Hem>,
}

/// Finds what a pixel stores of several people, in no particular order. People who are not stored, or whose
/// consent has ended, are left out.
pub struct FindPeople;

impl Capability for FindPeople {
    const NAME: &'static str = "find_people";
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfPeople;
    type Output = Vec<Contact>;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfPeople) -> Result<Vec<Contact>> {
        let pixel_id = find_by_id(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let hems = request.hems.get(..MOST_PEOPLE).unwrap_or(&request.hems);
        let mut listing = Listing::of_people(infra, &pixel_id, hems).await?;
        Ok(listing.next(MOST_PEOPLE).await?.unwrap_or_default())
    }
}
