//! Erasing or blocking several people: a page lists them for confirmation, then each is processed like a single person.

use rocket::{Route, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::people::{BOX, Filter, list_screen, screen};
use super::person_words::{person_of, row};
use crate::contacts::reading::finding::OfContact;
use crate::erasure::contact::EraseContact;
use crate::erasure::people::{CountPeople, CountedPerson, MOST_COUNTED, SelectedPeople};
use crate::erasure::view::ErasedRows;
use crate::error::{Error, Result};
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
    routes![confirm, act]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Erase,
    Block,
}

impl Action {
    fn of(form: &Form) -> Result<Self> {
        match form.get("action") {
            Some("erase") => Ok(Self::Erase),
            Some("block") => Ok(Self::Block),
            _ => Err(Error::InvalidRequest),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Erase => "erase",
            Self::Block => "block",
        }
    }

    fn title(self, people: usize) -> Message {
        let title = match (self, people) {
            (Self::Erase, 1) => tr("Erase one person"),
            (Self::Erase, _) => tr("Erase {{ many }} people"),
            (Self::Block, 1) => tr("Block one person"),
            (Self::Block, _) => tr("Block {{ many }} people"),
        };
        title.with("many", people)
    }
}

const NOTHING: ErasedRows = ErasedRows { receipts: 0, contacts: 0, days_shown: 0 };

fn selected(form: &Form) -> Vec<String> {
    let mut hems = form.names_after(BOX);
    hems.truncate(MOST_COUNTED);
    hems
}

#[post("/console/sites/<pixel_id>/contacts/selected", data = "<form>")]
async fn confirm(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    confirmation(&member, 200, &pixel, &form, None).await
}

/// Lists the selected people who are still stored. If there are none, shows the list of all people with an error.
async fn confirmation(
    member: &Member<'_>,
    status: u16,
    pixel: &PixelView,
    form: &Form,
    wrong: Option<Message>,
) -> Result<Reply, Refusal> {
    let action = Action::of(form)?;
    let pixel_id = pixel.pixel_id.clone().into();
    let hems = selected(form).iter().map(|hem| hem.as_str().into()).collect();
    let request = SelectedPeople { pixel_id, hems };
    let people = member.ask::<CountPeople>(request).await?;
    if people.is_empty() {
        let wrong = Some(tr("Select at least one person."));
        return list_screen(member, pixel, &Filter::of_form(form), None, wrong).await;
    }
    let mut sum = NOTHING;
    for person in &people {
        sum += person.rows.clone();
    }
    let rows = people.iter().map(line).collect::<Result<Vec<_>>>()?;
    let content = context! {
        action: action.word(),
        filter: Filter::of_form(form),
        rows,
        many: people.len(),
        stored: of_visitor(&sum),
        error: wrong,
    };
    let screen = screen(pixel, "console/selected_contacts.html", action.title(people.len()));
    Ok(member.screen_with_status(status, screen, content))
}

fn line(person: &CountedPerson) -> Result<Value> {
    let words = row(&person_of(&person.contact)?);
    Ok(json!({
        "hem": words["hem"],
        "title": words["title"],
        "email": words["email"],
        "stored": of_visitor(&person.rows),
    }))
}

#[post("/console/sites/<pixel_id>/contacts/selected/confirm", data = "<form>")]
async fn act(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let (action, hems) = (Action::of(&form)?, selected(&form));
    if hems.is_empty() || !form.names_host(pixel.domain.as_str()) {
        let wrong = tr("Type {{ host }} to confirm.").with("host", &pixel.domain);
        return confirmation(&member, 400, &pixel, &form, Some(wrong)).await;
    }
    let (mut people, mut sum) = (0, NOTHING);
    for hem in &hems {
        let done = match action {
            Action::Erase => erase(&member, &pixel_id, hem).await,
            Action::Block => block_person(&member, hem).await.map(|()| NOTHING),
        };
        match done {
            Ok(rows) => {
                // Another tab may have erased the person since the page of confirmation was shown.
                people += i32::from(action == Action::Block || rows.contacts > 0);
                sum += rows;
            }
            // The remaining people are listed for another confirmation.
            Err(error) => {
                let wrong = Some(sentence(&error));
                return confirmation(&member, error.status(), &pixel, &form, wrong).await;
            }
        }
    }
    let list = format!("/console/sites/{pixel_id}/contacts");
    let ErasedRows { receipts, contacts, days_shown } = sum;
    Ok(Reply::to(match action {
        Action::Erase => format!(
            "{list}?done=erased&people={people}&receipts={receipts}&contacts={contacts}&days={days_shown}"
        ),
        Action::Block => format!("{list}?done=suppressed&people={people}"),
    }))
}

async fn erase(member: &Member<'_>, pixel_id: &PixelParam, hem: &str) -> Result<ErasedRows> {
    let person = OfContact { pixel_id: pixel_id.clone(), hem: hem.into() };
    Ok(member.ask::<EraseContact>(person).await?.rows)
}
