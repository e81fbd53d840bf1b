use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::entry::Suppression;
use super::store;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Oversees;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::hem::Hem;
use crate::types::paging::{Page, wrong_limit};

/// The maximum and default number of suppressions of a page.
const MOST: u16 = 1_000;

/// A page of an account's suppressions, in the order of their `hem`.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct SuppressionPage {
    pub suppressions: Vec<Suppression>,
    /// The next `after`; null after the last page.
    #[schema(required = true)]
    pub next_after: Option<Hem>,
}

pub struct PageRequest {
    /// The `next_after` of the previous page.
    pub after: Option<String>,
    pub limit: Option<String>,
}

/// Reads a page. Whoever follows `next_after` gets all that were there before the first page.
pub struct ListSuppressions;

impl Capability for ListSuppressions {
    const NAME: &'static str = "list_suppressions";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List suppressions",
        "Lists the people who are never stored, page by page: `after` takes the `next_after` \
         before.",
    ));
    type Service = Infra;
    type Access = AllSites<Oversees>;
    type Input = PageRequest;
    type Output = SuppressionPage;

    fn refusals() -> Vec<Error> {
        vec![wrong_limit(MOST)]
    }

    async fn run(infra: &Infra, caller: Caller, request: PageRequest) -> Result<SuppressionPage> {
        let PageRequest { after, limit } = &request;
        let page = Page::read("after", after, limit, MOST, |text| Hem::parse(text).ok())?;
        let mut connection = infra.pool.acquire().await?;
        let (account_id, rows) = (caller.account_id(), page.rows());
        let listing = store::list_suppressions(&mut connection, account_id, page.start, rows);
        let mut suppressions = listing.await?;
        let next_after = page.cut(&mut suppressions).map(|last| last.hem);
        Ok(SuppressionPage { suppressions, next_after })
    }
}
