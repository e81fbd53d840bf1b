//! The activity log: what was done in an account, and by whom. Events are kept for 400 days.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::access::{Caller, LogReader};
use super::capability::Capability;
use super::event::EventView;
use super::scope::Oversees;
use super::store;
use super::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::paging::{Page, wrong_limit};

/// The largest and the default number of events of a page.
const MOST: u16 = 200;

/// A page of events, newest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct EventPage {
    pub events: Vec<EventView>,
    /// The next `before`; null after the last page.
    #[schema(required = true)]
    pub next_before: Option<Uuid>,
}

#[derive(Deserialize)]
pub struct EventQuery {
    /// The `next_before` of the page before.
    pub before: Option<String>,
    pub limit: Option<String>,
}

pub struct ReadAccountEvents;

impl Capability for ReadAccountEvents {
    const NAME: &'static str = "read_account_events";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("Read the activity log", "Tells who did what in the account, newest first."),
    );
    type Part = Infra;
    type Access = LogReader<Oversees>;
    type Input = EventQuery;
    type Output = EventPage;

    fn refusals() -> Vec<Error> {
        vec![wrong_limit(MOST)]
    }

    async fn run(infra: &Infra, caller: Caller, query: EventQuery) -> Result<EventPage> {
        let account_id = caller.account_id();
        let EventQuery { before, limit } = &query;
        let page = Page::read("before", before, limit, MOST, |text| text.parse().ok())?;
        let mut connection = infra.pool.acquire().await?;
        let subjects = caller.sites.listed();
        let listing =
            store::list_events(&mut connection, account_id, subjects, page.start, page.rows());
        let mut events = listing.await?;
        let next_before = page.cut(&mut events).map(|last| last.event_id);
        Ok(EventPage { events, next_before })
    }
}
