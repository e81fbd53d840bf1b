//! The activity log: what was done in an account, and by whom. Events are kept for 400 days.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use super::access::{Caller, LogReader};
use super::capability::{Capability, NoInput};
use super::event::EventView;
use super::scope::Oversees;
use super::store::{self, EventSelection};
use super::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::paging::{Page, wrong_limit};

/// The largest and the default number of events of a page.
const MOST: u16 = 200;
const MOST_ACTORS: i64 = 200;

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
    /// The `next_before` of the previous page.
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
    type Service = Infra;
    type Access = LogReader<Oversees>;
    type Input = EventQuery;
    type Output = EventPage;

    fn refusals() -> Vec<Error> {
        vec![wrong_limit(MOST)]
    }

    async fn run(infra: &Infra, caller: Caller, query: EventQuery) -> Result<EventPage> {
        read(&infra.pool, &caller, &query, &EventFilter::default()).await
    }
}

async fn read(
    pool: &PgPool,
    caller: &Caller,
    query: &EventQuery,
    filter: &EventFilter,
) -> Result<EventPage> {
    let EventQuery { before, limit } = query;
    let page = Page::read("before", before, limit, MOST, |text| text.parse().ok())?;
    let selection = EventSelection {
        before: page.start,
        since: filter.since,
        of: caller.sites.listed(),
        kinds: filter.kinds.as_deref(),
        actor: filter.actor.as_deref(),
        text: filter.text.as_deref(),
        subjects: &filter.subjects,
    };
    let mut connection = pool.acquire().await?;
    let listing = store::list_events(&mut connection, caller.account_id(), &selection, page.rows());
    let mut events = listing.await?;
    let next_before = page.cut(&mut events).map(|last| last.event_id);
    Ok(EventPage { events, next_before })
}

/// The criteria of a search for events; the default matches all events.
#[derive(Clone, Default)]
pub struct EventFilter {
    /// The smallest event id. Ids begin with their time, so this limits the time of the events.
    pub since: Option<Uuid>,
    pub kinds: Option<Vec<String>>,
    pub actor: Option<String>,
    /// A part of the subject, in lowercase.
    pub text: Option<String>,
    /// More subjects to find with `text`: those whose display name contains it.
    pub subjects: Vec<String>,
}

/// A page of the events of a filter. Only the console searches so: an address with a search would contain personal data.
pub struct SearchAccountEvents;

impl Capability for SearchAccountEvents {
    const NAME: &'static str = "search_account_events";
    type Service = Infra;
    type Access = LogReader<Oversees>;
    type Input = (EventQuery, EventFilter);
    type Output = EventPage;

    fn refusals() -> Vec<Error> {
        ReadAccountEvents::refusals()
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        (query, filter): (EventQuery, EventFilter),
    ) -> Result<EventPage> {
        read(&infra.pool, &caller, &query, &filter).await
    }
}

/// The actors, at most 200: the choices of a filter.
pub struct ListEventActors;

impl Capability for ListEventActors {
    const NAME: &'static str = "list_event_actors";
    type Service = Infra;
    type Access = LogReader<Oversees>;
    type Input = NoInput;
    type Output = Vec<String>;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Vec<String>> {
        let mut connection = infra.pool.acquire().await?;
        let (account_id, of) = (caller.account_id(), caller.sites.listed());
        store::list_actors(&mut connection, account_id, of, MOST_ACTORS).await
    }
}
