use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::profile::{AccountChange, ChangeAccount, address_change};
use crate::accounts::scope::Scope;
use crate::accounts::sessions;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::types::email::Email;
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::proof::{
    PresentMailbox, Step, code_of, is_about_the_code, present_code_of,
};
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;
use crate::web::console::sign_in::fresh::{self, confirm, confirms, has_passkey, is_fresh};

pub fn routes() -> Vec<Route> {
    routes![profile, rename, change_address, keep_address]
}

const PROFILE: Screen<'static> = Screen {
    template: "console/profile.html",
    title: tr("Name and email"),
    location: NavLocation::Account,
    calls: &["PATCH /v1/account", "POST /v1/account/codes"],
};
const ACCOUNT: &str = "/console/account";

#[get("/console/account/profile")]
async fn profile(member: Member<'_>) -> Result<Reply, Refusal> {
    if member.member.role != Scope::Full {
        return Err(Error::ScopeNotAllowed.into());
    }
    member.member.sites.require_all()?;
    let name = member.member.account.display_name.clone();
    Ok(profile_screen(&member, 200, &name, "", None).await?)
}

async fn profile_screen(
    member: &Member<'_>,
    status: u16,
    name: &str,
    email: &str,
    wrong: Option<(&str, &Error)>,
) -> Result<Reply> {
    let (infra, account) = (&member.app.infra, &member.member.account);
    let pending = address_change::find(&infra.pool, &account.account_id).await?;
    let content = context! {
        name,
        email,
        now: &account.email,
        pending: pending.as_ref().map(|pending| &*pending.email),
        from: pending.as_ref().map(|pending| Message::Moment(pending.takes_effect_at.0)),
        is_fresh: is_fresh(member),
        has_passkey: has_passkey(member).await?,
        field: wrong.map_or("", |(field, _)| field),
        error: wrong.map(|(_, error)| sentence(error)),
    };
    Ok(member.screen_with_status(status, PROFILE, content))
}

#[post("/console/account/name", data = "<form>")]
async fn rename(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let name = form.text("display_name");
    let change = AccountChange { display_name: Some(name.clone()), ..AccountChange::default() };
    let renamed = match name.is_empty() {
        true => Err(Error::DisplayNameRequired),
        false => member.ask::<ChangeAccount>(change).await.map(|_| ()),
    };
    match renamed {
        Ok(()) => Ok(Reply::to(format!("{ACCOUNT}?done=renamed"))),
        Err(error @ (Error::DisplayNameRequired | Error::Validation(_) | Error::Naming { .. })) => {
            let wrong = Some(("name", &error));
            Ok(profile_screen(&member, error.status(), &name, "", wrong).await?)
        }
        Err(error) => Err(error.into()),
    }
}

fn step(member: &Member<'_>, email: &str) -> Step<'static> {
    let present = member.member.account.email.clone();
    Step {
        title: tr("Change email"),
        what: tr("The email of the account and of sign-in becomes {{ email }}.")
            .with("email", email),
        action: "/console/account/address".to_owned(),
        fields: vec![("email", email.to_owned())],
        button: tr("Change email"),
        is_grave: false,
        back: ACCOUNT,
        part: "",
        purpose: CodePurpose::ChangeEmail,
        mailbox: email.to_owned(),
        present: Some(PresentMailbox { address: present, days: address_change::DELAY.num_days() }),
        calls: PROFILE.calls,
    }
}

#[post("/console/account/address", data = "<form>")]
async fn change_address(mut member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let email = form.text("email");
    let changed = match code_of(&form).filter(|_| !confirms(&form)) {
        None => begin(&mut member, &form, &email).await,
        Some(code) => move_to(&member, &email, code, present_code_of(&form)).await,
    };
    match changed {
        Err(error) if is_about_the_code(&error) => {
            Ok(step(&member, &email).page(&member, error.status(), Some(&error)))
        }
        Err(error) if is_about_the_address(&error) => {
            // 401 would redirect to the sign-in page; a form must stay on its own page.
            let status = if error.status() == 401 { 403 } else { error.status() };
            let name = member.member.account.display_name.clone();
            let wrong = Some(("email", &error));
            Ok(profile_screen(&member, status, &name, &email, wrong).await?)
        }
        other => Ok(other?),
    }
}

/// Validates the address before anything is mailed.
async fn begin(member: &mut Member<'_>, form: &Form, email: &str) -> Result<Reply> {
    let address = Email::required(Some(email))?;
    if address.as_str() == member.member.account.email {
        return Err(Error::EmailRegistered);
    }
    let what = tr(
        "To change the email, confirm that it is you: your last sign-in was more than 15 minutes ago.",
    );
    let mut recent = fresh::step(member, what, "/console/account/address");
    recent.fields.push(("email", address.as_str().to_owned()));
    if let Some(page) = confirm(member, form, recent).await? {
        return Ok(page);
    }
    step(member, address.as_str()).begin(member).await
}

fn is_about_the_address(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidEmail
            | Error::EmailRegistered
            | Error::ConfirmationMailFailed
            | Error::SignInRequired
            | Error::TooManyRequests { .. }
    )
}

/// Changes the account's address, at once or as a pending change. A session of the old address
/// continues under the new one, with another secret.
async fn move_to(
    member: &Member<'_>,
    email: &str,
    code: String,
    current_code: Option<String>,
) -> Result<Reply> {
    let (email, code) = (Some(email.to_owned()), Some(code));
    let change = AccountChange { display_name: None, email, code, current_code };
    let changed = member.ask::<ChangeAccount>(change).await?;
    if changed.is_pending {
        return Ok(Reply::to(format!("{ACCOUNT}?done=waiting")));
    }
    if let Some(session) =
        sessions::rotate(&member.app.infra.pool, &member.app.infra.clock, &member.member).await?
    {
        cookies::replace_secret(
            &member.app.infra.clock,
            member.app.infra.base_url(),
            member.jar,
            &session,
        );
    }
    Ok(Reply::to(format!("{ACCOUNT}?done=moved")))
}

#[post("/console/account/address/keep", data = "<_form>")]
async fn keep_address(member: Member<'_>, _form: Form) -> Result<Reply, Refusal> {
    let email = Some(member.member.account.email.clone());
    let change = AccountChange { email, ..AccountChange::default() };
    member.ask::<ChangeAccount>(change).await?;
    Ok(Reply::to(format!("{ACCOUNT}?done=kept")))
}
