mod filter;
mod groups;
mod names;
pub mod table;
mod words;

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use self::filter::{Filter, actors_of};
use self::names::Names;
use crate::accounts::activity_log::{EventPage, EventQuery, SearchAccountEvents};
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::tr;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![events, search]
}

const EVENTS: Screen<'static> = Screen {
    template: "console/events.html",
    title: tr("Audit log"),
    location: NavLocation::AccountPart("events"),
    calls: &["GET /v1/account/events"],
};

const ADDRESS: &str = "/console/account/events";
const PAGE: &str = "50";

#[get("/console/account/events")]
async fn events(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let before = query.present("before").unwrap_or_default();
    Ok(list(&member, &Filter::of_address(&query), before).await?)
}

#[post("/console/account/events", data = "<form>")]
async fn search(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let (filter, before) = (Filter::of_form(&form), form.get("before").unwrap_or_default());
    if filter.text.is_empty() {
        let address = format!("{ADDRESS}?{}", filter.query(before));
        return Ok(Reply::to(address.trim_end_matches('?')));
    }
    Ok(list(&member, &filter, before).await?)
}

async fn list(member: &Member<'_>, filter: &Filter, before: &str) -> Result<Reply> {
    let actors = actors_of(member).await?;
    let names = Names::of(member).await?;
    let (page, refused) = match page(member, filter, &names, &actors, before).await {
        Ok(page) => (page, None),
        Err(error @ Error::Validation(_)) => {
            (EventPage { events: Vec::new(), next_before: None }, Some(error))
        }
        Err(error) => return Err(error),
    };
    let names = names.with_published(member, &page.events).await?;
    let rows = page.events.iter().map(|event| names.row(event, &member.member.address));
    let next = page.next_before.map(|next| next.to_string());
    let status = refused.as_ref().map_or(200, Error::status);
    let content = context! {
        rows: rows.collect::<Vec<_>>(),
        filter,
        groups: filter.groups(member),
        actors: filter.actors(&names, &actors),
        is_narrow: filter.is_narrow(),
        is_first: before.is_empty(),
        first_query: filter.query(""),
        next_query: next.as_deref().map(|next| filter.query(next)),
        next,
        may_export: member.member.role == Scope::Full,
        error: refused.as_ref().map(sentence),
    };
    Ok(member.screen_with_status(status, EVENTS, content))
}

async fn page(
    member: &Member<'_>,
    filter: &Filter,
    names: &Names,
    actors: &[String],
    before: &str,
) -> Result<EventPage> {
    let bounded = filter.read(member, names, actors).await?;
    let before = Some(before.to_owned()).filter(|before| !before.is_empty()).or(bounded.end);
    let query = EventQuery { before, limit: Some(PAGE.to_owned()) };
    member.ask::<SearchAccountEvents>((query, bounded.filter)).await
}
