//! What the account is called, and where it is written to.

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use super::browser::Browser;
use super::cookies;
use super::form::Form;
use super::member::Member;
use super::proof::{Step, code_of, is_about_the_code};
use super::refusal::Refusal;
use super::reply::Reply;
use super::screen::{Place, Screen};
use super::words::sentence;
use crate::accounts::capabilities::account::ChangeAccount;
use crate::accounts::code_purpose::CodePurpose;
use crate::accounts::profile::AccountChange;
use crate::accounts::scope::Scope;
use crate::accounts::sessions;
use crate::error::{Error, Result};

pub fn routes() -> Vec<Route> {
    routes![profile, rename, change_address]
}

const PROFILE: Screen<'static> = Screen {
    template: "console/profile.html",
    title: "Name and address",
    place: Place::Account,
    calls: &["PATCH /v1/account", "POST /v1/account/codes"],
};
const ACCOUNT: &str = "/console/account";

#[get("/console/account/profile")]
async fn profile(member: Member<'_>) -> Result<Reply, Refusal> {
    if member.member.role != Scope::Full {
        return Err(Error::ScopeNotAllowed.into());
    }
    let account = &member.member.account;
    Ok(profile_screen(&member, 200, &account.display_name, "", None))
}

/// The two forms, with what was typed and the field that is wrong.
fn profile_screen(
    member: &Member<'_>,
    status: u16,
    name: &str,
    email: &str,
    wrong: Option<(&str, &Error)>,
) -> Reply {
    let content = context! {
        name,
        email,
        now: &member.member.account.email,
        field: wrong.map_or("", |(field, _)| field),
        error: wrong.map(|(_, error)| sentence(error)),
    };
    member.screen_with_status(status, PROFILE, content)
}

#[post("/console/account/name", data = "<form>")]
async fn rename(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let name = form.text("display_name");
    let change = AccountChange { display_name: Some(name.clone()), email: None, code: None };
    let renamed = match name.is_empty() {
        true => Err(Error::DisplayNameRequired),
        false => member.ask::<ChangeAccount>(change).await,
    };
    match renamed {
        Ok(_) => Ok(Reply::to(format!("{ACCOUNT}?done=renamed"))),
        Err(error @ (Error::DisplayNameRequired | Error::Validation(_) | Error::Naming { .. })) => {
            Ok(profile_screen(&member, error.status(), &name, "", Some(("name", &error))))
        }
        Err(error) => Err(error.into()),
    }
}

fn step(email: &str) -> Step<'static> {
    Step {
        title: "Is this mailbox yours?",
        what: format!("From then on the account is written to, and signed in to, with {email}."),
        action: "/console/account/address".to_owned(),
        fields: vec![("email", email.to_owned())],
        button: "Change the address",
        is_grave: false,
        back: ACCOUNT,
        part: "",
        purpose: CodePurpose::ChangeEmail,
        mailbox: email.to_owned(),
        calls: PROFILE.calls,
    }
}

#[post("/console/account/address", data = "<form>")]
async fn change_address(
    member: Member<'_>,
    browser: Browser,
    form: Form,
) -> Result<Reply, Refusal> {
    let email = form.text("email");
    let changed = match code_of(&form) {
        None => step(&email).begin(&member).await,
        Some(code) => move_to(&member, &email, code, &browser.0).await,
    };
    match changed {
        Err(error) if is_about_the_code(&error) => {
            Ok(step(&email).page(&member, error.status(), Some(&error)))
        }
        Err(error) if is_about_the_address(&error) => {
            let name = &member.member.account.display_name;
            let wrong = Some(("email", &error));
            Ok(profile_screen(&member, error.status(), name, &email, wrong))
        }
        other => Ok(other?),
    }
}

fn is_about_the_address(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidEmail
            | Error::EmailRegistered
            | Error::ConfirmationMailFailed
            | Error::TooManyRequests { .. }
    )
}

/// Moves the account to the new address. Whoever was signed in with the old one is signed in with the
/// new one from then on: its code has just been given.
async fn move_to(member: &Member<'_>, email: &str, code: String, browser: &str) -> Result<Reply> {
    let change =
        AccountChange { display_name: None, email: Some(email.to_owned()), code: Some(code) };
    let changed = member.ask::<ChangeAccount>(change).await?;
    let (infra, former) = (&member.app.infra, &member.member);
    if former.address == former.account.email && former.address != changed.email {
        let session = sessions::reopen(infra, former, &changed.email, browser).await?;
        cookies::keep_session(infra, member.jar, &session);
    }
    Ok(Reply::to(format!("{ACCOUNT}?done=moved")))
}
