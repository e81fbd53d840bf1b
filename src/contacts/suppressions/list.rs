use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::entry::Suppression;
use super::store;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Oversees;
use crate::accounts::tool::Tool;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::types::hem::Hem;
use crate::types::text::{page_limit, present};

/// The maximum and default number of suppressions of a page.
pub const MOST: i64 = 1_000;

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
    type Part = Infra;
    type Access = GoodStanding<Oversees>;
    type Input = PageRequest;
    type Output = SuppressionPage;

    fn refusals() -> Vec<Error> {
        let limit = FieldError::new(&["query", "limit"], "must be from 1 to 1000", "value_error");
        vec![Error::Validation(vec![limit])]
    }

    async fn run(infra: &Infra, caller: Caller, request: PageRequest) -> Result<SuppressionPage> {
        let after = present(request.after.as_deref()).map(|text| {
            Hem::parse(text).map_err(|_| wrong("after", "must be the next_after of a page"))
        });
        let after = after.transpose()?;
        let limit = present(request.limit.as_deref()).map_or(Ok(MOST), |text| {
            page_limit(text, MOST).ok_or_else(|| wrong("limit", "must be from 1 to 1000"))
        })?;
        let mut connection = infra.pool.acquire().await?;
        let mut suppressions =
            store::list_suppressions(&mut connection, caller.account_id(), after, limit + 1)
                .await?;
        let limit = usize::try_from(limit).map_err(Error::internal)?;
        let has_more = suppressions.len() > limit;
        suppressions.truncate(limit);
        let next_after = suppressions.last().filter(|_| has_more).map(|last| last.hem);
        Ok(SuppressionPage { suppressions, next_after })
    }
}

fn wrong(parameter: &str, msg: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["query", parameter], msg, "value_error")])
}
