//! The people of a site as a list, and their numbers by day.

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use serde_json::json;
use url::form_urlencoded::Serializer;

use super::person_words::rows;
use crate::accounts::scope::Scope;
use crate::contacts::counts::{CountContacts, CountRequest};
use crate::contacts::people::ListPeople;
use crate::contacts::people::filter::{PeopleOrder, PeopleRequest};
use crate::contacts::reading::spreadsheet::{ExportRequest, ExportSpreadsheet, Spreadsheet};
use crate::erasure::view::ErasedRows;
use crate::error::{Error, Result};
use crate::http::csv::Csv;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::view::PixelView;
use crate::types::ids::PixelParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::{of_visitor, sentence};
use crate::web::console::sites::install::find;

pub fn routes() -> Vec<Route> {
    routes![people, search, days, table, export]
}

/// The prefix of the names of the boxes with which people are selected.
pub const BOX: &str = "person-";

pub fn screen<'a>(pixel: &'a PixelView, template: &'static str, title: Message) -> Screen<'a> {
    Screen {
        template,
        title,
        location: NavLocation::of(pixel, "contacts"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/contact-counts",
            "GET /v1/pixels/{pixel_id}/contacts",
            "DELETE /v1/pixels/{pixel_id}/contacts/{hem}",
            "POST /v1/pixels/{pixel_id}/erasure-requests",
            "PUT /v1/suppressions/{hem}",
        ],
    }
}

fn notice_of(query: &Query) -> Option<Message> {
    let count = |name| query.get(name).and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    let rows = ErasedRows {
        receipts: count("receipts"),
        contacts: count("contacts"),
        days_shown: count("days"),
    };
    let people = count("people");
    let notice = match (query.get("done")?, people) {
        ("erased", 0 | 1) => tr("The person is erased: {{ rows }}."),
        ("erased", _) => tr("{{ many }} people are erased: {{ rows }}."),
        ("suppressed", 0 | 1) => tr(
            "The person is erased on all your sites, with the choices there, and will not be stored again.",
        ),
        ("suppressed", _) => tr(
            "{{ many }} people are erased on all your sites, with the choices there, and will not be stored again.",
        ),
        _ => return None,
    };
    Some(notice.with("many", people).with("rows", of_visitor(&rows)))
}

/// The filter of the list, as typed.
#[derive(Serialize)]
pub struct Filter {
    search: String,
    sort: String,
    from: String,
    to: String,
    after: String,
}

impl Filter {
    /// A query string never contains the search text, because logs and browser histories store it.
    fn of_address(query: &Query) -> Self {
        let text = |name| query.present(name).unwrap_or_default().to_owned();
        let day = text("day");
        let (sort, from, to) = match day.is_empty() {
            true => (text("sort"), text("from"), text("to")),
            false => (PeopleOrder::First.as_str().to_owned(), day.clone(), day),
        };
        Self { search: String::new(), sort, from, to, after: text("after") }
    }

    pub fn of_form(form: &Form) -> Self {
        Self {
            search: form.text("search"),
            sort: form.text("sort"),
            from: form.text("from"),
            to: form.text("to"),
            after: form.text("after"),
        }
    }

    fn request(&self, pixel_id: PixelParam) -> PeopleRequest {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        PeopleRequest {
            pixel_id,
            search: given(&self.search),
            sort: given(&self.sort),
            from: given(&self.from),
            to: given(&self.to),
            after: given(&self.after),
        }
    }

    /// The query string of a page, which does not contain the search text.
    fn query(&self, after: &str) -> String {
        let fields =
            [("sort", &*self.sort), ("from", &*self.from), ("to", &*self.to), ("after", after)];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        Serializer::new(String::new()).extend_pairs(given).finish()
    }

    fn is_narrow(&self) -> bool {
        [&self.search, &self.from, &self.to].iter().any(|text| !text.is_empty())
    }
}

#[get("/console/sites/<pixel_id>/contacts")]
async fn people(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    list_screen(&member, &pixel, &Filter::of_address(&query), notice_of(&query), None).await
}

#[post("/console/sites/<pixel_id>/contacts", data = "<form>")]
async fn search(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let filter = Filter::of_form(&form);
    if filter.search.is_empty() {
        let query = filter.query(&filter.after);
        let address = format!("/console/sites/{}/contacts?{query}", pixel.pixel_id);
        return Ok(Reply::to(address.trim_end_matches('?')));
    }
    list_screen(&member, &pixel, &filter, None, None).await
}

/// The list of people; `wrong` is an error in the selection.
pub async fn list_screen(
    member: &Member<'_>,
    pixel: &PixelView,
    filter: &Filter,
    notice: Option<Message>,
    wrong: Option<Message>,
) -> Result<Reply, Refusal> {
    let request = filter.request(pixel.pixel_id.clone().into());
    let (page, refused) = match member.ask::<ListPeople>(request).await {
        Ok(page) => (Some(page), None),
        Err(error @ Error::Validation(_)) => (None, Some(error)),
        Err(error) => return Err(error.into()),
    };
    let contacts = page.as_ref().map(|page| page.contacts.as_slice()).unwrap_or_default();
    let next = page.as_ref().and_then(|page| page.next.as_deref());
    let status = refused.as_ref().map_or(if wrong.is_some() { 400 } else { 200 }, Error::status);
    let content = context! {
        notice,
        filter,
        is_narrow: filter.is_narrow(),
        rows: rows(contacts)?,
        next,
        next_query: next.map(|next| filter.query(next)),
        first_query: filter.query(""),
        is_cut: page.as_ref().is_some_and(|page| page.is_cut),
        may_erase: member.member.role == Scope::Full,
        refused: refused.as_ref().map(sentence),
        error: refused.is_some() || wrong.is_some(),
        wrong,
    };
    Ok(member.screen_with_status(
        status,
        screen(pixel, "console/contacts.html", tr("Contacts")),
        content,
    ))
}

#[get("/console/sites/<pixel_id>/contacts/days")]
async fn days(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let text = |name| query.present(name).map(str::to_owned);
    let request = CountRequest { pixel_id, from: text("from"), to: text("to") };
    let counts = member.ask::<CountContacts>(request).await?;
    let busy = counts.days.iter().rev().filter(|day| day.contacts > 0);
    let days = busy.map(|day| {
        let (name, contacts) = (Message::Day(day.day), Message::Number(day.contacts));
        json!({"day": day.day, "name": name, "contacts": contacts})
    });
    let content = context! {
        days: days.collect::<Vec<_>>(),
        total: counts.total,
        people: Message::Number(counts.total),
        from: counts.from,
        to: counts.to,
        from_day: Message::Day(counts.from),
        to_day: Message::Day(counts.to),
    };
    Ok(member
        .screen(screen(&pixel, "console/contact_days.html", tr("New contacts by day")), content))
}

/// Exports the people who were first identified on a day, or in a range of days.
#[get("/console/sites/<pixel_id>/contacts/csv")]
async fn table(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Csv, Refusal> {
    let filter =
        Filter { sort: PeopleOrder::First.as_str().to_owned(), ..Filter::of_address(&query) };
    file(&member, ExportRequest { people: filter.request(pixel_id), hems: Vec::new() }).await
}

/// Exports the selected people, or all people of the list.
#[post("/console/sites/<pixel_id>/contacts/csv", data = "<form>")]
async fn export(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Csv, Refusal> {
    let filter = Filter { after: String::new(), ..Filter::of_form(&form) };
    let hems = form.names_after(BOX).iter().map(|hem| hem.as_str().into()).collect();
    let people = filter.request(pixel_id);
    file(&member, ExportRequest { people, hems }).await
}

async fn file(member: &Member<'_>, request: ExportRequest) -> Result<Csv, Refusal> {
    let Spreadsheet { pixel_id, days, pieces } = member.ask::<ExportSpreadsheet>(request).await?;
    let days = match days {
        Some((from, to)) if from == to => format!("-{from}"),
        Some((from, to)) => format!("-{from}-{to}"),
        None => String::new(),
    };
    Ok(Csv { name: format!("contacts-{pixel_id}{days}"), lines: pieces, next: None })
}
