use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::imports;
use crate::accounts::capability::NoInput;
use crate::accounts::scope::Scope;
use crate::contacts::suppressions::entry::{Suppression, SuppressionSource};
use crate::contacts::suppressions::list::{ListSuppressions, PageRequest};
use crate::contacts::suppressions::overview::{ListImports, ShowPerson};
use crate::contacts::suppressions::suppress::{OfPerson, UnsuppressPerson};
use crate::error::{Error, FieldError, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::blocking::block_person;
use crate::web::console::kit::file_form::EMPTY_FILE;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![suppressed, person, suppress, unsuppress]
}

const SUPPRESSED: Screen<'static> = Screen {
    template: "console/suppressed.html",
    title: tr("Suppression list"),
    location: NavLocation::AccountPart("suppressed"),
    calls: &[
        "GET /v1/suppressions",
        "PUT /v1/suppressions/{hem}",
        "DELETE /v1/suppressions/{hem}",
        "POST /v1/suppressions/import",
    ],
};
const ADDRESS: &str = "/console/account/suppressed";
const PAGE: &str = "50";
/// The confirmation that is typed before people are erased everywhere.
pub const WORD: &str = "NEVER";

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "added" => Some(tr("The person is erased and suppressed.")),
        "removed" => Some(tr(
            "The suppression is removed. The person can be stored again from the next visit.",
        )),
        _ => None,
    }
}

#[get("/console/account/suppressed")]
async fn suppressed(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let notice = query.get("done").and_then(notice_of);
    let after = query.present("after");
    Ok(suppressed_screen(&member, 200, after, notice, None).await?)
}

/// The list with its forms; `wrong` is an error in the file or the confirmation.
pub async fn suppressed_screen(
    member: &Member<'_>,
    status: u16,
    after: Option<&str>,
    notice: Option<Message>,
    wrong: Option<&Error>,
) -> Result<Reply> {
    let request = PageRequest { after: after.map(str::to_owned), limit: Some(PAGE.to_owned()) };
    let page = member.ask::<ListSuppressions>(request).await?;
    let imports = member.ask::<ListImports>(NoInput {}).await?;
    let content = context! {
        notice,
        rows: page.suppressions.iter().map(row).collect::<Vec<_>>(),
        is_first: after.is_none(),
        next: page.next_after,
        imports: imports.iter().map(imports::row).collect::<Vec<_>>(),
        may_change: member.member.role == Scope::Full,
        word: WORD,
        field: wrong.map(wrong_field),
        error: wrong.map(explained),
    };
    Ok(member.screen_with_status(status, SUPPRESSED, content))
}

fn wrong_field(error: &Error) -> &'static str {
    let is_about_the_word = |field: &FieldError| field.loc.last().is_some_and(|it| it == "word");
    match error {
        Error::Validation(fields) if fields.iter().any(is_about_the_word) => "word",
        _ => "file",
    }
}

/// The message for an error. Errors in the form have their own texts.
fn explained(error: &Error) -> Message {
    match error {
        Error::Validation(_) if wrong_field(error) == "word" => {
            tr("Type “{{ word }}” to confirm.").with("word", WORD)
        }
        Error::Validation(fields) if fields.iter().any(|field| field.msg == EMPTY_FILE) => {
            tr("Choose a file that has something in it.")
        }
        error => sentence(error),
    }
}

fn row(suppression: &Suppression) -> Value {
    json!({
        "hem": suppression.hem,
        "how": match suppression.source {
            SuppressionSource::Owner => tr("named here or by a program"),
            SuppressionSource::Import => tr("on a list"),
        },
        "since": Message::DayOf(suppression.created_at.0),
    })
}

#[get("/console/account/suppressed/person")]
async fn person(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let hem = query.present("hem").unwrap_or_default().to_ascii_lowercase();
    Ok(person_screen(&member, 200, &hem, None).await?)
}

async fn person_screen(
    member: &Member<'_>,
    status: u16,
    hem: &str,
    wrong: Option<Message>,
) -> Result<Reply> {
    let screen =
        Screen { template: "console/suppressed_person.html", title: tr("A person"), ..SUPPRESSED };
    let person = match member.ask::<ShowPerson>(OfPerson { hem: hem.into() }).await {
        Ok(person) => person,
        Err(error @ Error::HemMalformed) => {
            let content = context! { problem: sentence(&error) };
            return Ok(member.screen_with_status(error.status(), screen, content));
        }
        Err(error) => return Err(error),
    };
    let content = context! {
        hem: person.hem,
        row: person.suppression.as_ref().map(row),
        hosts: person.hosts,
        may_change: member.member.role == Scope::Full,
        word: WORD,
        error: wrong,
    };
    Ok(member.screen_with_status(status, screen, content))
}

#[post("/console/account/suppressed/<hem>/add", data = "<form>")]
async fn suppress(member: Member<'_>, hem: &str, form: Form) -> Result<Reply, Refusal> {
    let found = member.ask::<ShowPerson>(OfPerson { hem: hem.into() }).await;
    // A suppression that erases nothing can be undone, so it needs no confirmation.
    let erases = found.is_ok_and(|person| !person.hosts.is_empty());
    if erases && form.text("word").to_uppercase() != WORD {
        let wrong = tr("Type {{ word }} to confirm.").with("word", WORD);
        return Ok(person_screen(&member, 400, hem, Some(wrong)).await?);
    }
    block_person(&member, hem).await?;
    Ok(Reply::to(format!("{ADDRESS}?done=added")))
}

#[post("/console/account/suppressed/<hem>/remove", data = "<_form>")]
async fn unsuppress(member: Member<'_>, hem: &str, _form: Form) -> Result<Reply, Refusal> {
    member.ask::<UnsuppressPerson>(OfPerson { hem: hem.into() }).await?;
    Ok(Reply::to(format!("{ADDRESS}?done=removed")))
}
