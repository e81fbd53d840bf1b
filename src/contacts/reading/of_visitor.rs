use super::evaluation::Evaluation;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::contacts::contact::Contact;
use crate::contacts::store::reading as store;
use crate::contacts::store::writing::list_hems_of_visitor;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{PixelParam, VisitorId};

/// Maximum number of people who are listed for one visitor.
const MOST: usize = 20;

pub struct VisitorContacts {
    pub pixel_id: PixelParam,
    pub visitor_id: IdParam<VisitorId>,
}

/// The people whose contacts were ever bound to a visitor, as far as they may be read.
pub struct FindContactsOfVisitor;

impl Capability for FindContactsOfVisitor {
    const NAME: &'static str = "find_contacts_of_visitor";
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = VisitorContacts;
    type Output = Vec<Contact>;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    /// A malformed id is treated like that of a visitor without contacts.
    async fn run(infra: &Infra, caller: Caller, request: VisitorContacts) -> Result<Vec<Contact>> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let Some(visitor_id) = request.visitor_id.into_id() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        {
            let mut connection = infra.pool.acquire().await?;
            let hems = list_hems_of_visitor(&mut connection, &pixel_id, &visitor_id).await?;
            for hem in hems.into_iter().take(MOST) {
                found
                    .extend(store::list_contacts_of_person(&mut connection, &pixel_id, hem).await?);
            }
        }
        let readable = Evaluation::of(infra, &pixel_id).keep_readable(found).await?;
        Ok(readable.into_iter().map(|found| found.contact).collect())
    }
}
