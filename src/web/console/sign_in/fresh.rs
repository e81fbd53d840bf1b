use rocket::{Route, post, routes};

use super::{code_address, next_of};
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::passkeys;
use crate::accounts::sign_in::proof::Proof;
use crate::accounts::sign_in::start::{SignInRequest, StartSignIn};
use crate::error::Result;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::proof::{Step, code_of, is_about_the_code};
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;

pub fn routes() -> Vec<Route> {
    routes![sign_in_again]
}

pub fn is_fresh(member: &Member<'_>) -> bool {
    member.member.is_fresh(member.app.infra.clock.now())
}

/// Whether the member can repeat the sign-in with a passkey instead of a code.
pub async fn has_passkey(member: &Member<'_>) -> Result<bool> {
    let infra = &member.app.infra;
    Ok(passkeys::are_offered(&infra.outbox)
        && !passkeys::list(&infra.pool, &member.member).await?.is_empty())
}

/// The field that marks a form whose code confirms the sign-in.
const CONFIRMS: &str = "confirms";

pub fn confirms(form: &Form) -> bool {
    form.get(CONFIRMS).is_some()
}

/// The confirmation before an action that requires a recent sign-in.
pub fn step(member: &Member<'_>, what: Message, action: &str) -> Step<'static> {
    Step {
        title: tr("Confirm it’s you"),
        what,
        action: action.to_owned(),
        fields: Vec::new(),
        button: tr("Continue"),
        is_grave: false,
        back: "/console/account",
        part: "",
        purpose: CodePurpose::Keys,
        mailbox: member.member.address.clone(),
        present: None,
        calls: &["POST /v1/account/codes"],
    }
}

/// Makes the sign-in recent with the code of a form, unless it is recent already. Without the code, returns the
/// page that asks for it and keeps the form's fields.
pub async fn confirm(
    member: &mut Member<'_>,
    form: &Form,
    mut step: Step<'static>,
) -> Result<Option<Reply>> {
    if is_fresh(member) {
        return Ok(None);
    }
    step.fields.push((CONFIRMS, "yes".to_owned()));
    let Some(code) = code_of(form).filter(|_| confirms(form)) else {
        return Ok(Some(step.begin(member).await?));
    };
    match member.confirm(&code).await {
        Ok(()) => Ok(None),
        Err(error) if is_about_the_code(&error) => {
            Ok(Some(step.page(member, error.status(), Some(&error))))
        }
        Err(error) => Err(error),
    }
}

/// Mails a code to the member's address or, without a mail server, asks for an API key again.
#[post("/console/sign-in/again", data = "<form>")]
async fn sign_in_again(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let next = next_of(form.get("next"));
    let infra = &member.app.infra;
    if Proof::of(&infra.outbox) == Proof::Key {
        return Ok(Reply::to(format!("{}&again", super::sign_in_address(next))));
    }
    let email = member.member.address.clone();
    let known_browser = cookies::known_browser(infra.base_url(), member.jar);
    let former = cookies::session(infra.base_url(), member.jar);
    let request = SignInRequest { email, known_browser, former };
    let started = member.ask::<StartSignIn>(request).await?;
    cookies::keep_sign_in(infra.base_url(), member.jar, &started);
    Ok(Reply::to(code_address(next)))
}
