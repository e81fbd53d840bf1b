use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use super::linked::{mailed_requests_of, requests_of};
use super::people::screen;
use super::person_words::{person_of, row};
use crate::accounts::scope::Scope;
use crate::contacts::reading::finding::{FindContact, OfContact};
use crate::contacts::suppressions::overview::ShowPerson;
use crate::contacts::suppressions::suppress::OfPerson;
use crate::erasure::contact::{CountPerson, EraseContact, ErasedContact};
use crate::erasure::mailed::{AddErasureRequest, ReceivedRequest, RequestOfPixel};
use crate::erasure::view::ErasedRows;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::view::PixelView;
use crate::types::ids::PixelParam;
use crate::web::console::kit::blocking::block_person;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::words::{of_visitor, sentence};
use crate::web::console::sites::install::find;

pub fn routes() -> Vec<Route> {
    routes![find_person, add_request, erase, suppress]
}

#[get("/console/sites/<pixel_id>/contacts/find")]
async fn find_person(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let hem = query.present("hem").unwrap_or_default().to_ascii_lowercase();
    person_screen(&member, 200, &pixel, &hem, None).await
}

async fn person_screen(
    member: &Member<'_>,
    status: u16,
    pixel: &PixelView,
    hem: &str,
    wrong: Option<Message>,
) -> Result<Reply, Refusal> {
    let of_contact = OfContact { pixel_id: pixel.pixel_id.clone().into(), hem: hem.into() };
    let (person, problem) = match member.ask::<FindContact>(of_contact.clone()).await {
        Ok(contact) => (Some(person_of(&contact)?), None),
        Err(Error::ContactNotFound) => (None, None),
        Err(error @ Error::HemMalformed) => (None, Some(sentence(&error))),
        Err(error) => return Err(error.into()),
    };
    let suppressed_since = match &problem {
        None => suppressed_since(member, hem).await?,
        Some(_) => None,
    };
    let visitor = person.as_ref().and_then(|person| person.consent["visitor_id"].as_str());
    let mut requests = match visitor {
        Some(visitor_id) => requests_of(member, &pixel.pixel_id, visitor_id.into()).await?,
        None => Vec::new(),
    };
    if problem.is_none() {
        requests.extend(mailed_requests_of(member, &pixel.pixel_id, hem).await?);
    }
    let stored = match &person {
        Some(_) => Some(of_visitor(&member.ask::<CountPerson>(of_contact).await?)),
        None => None,
    };
    let status = if problem.is_some() { 400 } else { status };
    let content = context! {
        hem,
        stored,
        person: person.as_ref().map(row),
        is_hem: problem.is_none(),
        requests,
        suppressed_since,
        today: member.app.infra.clock.now().date_naive(),
        may_erase: member.member.role == Scope::Full,
        problem,
        error: wrong,
    };
    let title = person.as_ref().map(|person| Message::plain(person.title()));
    let screen = screen(pixel, "console/person.html", title.unwrap_or(tr("A person")));
    Ok(member.screen_with_status(status, screen, content))
}

/// The day on which the account suppressed the person; `None` for roles that may not read suppressions.
async fn suppressed_since(member: &Member<'_>, hem: &str) -> Result<Option<Message>> {
    match member.ask::<ShowPerson>(OfPerson { hem: hem.into() }).await {
        Ok(person) => Ok(person.suppression.map(|since| Message::DayOf(since.created_at.0))),
        Err(Error::ScopeNotAllowed | Error::RestrictedToSites) => Ok(None),
        Err(error) => Err(error),
    }
}

#[post("/console/sites/<pixel_id>/contacts/<hem>/erase", data = "<form>")]
async fn erase(
    member: Member<'_>,
    pixel_id: PixelParam,
    hem: &str,
    form: Form,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    if !form.names_host(pixel.domain.as_str()) {
        let wrong = tr("Type {{ host }} to erase the person.").with("host", &pixel.domain);
        return person_screen(&member, 400, &pixel, hem, Some(wrong)).await;
    }
    let person = OfContact { pixel_id: pixel_id.clone(), hem: hem.into() };
    let ErasedContact { rows, .. } = member.ask::<EraseContact>(person).await?;
    let ErasedRows { receipts, contacts, days_shown } = rows;
    Ok(Reply::to(format!(
        "/console/sites/{pixel_id}/contacts?done=erased&receipts={receipts}&contacts={contacts}&days={days_shown}"
    )))
}

/// Records that the person asked by email to be erased.
#[post("/console/sites/<pixel_id>/contacts/<hem>/request", data = "<form>")]
async fn add_request(
    member: Member<'_>,
    pixel_id: PixelParam,
    hem: &str,
    form: Form,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let received_on = Some(form.text("received_on").to_owned());
    let request = ReceivedRequest { hem: Some(hem.to_owned()), received_on };
    let request = RequestOfPixel { pixel_id: pixel_id.clone(), request };
    match member.ask::<AddErasureRequest>(request).await {
        Ok(added) => {
            let id = added.request_id;
            Ok(Reply::to(format!("/console/sites/{pixel_id}/requests/{id}")))
        }
        Err(Error::Validation(_)) => {
            let wrong = tr("Enter a day of the last 90 days.");
            person_screen(&member, 400, &pixel, hem, Some(wrong)).await
        }
        Err(error) => Err(error.into()),
    }
}

#[post("/console/sites/<pixel_id>/contacts/<hem>/suppress", data = "<form>")]
async fn suppress(
    member: Member<'_>,
    pixel_id: PixelParam,
    hem: &str,
    form: Form,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    if !form.names_host(pixel.domain.as_str()) {
        let wrong = tr("Type {{ host }} to block the person.").with("host", &pixel.domain);
        return person_screen(&member, 400, &pixel, hem, Some(wrong)).await;
    }
    block_person(&member, hem).await?;
    Ok(Reply::to(format!("/console/sites/{pixel_id}/contacts?done=suppressed")))
}
