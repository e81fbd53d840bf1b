use super::entry::{ListedImport, Suppression};
use super::store;
use super::suppress::OfPerson;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::Oversees;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::hem::Hem;

const NEWEST: i64 = 10;

pub struct Person {
    pub hem: Hem,
    /// `None` where the person may be stored.
    pub suppression: Option<Suppression>,
    pub hosts: Vec<String>,
}

/// How a person stands with the account. Only the console asks, before a step that cannot be undone.
pub struct ShowPerson;

impl Capability for ShowPerson {
    const NAME: &'static str = "show_person";
    type Service = Infra;
    type Access = AllSites<Oversees>;
    type Input = OfPerson;
    type Output = Person;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfPerson) -> Result<Person> {
        let hem = request.hem.into_id().ok_or(Error::HemMalformed)?;
        let (account_id, mut connection) = (caller.account_id(), infra.pool.acquire().await?);
        let suppression = store::find_suppression(&mut connection, account_id, hem).await?;
        let hosts = store::list_hosts_of_person(&mut connection, account_id, hem).await?;
        Ok(Person { hem, suppression, hosts })
    }
}

/// The newest imports, the newest first; those that are long done are forgotten.
pub struct ListImports;

impl Capability for ListImports {
    const NAME: &'static str = "list_suppression_imports";
    type Service = Infra;
    type Access = AllSites<Oversees>;
    type Input = NoInput;
    type Output = Vec<ListedImport>;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Vec<ListedImport>> {
        let mut connection = infra.pool.acquire().await?;
        store::list_newest_imports(&mut connection, caller.account_id(), NEWEST).await
    }
}
