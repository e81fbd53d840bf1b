//! The search over everything that a member may see in the account: sites by host, people by name and email address,
//! and everything that has an id.
//!
//! Each site is searched separately, because rows of different sites may be on different workers, and because the
//! permissions of the member are checked per site.

mod found;
mod on_site;
mod search_term;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use self::found::{Found, Site, grouped, of_host, only_exact};
use self::on_site::on_site;
use self::search_term::SearchTerm;
use super::kit::form::Form;
use super::kit::member::Member;
use super::kit::refusal::Refusal;
use super::kit::reply::Reply;
use super::kit::screen::{NavLocation, Screen};
use crate::accounts::capability::NoInput;
use crate::error::Result;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::setup::ListPixels;

pub fn routes() -> Vec<Route> {
    routes![open, search]
}

const SEARCH: Screen<'static> = Screen {
    template: "console/search.html",
    title: tr("Search"),
    location: NavLocation::Search,
    calls: &[
        "GET /v1/pixels",
        "GET /v1/pixels/{pixel_id}/consent",
        "GET /v1/pixels/{pixel_id}/contacts/{hem}",
        "GET /v1/pixels/{pixel_id}/erasure-requests",
    ],
};

/// Sites that are searched concurrently, each with a database connection.
const AT_ONCE: usize = 4;
/// The maximum number of sites that are searched for people, choices and requests. Accounts of the operator may have
/// thousands.
const MOST_SITES: usize = 200;

/// A query string is not searched as a name or email address, because logs and browser histories store it.
#[get("/console/search")]
async fn open(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let term = SearchTerm::of_address(query.present("q").unwrap_or_default());
    Ok(answer(&member, &term).await?)
}

#[post("/console/search", data = "<form>")]
async fn search(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let term = SearchTerm::typed(form.get("q").unwrap_or_default());
    Ok(answer(&member, &term).await?)
}

async fn answer(member: &Member<'_>, term: &SearchTerm) -> Result<Reply> {
    let sites = match term.text.is_empty() {
        true => Vec::new(),
        false => sites_of(member).await?,
    };
    let mut found = sites.iter().filter_map(|site| of_host(site, term)).collect::<Vec<_>>();
    found.extend(on_sites(member, &sites, term).await?);
    if let Some(address) = only_exact(&found) {
        return Ok(Reply::to(address));
    }
    let content = context! {
        q: &term.text,
        by_address: !term.is_typed && term.may_be_name(),
        groups: grouped(found),
        left_out: left_out(sites.len()),
    };
    Ok(member.screen(SEARCH, content))
}

async fn sites_of(member: &Member<'_>) -> Result<Vec<Site>> {
    let pixels = member.ask::<ListPixels>(NoInput {}).await?.pixels.into_iter();
    let site = pixels.map(|it| Site { id: it.pixel_id, host: it.domain.to_string() });
    Ok(site.collect())
}

async fn on_sites(member: &Member<'_>, sites: &[Site], term: &SearchTerm) -> Result<Vec<Found>> {
    let searched = sites.iter().take(MOST_SITES).cloned().collect::<Vec<_>>();
    let answers = stream::iter(searched).map(|site| on_site(member, site, term));
    let found = answers.buffered(AT_ONCE).try_collect::<Vec<_>>().await?;
    Ok(found.into_iter().flatten().collect())
}

fn left_out(sites: usize) -> Option<Message> {
    (sites > MOST_SITES).then(|| {
        tr("People, choices, visitors and requests were searched on the first {{ searched }} of your {{ number }} sites. Open another site to search there.")
            .with("searched", MOST_SITES)
            .with("number", Message::Number(i64::try_from(sites).unwrap_or(i64::MAX)))
    })
}
