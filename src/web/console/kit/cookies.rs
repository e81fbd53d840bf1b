//! The console's cookies: the session, the sign-in that precedes it, and the mark of a known browser.
//! Scripts cannot read them, forms of other sites do not send them, and with TLS only this host can set them
//! (`__Host-`).

use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::time::Duration;

use crate::accounts::sessions::NewSession;
use crate::accounts::sign_in::known_browser::{KNOWN_LIFE, KnownBrowsers};
use crate::accounts::sign_in::start::StartedSignIn;
use crate::http::html::reader;
use crate::infra::Infra;
use crate::infra::templates::Language;
use crate::types::mailbox::Mailbox;

const SESSION: &str = "assent-session";
const SIGN_IN: &str = "assent-sign-in";
const KNOWN_BROWSER: &str = "assent-browser";

const LANGUAGE_KEPT: Duration = Duration::days(365);

fn is_secure(infra: &Infra) -> bool {
    infra.base_url().starts_with("https://")
}

fn name_of(infra: &Infra, name: &str) -> String {
    if is_secure(infra) { format!("__Host-{name}") } else { name.to_owned() }
}

fn cookie(infra: &Infra, name: &str, value: &str) -> Cookie<'static> {
    Cookie::build((name_of(infra, name), value.to_owned()))
        .path("/")
        .http_only(true)
        .secure(is_secure(infra))
        .same_site(SameSite::Lax)
        .build()
}

fn read(infra: &Infra, jar: &CookieJar<'_>, name: &str) -> Option<String> {
    jar.get(&name_of(infra, name)).map(|cookie| cookie.value().to_owned())
}

fn forget(infra: &Infra, jar: &CookieJar<'_>, name: &str) {
    jar.remove(cookie(infra, name, ""));
}

pub fn session(infra: &Infra, jar: &CookieJar<'_>) -> Option<String> {
    read(infra, jar, SESSION)
}

pub fn keep_session(infra: &Infra, jar: &CookieJar<'_>, session: &NewSession) {
    replace_secret(infra, jar, session);
    forget(infra, jar, SIGN_IN);
}

/// Stores the new secret of a session. A pending sign-in in another tab can still be completed.
pub fn replace_secret(infra: &Infra, jar: &CookieJar<'_>, session: &NewSession) {
    let mut cookie = cookie(infra, SESSION, session.expose());
    let life = session.expires_at - infra.clock.now();
    cookie.set_max_age(Duration::seconds(life.num_seconds()));
    jar.add(cookie);
}

pub fn forget_session(infra: &Infra, jar: &CookieJar<'_>) {
    forget(infra, jar, SESSION);
}

pub fn sign_in(infra: &Infra, jar: &CookieJar<'_>) -> Option<String> {
    read(infra, jar, SIGN_IN)
}

pub fn forget_sign_in(infra: &Infra, jar: &CookieJar<'_>) {
    forget(infra, jar, SIGN_IN);
}

pub fn keep_sign_in(infra: &Infra, jar: &CookieJar<'_>, started: &StartedSignIn) {
    jar.add(cookie(infra, SIGN_IN, started.expose()));
}

pub fn known_browser(infra: &Infra, jar: &CookieJar<'_>) -> Option<String> {
    read(infra, jar, KNOWN_BROWSER)
}

/// Marks the browser as known for the mailbox. Signing out keeps the mark, so that the owner can
/// sign in again even when strangers have used up the mailbox's limits.
pub fn keep_known_browser(infra: &Infra, jar: &CookieJar<'_>, mailbox: &Mailbox) {
    let known = KnownBrowsers::new(&infra.config.receipt_secrets, infra.clock.now());
    let before = known_browser(infra, jar);
    let Some(value) = known.remember(before.as_deref(), mailbox) else { return };
    let mut cookie = cookie(infra, KNOWN_BROWSER, &value);
    cookie.set_max_age(Duration::seconds(KNOWN_LIFE.num_seconds()));
    jar.add(cookie);
}

/// Keeps the language of pages before the sign-in, and of those for everybody.
pub fn keep_language(infra: &Infra, jar: &CookieJar<'_>, language: &Language) {
    let mut cookie = language_cookie(infra, language.tag);
    cookie.set_max_age(LANGUAGE_KEPT);
    jar.add(cookie);
}

pub fn forget_language(infra: &Infra, jar: &CookieJar<'_>) {
    jar.remove(language_cookie(infra, ""));
}

fn language_cookie(infra: &Infra, tag: &str) -> Cookie<'static> {
    let mut cookie = cookie(infra, "", tag);
    cookie.set_name(reader::COOKIE);
    cookie
}
