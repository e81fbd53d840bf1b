//! The activity log: what was done in an account, and by whom. Events are kept for 400 days.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::access::{Caller, KeyHolder};
use super::capability::Capability;
use super::event::EventView;
use super::scope::Oversees;
use super::store;
use super::tool::Tool;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::types::text::{page_limit, present};

/// The largest and the default number of events of a page.
const MOST: i64 = 200;

/// A page of events, newest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct EventPage {
    pub events: Vec<EventView>,
    /// The next `before`; null after the last page.
    #[schema(required = true)]
    pub next_before: Option<Uuid>,
}

/// Which events somebody asks for.
#[derive(Deserialize)]
pub struct EventQuery {
    /// The `next_before` of the page before.
    pub before: Option<String>,
    pub limit: Option<String>,
}

impl EventQuery {
    fn check(&self) -> Result<(Option<Uuid>, i64)> {
        let before = match present(self.before.as_deref()) {
            Some(text) => Some(
                text.parse()
                    .map_err(|_| invalid_input("before", "must be the next_before of a page"))?,
            ),
            None => None,
        };
        let limit = match present(self.limit.as_deref()) {
            Some(text) => page_limit(text, MOST)
                .ok_or_else(|| invalid_input("limit", "must be from 1 to 200"))?,
            None => MOST,
        };
        Ok((before, limit))
    }
}

/// The refusal of a parameter.
fn invalid_input(name: &str, wanted: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["query", name], wanted, "value_error")])
}

/// A page of what was done in an account.
pub struct ReadAccountEvents;

impl Capability for ReadAccountEvents {
    const NAME: &'static str = "read_account_events";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("Read the activity log", "Tells who did what in the account, newest first."),
    );
    type Part = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = EventQuery;
    type Output = EventPage;

    fn refusals() -> Vec<Error> {
        vec![invalid_input("limit", "must be from 1 to 200")]
    }

    async fn run(infra: &Infra, caller: Caller, query: EventQuery) -> Result<EventPage> {
        let account_id = caller.account_id();
        let (before, limit) = query.check()?;
        let mut connection = infra.pool.acquire().await?;
        let mut events = store::list_events(&mut connection, account_id, before, limit + 1).await?;
        let limit = usize::try_from(limit).map_err(Error::internal)?;
        let has_more = events.len() > limit;
        events.truncate(limit);
        let next_before = events.last().filter(|_| has_more).map(|last| last.event_id);
        Ok(EventPage { events, next_before })
    }
}
