use rocket::{Route, get, post, routes};

use super::filter::{Bounded, Filter, actors_of};
use super::names::Names;
use super::words::what;
use crate::accounts::activity_log::{EventQuery, SearchAccountEvents};
use crate::accounts::event::EventView;
use crate::clock::rfc3339;
use crate::error::Result;
use crate::http::csv::Csv;
use crate::http::query::Query;
use crate::infra::templates::in_english;
use crate::types::csv;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::{Member, OwnedCaller};
use crate::web::console::kit::pages::{PageOfLines, Pages, stream_of};
use crate::web::console::kit::refusal::Refusal;

pub fn routes() -> Vec<Route> {
    routes![events_table, filtered_table]
}

const COLUMNS: [&str; 5] = ["time (UTC)", "action", "kind", "subject", "actor"];

fn line(event: &EventView) -> [String; 5] {
    [
        rfc3339(event.happened_at.0),
        in_english(&what(&event.kind)).trim_end_matches(':').to_owned(),
        event.kind.clone(),
        event.subject.clone().unwrap_or_default(),
        event.actor.clone(),
    ]
}

/// All events of a filter, newest first.
impl Pages for Bounded {
    async fn page(&self, caller: &OwnedCaller, from: Option<String>) -> Result<PageOfLines> {
        let query = EventQuery { before: from.or_else(|| self.end.clone()), limit: None };
        let page = caller.ask::<SearchAccountEvents>((query, self.filter.clone())).await?;
        let next = page.next_before.map(|id| id.to_string());
        Ok(PageOfLines { lines: csv::lines(page.events.iter().map(line))?, next })
    }
}

#[get("/console/account/events.csv")]
async fn events_table(member: Member<'_>, query: Query) -> Result<Csv, Refusal> {
    Ok(table(&member, &Filter::of_address(&query)).await?)
}

#[post("/console/account/events.csv", data = "<form>")]
async fn filtered_table(member: Member<'_>, form: Form) -> Result<Csv, Refusal> {
    Ok(table(&member, &Filter::of_form(&form)).await?)
}

async fn table(member: &Member<'_>, filter: &Filter) -> Result<Csv> {
    let actors = actors_of(member).await?;
    let names = Names::of(member).await?;
    let events = filter.read(member, &names, &actors).await?;
    let lines = stream_of(member.owned_caller(), csv::lines([COLUMNS])?, events).await?;
    Ok(Csv { name: "audit-log".to_owned(), lines, next: None })
}
