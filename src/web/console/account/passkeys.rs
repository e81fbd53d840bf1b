use rocket::http::ContentType;
use rocket::{Route, post, routes};
use uuid::Uuid;

use super::account_screen;
use crate::accounts::passkeys::adding::{self, NewPasskey};
use crate::accounts::passkeys::removal;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::browser::Browser;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;

pub fn routes() -> Vec<Route> {
    routes![options, add, remove]
}

const NOT_ADDED: Message = tr(
    "The passkey was not added. Sign in again if your last sign-in was more than 15 minutes ago, and try once more.",
);

#[post("/console/account/passkeys/options", data = "<_form>")]
async fn options(member: Member<'_>, _form: Form) -> Result<(ContentType, String), Refusal> {
    let options = adding::begin(&member.app.infra, &member.member).await?;
    Ok((ContentType::JSON, options.to_string()))
}

#[post("/console/account/passkeys", data = "<form>")]
async fn add(member: Member<'_>, browser: Browser, form: Form) -> Result<Reply, Refusal> {
    let new = NewPasskey {
        name: form.get("passkey_name").map_or(browser.0, str::to_owned),
        client_data: form.text("client_data"),
        authenticator_data: form.text("authenticator_data"),
        public_key: form.text("public_key"),
    };
    match adding::finish(&member.app.infra, &member.member, &new).await {
        Ok(true) => Ok(Reply::to("/console/account?done=passkey-added")),
        Ok(false) => Ok(account_screen(&member, 422, Some(NOT_ADDED), None).await?),
        Err(Error::SignInRequired) => {
            Ok(account_screen(&member, 403, Some(NOT_ADDED), None).await?)
        }
        Err(error) => Err(error.into()),
    }
}

#[post("/console/account/passkeys/<passkey_id>/remove", data = "<_form>")]
async fn remove(member: Member<'_>, passkey_id: &str, _form: Form) -> Result<Reply, Refusal> {
    let passkey_id = passkey_id.parse::<Uuid>().map_err(|_| Error::NotFound)?;
    match removal::remove(&member.app.infra, &member.member, passkey_id).await? {
        true => Ok(Reply::to("/console/account?done=passkey-removed")),
        false => Err(Error::NotFound.into()),
    }
}
