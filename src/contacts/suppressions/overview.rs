//! The state of a person and the newest imports, for the console.

use super::entry::{PlacedImport, Suppression};
use super::store;
use crate::accounts::access::Caller;
use crate::error::Result;
use crate::infra::Infra;
use crate::types::hem::Hem;

const NEWEST: i64 = 10;

pub struct Person {
    pub hem: Hem,
    /// `None` where the person may be stored.
    pub suppression: Option<Suppression>,
    pub hosts: Vec<String>,
}

pub async fn find_person(infra: &Infra, caller: &Caller, hem: Hem) -> Result<Person> {
    let (account_id, mut connection) = (caller.account_id(), infra.pool.acquire().await?);
    let suppression = store::find_suppression(&mut connection, account_id, hem).await?;
    let hosts = store::list_hosts_of_person(&mut connection, account_id, hem).await?;
    Ok(Person { hem, suppression, hosts })
}

/// The newest imports first; old completed ones are deleted.
pub async fn list_imports(infra: &Infra, caller: &Caller) -> Result<Vec<PlacedImport>> {
    let mut connection = infra.pool.acquire().await?;
    store::list_newest_imports(&mut connection, caller.account_id(), NEWEST).await
}
