//! What can be asked for about the people whom an account must not store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{ImportStatus, PlacedImport};
use super::import::{self, List, OpenedImport};
use super::list::{self, PageRequest, SuppressionPage};
use super::overview::{self, Person};
use super::suppress;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::{Governs, Oversees};
use crate::accounts::tool::Tool;
use crate::contacts::service::Contacts;
use crate::error::Error::*;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::types::hem::Hem;

/// A person.
#[derive(Deserialize, JsonSchema)]
pub struct OfPerson {
    /// The person's hashed email address, 64 hex digits.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{64}$"))]
    pub hem: String,
}

/// Whether a person is refused.
#[derive(Serialize, JsonSchema)]
pub struct SuppressionState {
    hem: Hem,
    suppressed: bool,
}

/// A person is erased on all pixels of the account and refused from then on.
pub struct SuppressPerson;

impl Capability for SuppressPerson {
    const NAME: &'static str = "suppress_person";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Erases a person on all pixels of the account, and never stores them again. Cannot be \
         undone.",
    ));
    type Part = Contacts;
    type Access = GoodStanding<Governs>;
    type Input = OfPerson;
    type Output = SuppressionState;

    fn refusals() -> Vec<Error> {
        vec![HemMalformed, Busy { retry_after: 1 }]
    }

    async fn run(part: &Contacts, caller: Caller, request: OfPerson) -> Result<SuppressionState> {
        let hem = Hem::parse(&request.hem)?;
        suppress::suppress(part, &caller, hem).await?;
        Ok(SuppressionState { hem, suppressed: true })
    }
}

/// A person may be stored again.
pub struct UnsuppressPerson;

impl Capability for UnsuppressPerson {
    const NAME: &'static str = "unsuppress_person";
    const TOOL: Option<Tool> =
        Some(Tool::DESTRUCTIVE.idempotent().described("Lets a suppressed person be stored again."));
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfPerson;
    type Output = SuppressionState;

    fn refusals() -> Vec<Error> {
        vec![HemMalformed]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfPerson) -> Result<SuppressionState> {
        let hem = Hem::parse(&request.hem)?;
        suppress::unsuppress(infra, &caller, hem).await?;
        Ok(SuppressionState { hem, suppressed: false })
    }
}

/// A page of those who are refused.
pub struct ListSuppressions;

impl Capability for ListSuppressions {
    const NAME: &'static str = "list_suppressions";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Lists the people who are never stored, page by page: `after` takes the `next_after` \
         before.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Oversees>;
    type Input = PageRequest;
    type Output = SuppressionPage;

    fn refusals() -> Vec<Error> {
        let limit = FieldError::new(&["query", "limit"], "must be from 1 to 1000", "value_error");
        vec![Validation(vec![limit])]
    }

    async fn run(infra: &Infra, caller: Caller, request: PageRequest) -> Result<SuppressionPage> {
        list::read(infra, &caller, &request).await
    }
}

/// A list of people to suppress is taken, and applied afterwards.
pub struct ImportSuppressions;

impl Capability for ImportSuppressions {
    const NAME: &'static str = "import_suppressions";
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = List;
    type Output = OpenedImport;

    fn refusals() -> Vec<Error> {
        vec![ImportAllowanceReached]
    }

    async fn run(infra: &Infra, caller: Caller, list: List) -> Result<OpenedImport> {
        import::take_list(infra, &caller, list).await
    }
}

/// An import by its id.
#[derive(Deserialize, JsonSchema)]
pub struct OfImport {
    pub import_id: String,
}

/// How far an import has come.
pub struct ShowSuppressionImport;

impl Capability for ShowSuppressionImport {
    const NAME: &'static str = "show_suppression_import";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Tells how far the import of a list has come; lists are sent to `POST \
         /v1/suppressions/import`.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Oversees>;
    type Input = OfImport;
    type Output = ImportStatus;

    fn refusals() -> Vec<Error> {
        vec![ImportNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfImport) -> Result<ImportStatus> {
        import::show(infra, &caller, &request.import_id).await
    }
}

/// How a person stands with the account. Only the console asks, before a step that cannot be undone.
pub struct ShowPerson;

impl Capability for ShowPerson {
    const NAME: &'static str = "show_person";
    type Part = Infra;
    type Access = GoodStanding<Oversees>;
    type Input = OfPerson;
    type Output = Person;

    fn refusals() -> Vec<Error> {
        vec![HemMalformed]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfPerson) -> Result<Person> {
        overview::find_person(infra, &caller, Hem::parse(&request.hem)?).await
    }
}

/// The account's newest imports. Only the console asks: programs know the ids of theirs.
pub struct ListImports;

impl Capability for ListImports {
    const NAME: &'static str = "list_suppression_imports";
    type Part = Infra;
    type Access = GoodStanding<Oversees>;
    type Input = NoInput;
    type Output = Vec<PlacedImport>;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Vec<PlacedImport>> {
        overview::list_imports(infra, &caller).await
    }
}
