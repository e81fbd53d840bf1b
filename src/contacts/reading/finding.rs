use schemars::JsonSchema;
use serde::Deserialize;

use super::evaluation::Evaluation;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::contacts::contact::Contact;
use crate::contacts::store::reading as store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::hem::Hem;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{PixelId, PixelParam};

/// Finds what a pixel stores of a person, unless the consent that it depends on has ended. From the primary,
/// so that who was stored a moment ago is found.
pub struct FindContact;

impl Capability for FindContact {
    const NAME: &'static str = "find_contact";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY.described("Find a contact", "Finds what the pixel stores of a person."),
    );
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfContact;
    type Output = Contact;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed, Error::PixelNotFound, Error::ContactNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfContact) -> Result<Contact> {
        let hem = request.hem.into_id().ok_or(Error::HemMalformed)?;
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let found = {
            let mut connection = infra.pool.acquire().await?;
            store::list_contacts_of_person(&mut connection, &pixel_id, hem).await?
        };
        let readable = Evaluation::of(infra, &pixel_id).keep_readable(found).await?;
        readable.into_iter().next().map(|found| found.contact).ok_or(Error::ContactNotFound)
    }
}

pub async fn list_readable(infra: &Infra, pixel_id: &PixelId, ids: &[i64]) -> Result<Vec<Contact>> {
    let found = {
        let mut connection = infra.pool.acquire().await?;
        store::list_contacts_with_ids(&mut connection, pixel_id, ids).await?
    };
    let readable = Evaluation::of(infra, pixel_id).keep_readable(found).await?;
    Ok(readable.into_iter().map(|found| found.contact).collect())
}

/// A person on a pixel.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct OfContact {
    pub pixel_id: PixelParam,
    /// The person's hashed email address, 64 hex digits.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{64}$"))]
    pub hem: IdParam<Hem>,
}
