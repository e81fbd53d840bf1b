use super::evaluation::Evaluation;
use crate::accounts::access::Caller;
use crate::contacts::contact::Contact;
use crate::contacts::store::reading as store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// Finds a pixel's contact of a person, unless its consent has ended. Reads the primary, so that a
/// contact that was just stored is found.
pub async fn find(infra: &Infra, caller: &Caller, pixel_id: &str, hem: Hem) -> Result<Contact> {
    let pixel_id = find_for(infra, caller, pixel_id).await?.pixel_id;
    let found = {
        let mut connection = infra.pool.acquire().await?;
        store::list_contacts_of_person(&mut connection, &pixel_id, hem).await?
    };
    let readable = Evaluation::of(infra, &pixel_id).keep_readable(found).await?;
    readable.into_iter().next().map(|found| found.contact).ok_or(Error::ContactNotFound)
}

/// The contacts with these ids that may be read now, from the primary.
pub async fn list_readable(infra: &Infra, pixel_id: &PixelId, ids: &[i64]) -> Result<Vec<Contact>> {
    let found = {
        let mut connection = infra.pool.acquire().await?;
        store::list_contacts_with_ids(&mut connection, pixel_id, ids).await?
    };
    let readable = Evaluation::of(infra, pixel_id).keep_readable(found).await?;
    Ok(readable.into_iter().map(|found| found.contact).collect())
}
