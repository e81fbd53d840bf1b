//! Signing in with an address and an emailed code or with a passkey, or with an API key where no mail
//! can be sent.

pub mod fresh;
pub mod passkey;
pub mod sign_up;
pub mod which_account;

use rocket::http::Method;
use rocket::{Request, Route, catch, get, post, routes};
use rocket_dyn_templates::context;

use super::kit::browser::Browser;
use super::kit::cookies;
use super::kit::form::{Form, OpenForm};
use super::kit::member::{Member, Visitor};
use super::kit::refusal::Refusal;
use super::kit::reply::Reply;
use super::kit::screen::{NavLocation, Screen};
use super::kit::words::sentence;
use crate::accounts::capability::NoInput;
use crate::accounts::keys::ListApiKeys;
use crate::accounts::scope::Scope;
use crate::accounts::sessions::Finished;
use crate::accounts::sessions::{self, NewSession};
use crate::accounts::sign_in::finish::{FinishSignIn, SignInProof, cancel_sign_in};
use crate::accounts::sign_in::pending::find_address;
use crate::accounts::sign_in::proof::{Proof, takes_signups};
use crate::accounts::sign_in::start::{SignInRequest, StartSignIn};
use crate::accounts::sign_in::with_key::{OfBrowser, SignInWithKey};
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::Infra;
use crate::infra::templates::{Message, tr};
use crate::types::email::Email;
use crate::types::mailbox::Mailbox;

pub fn routes() -> Vec<Route> {
    routes![sign_in, send_code, type_code, check_code, with_key, no_way_back, sign_out]
}

const HOME: &str = "/console";
/// The page on which a member connects an app; its query string is the app's request.
const AUTHORIZE: &str = "/oauth/authorize?";
const SIGN_UP: &str = "/console/sign-up";
const SIGN_OUT: &str = "/console/sign-out";

/// Redirects to the sign-in, which returns to the requested page after a `GET`. A form is not sent again.
#[catch(401)]
pub fn sign_in_first(request: &Request<'_>) -> Reply {
    let address = request.uri().to_string();
    match request.method() {
        Method::Get if address != HOME => Reply::to(sign_in_address(&address)),
        _ => Reply::to("/console/sign-in"),
    }
}

const TOO_WEAK: Message = tr(
    "This key does not have the role Admin, which signing in needs. An Admin key was shown when the account was opened, and with one you can create another.",
);

pub fn sign_in_address(next: &str) -> String {
    with_next("/console/sign-in", next)
}

fn with_next(path: &str, next: &str) -> String {
    let query =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    format!("{path}?{query}")
}

/// The address after the sign-in: the given one if it is in the console or connects an app, otherwise `HOME`.
pub fn next_of(text: Option<&str>) -> &str {
    let is_ours = |path: &&str| {
        (*path == HOME || path.starts_with("/console/") || path.starts_with(AUTHORIZE))
            && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    text.filter(is_ours).unwrap_or(HOME)
}

#[get("/console/sign-in")]
async fn sign_in(visitor: Visitor<'_>, query: Query) -> Result<Reply, Refusal> {
    let next = next_of(query.get("next"));
    if query.get("again").is_none() && visitor.is_signed_in().await? {
        return Ok(Reply::to(next));
    }
    let email = typed_address(&visitor).await?.unwrap_or_default();
    Ok(sign_in_page(&visitor, 200, next, &email, None, None))
}

async fn typed_address(visitor: &Visitor<'_>) -> Result<Option<String>> {
    let infra = &visitor.app.infra;
    match cookies::sign_in(infra.base_url(), visitor.jar) {
        Some(secret) => find_address(&infra.pool, &infra.clock, &secret).await,
        None => Ok(None),
    }
}

fn sign_in_page(
    visitor: &Visitor<'_>,
    status: u16,
    next: &str,
    email: &str,
    error: Option<Message>,
    passkey_error: Option<Message>,
) -> Reply {
    let infra = &visitor.app.infra;
    let content = context! {
        next, email,
        by_mail: Proof::of(&infra.outbox) == Proof::Mail,
        takes_signups: takes_signups(&infra.outbox, &infra.base_host()),
        sign_up: if next == HOME { SIGN_UP.to_owned() } else { with_next(SIGN_UP, next) },
        error,
        passkey_error,
    };
    visitor.page(status, "console/sign_in.html", tr("Sign in"), content)
}

#[post("/console/sign-in", data = "<form>")]
async fn send_code(visitor: Visitor<'_>, form: OpenForm) -> Result<Reply, Refusal> {
    let (email, next) = (form.text("email"), next_of(form.get("next")));
    let infra = &visitor.app.infra;
    let known_browser = cookies::known_browser(infra.base_url(), visitor.jar);
    let former = cookies::session(infra.base_url(), visitor.jar);
    let request = SignInRequest { email: email.clone(), known_browser, former };
    match visitor.ask::<StartSignIn>(request).await {
        Ok(started) => {
            cookies::keep_sign_in(visitor.app.infra.base_url(), visitor.jar, &started);
            Ok(Reply::to(code_address(next)))
        }
        Err(error) if error.status() < 500 => {
            let explained = Some(sentence(&error));
            Ok(sign_in_page(&visitor, error.status(), next, &email, explained, None))
        }
        Err(error) => Err(error.into()),
    }
}

pub fn code_address(next: &str) -> String {
    sign_in_address(next).replacen("/sign-in", "/sign-in/code", 1)
}

#[get("/console/sign-in/code")]
async fn type_code(visitor: Visitor<'_>, query: Query) -> Result<Reply, Refusal> {
    Ok(code_page(&visitor, 200, next_of(query.get("next")), None).await?)
}

async fn code_page(
    visitor: &Visitor<'_>,
    status: u16,
    next: &str,
    wrong: Option<&Error>,
) -> Result<Reply> {
    let address = typed_address(visitor).await?;
    let content = context! { next, address, error: wrong.map(sentence) };
    Ok(visitor.page(status, "console/code.html", tr("6-digit code"), content))
}

#[post("/console/sign-in/code", data = "<form>")]
async fn check_code(
    visitor: Visitor<'_>,
    browser: Browser,
    form: OpenForm,
) -> Result<Reply, Refusal> {
    let (infra, next) = (&visitor.app.infra, next_of(form.get("next")));
    let secret = cookies::sign_in(infra.base_url(), visitor.jar);
    let former = cookies::session(infra.base_url(), visitor.jar);
    let proof = SignInProof { secret, code: form.text("code"), browser: browser.0, former };
    match visitor.ask::<FinishSignIn>(proof).await {
        Ok(finished) => Ok(signed_in(&visitor, &finished, next).await?),
        Err(error) if error.status() < 500 => {
            Ok(code_page(&visitor, error.status(), next, Some(&error)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn signed_in(visitor: &Visitor<'_>, finished: &Finished, next: &str) -> Result<Reply> {
    let (infra, Finished { session, is_renewal }) = (&visitor.app.infra, finished);
    cookies::keep_session(&infra.clock, infra.base_url(), visitor.jar, session);
    keep_known(infra, visitor, session).await?;
    // A repeated sign-in stays in the account in which it began.
    let asks = !is_renewal && next == HOME && has_choice(infra, session).await?;
    Ok(Reply::to(if asks { "/console/accounts" } else { next }))
}

async fn keep_known(infra: &Infra, visitor: &Visitor<'_>, session: &NewSession) -> Result<()> {
    if let Some(member) = sessions::find(&infra.pool, &infra.clock, session.expose()).await? {
        let mailbox = Mailbox::of(&Email::parse(&member.address)?);
        cookies::keep_known_browser(infra, visitor.jar, &mailbox);
    }
    Ok(())
}

async fn has_choice(infra: &Infra, session: &NewSession) -> Result<bool> {
    match sessions::find(&infra.pool, &infra.clock, session.expose()).await? {
        Some(member) => {
            Ok(sessions::memberships(&infra.pool, &infra.outbox, &member).await?.len() > 1)
        }
        None => Ok(false),
    }
}

#[post("/console/sign-in/key", data = "<form>")]
async fn with_key(
    visitor: Visitor<'_>,
    browser: Browser,
    form: OpenForm,
) -> Result<Reply, Refusal> {
    let (infra, next) = (&visitor.app.infra, next_of(form.get("next")));
    let input =
        OfBrowser { browser: browser.0, former: cookies::session(infra.base_url(), visitor.jar) };
    match visitor.ask_with_key::<SignInWithKey>(form.text("api_key"), input).await {
        Ok(session) => {
            cookies::keep_session(&infra.clock, infra.base_url(), visitor.jar, &session);
            Ok(Reply::to(next))
        }
        Err(error) if error.status() < 500 => {
            let explained = match &error {
                Error::ScopeNotAllowed | Error::RestrictedToSites => TOO_WEAK,
                error => sentence(error),
            };
            Ok(sign_in_page(&visitor, error.status(), next, "", Some(explained), None))
        }
        Err(error) => Err(error.into()),
    }
}

#[get("/console/sign-out")]
fn no_way_back(member: Member<'_>) -> Reply {
    member.screen(NO_WAY_BACK, context! {})
}

#[post("/console/sign-out", data = "<form>")]
async fn sign_out(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let infra = &member.app.infra;
    if form.get("sure").is_none() && !can_come_back(&member).await? {
        return Ok(Reply::to(SIGN_OUT));
    }
    sessions::end(infra, &member.member, member.member.session_id).await?;
    cancel_sign_in(&infra.pool, cookies::sign_in(infra.base_url(), member.jar).as_deref()).await?;
    cookies::forget_session(infra.base_url(), member.jar);
    cookies::forget_sign_in(infra.base_url(), member.jar);
    Ok(Reply::to("/console/sign-in"))
}

const NO_WAY_BACK: Screen<'static> = Screen {
    template: "console/no_way_back.html",
    title: tr("You could not sign in again"),
    location: NavLocation::Sites,
    calls: &["POST /v1/api-keys"],
};

/// Whether the member can sign in again: by mail, or with a valid key that has full scope and all sites.
async fn can_come_back(member: &Member<'_>) -> Result<bool> {
    if Proof::of(&member.app.infra.outbox) == Proof::Mail {
        return Ok(true);
    }
    match member.ask::<ListApiKeys>(NoInput {}).await {
        Ok(list) => Ok(list
            .api_keys
            .iter()
            .any(|key| key.scope == Scope::Full && key.pixels.is_none() && !key.expired)),
        // A member without access to the keys could not issue one, so a warning would not help.
        Err(Error::ScopeNotAllowed | Error::RestrictedToSites) => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_console() {
        for path in [
            "/console",
            "/console/sites/new",
            "/console/sites/a_B-1/install",
            "/oauth/authorize?a=b",
        ] {
            assert_eq!(next_of(Some(path)), path);
        }
        for path in [
            "",
            "/",
            "/docs",
            "//evil.example",
            "/console.evil.example",
            "/oauth/authorize.evil.example",
            "/oauth/token?a=b",
            "/\\evil",
            "/console/\r\n",
        ] {
            assert_eq!(next_of(Some(path)), HOME, "{path:?}");
        }
    }
}
