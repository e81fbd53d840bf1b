use rocket::http::ContentType;
use rocket::{Route, post, routes};

use super::{next_of, sign_in_page, signed_in};
use crate::accounts::capability::NoInput;
use crate::accounts::passkeys::sign_in::{
    Assertion, PasskeySignIn, SignInWithPasskey, StartPasskeySignIn,
};
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::browser::Browser;
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::OpenForm;
use crate::web::console::kit::member::Visitor;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![options, sign_in]
}

/// The message for every passkey that is not accepted, whatever the reason.
const NOT_ACCEPTED: Message =
    tr("The passkey was not accepted. Try again, or sign in with a code.");

#[post("/console/sign-in/passkey/options", data = "<_form>")]
async fn options(visitor: Visitor<'_>, _form: OpenForm) -> Result<(ContentType, String), Refusal> {
    let options = visitor.ask::<StartPasskeySignIn>(NoInput {}).await?;
    Ok((ContentType::JSON, options.to_string()))
}

#[post("/console/sign-in/passkey", data = "<form>")]
async fn sign_in(visitor: Visitor<'_>, browser: Browser, form: OpenForm) -> Result<Reply, Refusal> {
    let next = next_of(form.get("next"));
    let assertion = Assertion {
        credential_id: form.text("credential_id"),
        client_data: form.text("client_data"),
        authenticator_data: form.text("authenticator_data"),
        signature: form.text("signature"),
        user_handle: form.text("user_handle"),
    };
    let former = cookies::session(visitor.app.infra.base_url(), visitor.jar);
    let input = PasskeySignIn { assertion, browser: browser.0, former };
    match visitor.ask::<SignInWithPasskey>(input).await {
        Ok(Some(finished)) => Ok(signed_in(&visitor, &finished, next).await?),
        Ok(None) => Ok(sign_in_page(&visitor, 403, next, "", None, Some(NOT_ACCEPTED))),
        Err(error) if error.status() < 500 => {
            let explained = Some(sentence(&error));
            Ok(sign_in_page(&visitor, error.status(), next, "", None, explained))
        }
        Err(error) => Err(error.into()),
    }
}
