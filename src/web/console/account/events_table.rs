use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use rocket::{Route, get, routes};
use uuid::Uuid;

use super::event_words::what;
use crate::accounts::activity_log::{EventQuery, ReadAccountEvents};
use crate::accounts::event::EventView;
use crate::clock::rfc3339;
use crate::error::Result;
use crate::http::csv::Csv;
use crate::http::query::Query;
use crate::infra::templates::in_english;
use crate::receipts::days::day;
use crate::types::csv;
use crate::web::console::kit::member::{Asker, Member};
use crate::web::console::kit::pages::{PageOfLines, Pages, stream_of};
use crate::web::console::kit::refusal::Refusal;

pub fn routes() -> Vec<Route> {
    routes![events_table]
}

const COLUMNS: [&str; 5] = ["time (UTC)", "action", "kind", "subject", "actor"];

/// Events of some UTC days, both ends included; an open end has no bound.
struct Events {
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
}

impl Events {
    fn of(query: &Query) -> Result<Self> {
        let of = |name| query.present(name).map(|text| day(name, text)).transpose();
        Ok(Self { from: of("from")?, to: of("to")? })
    }
}

/// The first id of the day after: ids begin with their time (UUID, version 7).
fn end_of(day: NaiveDate) -> Option<Uuid> {
    let next = day.checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN).and_utc();
    let milliseconds = u64::try_from(next.timestamp_millis()).ok()?;
    Some(Uuid::from_u128(u128::from(milliseconds) << 80))
}

fn line(event: &EventView) -> [String; 5] {
    [
        rfc3339(event.happened_at.0),
        in_english(&what(&event.kind)).trim_end_matches(':').to_owned(),
        event.kind.clone(),
        event.subject.clone().unwrap_or_default(),
        event.actor.clone(),
    ]
}

fn begin_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

impl Pages for Events {
    async fn page(&self, asker: &Asker, from: Option<String>) -> Result<PageOfLines> {
        let end = self.to.and_then(end_of).map(|end| end.to_string());
        let query = EventQuery { before: from.or(end), limit: None };
        let page = asker.ask::<ReadAccountEvents>(query).await?;
        let is_wanted =
            |event: &&EventView| self.from.is_none_or(|from| event.happened_at.0 >= begin_of(from));
        let wanted = page.events.iter().filter(is_wanted).map(line).collect::<Vec<_>>();
        let is_past = wanted.len() < page.events.len();
        let next = page.next_before.filter(|_| !is_past).map(|id| id.to_string());
        Ok(PageOfLines { lines: csv::lines(wanted)?, next })
    }
}

#[get("/console/account/events.csv")]
async fn events_table(member: Member<'_>, query: Query) -> Result<Csv, Refusal> {
    let events = Events::of(&query)?;
    let lines = stream_of(member.asker(), csv::lines([COLUMNS])?, events).await?;
    Ok(Csv { name: "audit-log".to_owned(), lines, next: None })
}
