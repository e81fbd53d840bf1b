use rocket::{Route, post, routes};

use super::{code_address, next_of};
use crate::accounts::sign_in::proof::Proof;
use crate::accounts::sign_in::start::{SignInRequest, StartSignIn};
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;

pub fn routes() -> Vec<Route> {
    routes![sign_in_again]
}

pub fn is_fresh(member: &Member<'_>) -> bool {
    member.member.is_fresh(member.app.infra.clock.now())
}

/// Mails digits to the member's own address, or requests the key again.
#[post("/console/sign-in/again", data = "<form>")]
async fn sign_in_again(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let next = next_of(form.get("next"));
    let infra = &member.app.infra;
    if Proof::of(infra) == Proof::Key {
        return Ok(Reply::to(format!("{}&again", super::sign_in_address(next))));
    }
    let email = member.member.address.clone();
    let known_browser = cookies::known_browser(infra, member.jar);
    let former = cookies::session(infra, member.jar);
    let request = SignInRequest { email, known_browser, former };
    let started = member.ask::<StartSignIn>(request).await?;
    cookies::keep_sign_in(infra, member.jar, &started);
    Ok(Reply::to(code_address(next)))
}
