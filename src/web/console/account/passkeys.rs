use rocket::http::ContentType;
use rocket::{Route, post, routes};
use serde_json::{Value, json};
use uuid::Uuid;

use super::account_screen;
use crate::accounts::passkeys::adding::{self, NewPasskey};
use crate::accounts::passkeys::{self, MOST_PASSKEYS, PasskeyView};
use crate::error::{Error, Result};
use crate::web::console::kit::browser::Browser;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::words::day;

pub fn routes() -> Vec<Route> {
    routes![options, add, remove]
}

const NOT_ADDED: &str = "The passkey was not added. Sign in again if your last sign-in was more than \
    15 minutes ago, and try once more.";

/// The section of the account's screen; `None` where there are no passkeys.
pub async fn section(member: &Member<'_>) -> Result<Option<Value>> {
    let infra = &member.app.infra;
    if !passkeys::are_offered(infra) {
        return Ok(None);
    }
    let list = passkeys::list(infra, &member.member).await?;
    let row = |passkey: &PasskeyView| {
        json!({
            "id": passkey.passkey_id,
            "name": passkey.name,
            "created": day(passkey.created_at.0),
            "used": passkey.last_used_at.map_or_else(|| "never".to_owned(), |time| day(time.0)),
        })
    };
    let rows = list.iter().map(row).collect::<Vec<_>>();
    Ok(Some(json!({ "is_full": rows.len() >= MOST_PASSKEYS, "rows": rows })))
}

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
        Ok(false) | Err(Error::SignInRequired) => {
            Ok(account_screen(&member, 403, Some(NOT_ADDED), None).await?)
        }
        Err(error) => Err(error.into()),
    }
}

#[post("/console/account/passkeys/<passkey_id>/remove", data = "<_form>")]
async fn remove(member: Member<'_>, passkey_id: &str, _form: Form) -> Result<Reply, Refusal> {
    let passkey_id = passkey_id.parse::<Uuid>().map_err(|_| Error::NotFound)?;
    match passkeys::remove(&member.app.infra, &member.member, passkey_id).await? {
        true => Ok(Reply::to("/console/account?done=passkey-removed")),
        false => Err(Error::NotFound.into()),
    }
}
