//! The console's cookies: the session, the sign-in that precedes it, and the mark of a known browser.
//! Scripts cannot read them, browsers do not send them with forms of other sites, and with TLS only this host can
//! set them (`__Host-`).

use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::time::Duration;

use crate::accounts::sessions::NewSession;
use crate::accounts::sign_in::attempt::StartedSignIn;
use crate::accounts::sign_in::known_browser::{KNOWN_LIFE, KnownBrowsers};
use crate::clock::Clock;
use crate::http::html::reader;
use crate::infra::Infra;
use crate::infra::templates::Language;
use crate::types::mailbox::Mailbox;

const SESSION: &str = "assent-session";
const SIGN_IN: &str = "assent-sign-in";
const KNOWN_BROWSER: &str = "assent-browser";

const LANGUAGE_KEPT: Duration = Duration::days(365);

fn is_secure(base_url: &str) -> bool {
    base_url.starts_with("https://")
}

fn name_of(base_url: &str, name: &str) -> String {
    if is_secure(base_url) { format!("__Host-{name}") } else { name.to_owned() }
}

fn cookie(base_url: &str, name: &str, value: &str) -> Cookie<'static> {
    Cookie::build((name_of(base_url, name), value.to_owned()))
        .path("/")
        .http_only(true)
        .secure(is_secure(base_url))
        .same_site(SameSite::Lax)
        .build()
}

fn read(base_url: &str, jar: &CookieJar<'_>, name: &str) -> Option<String> {
    jar.get(&name_of(base_url, name)).map(|cookie| cookie.value().to_owned())
}

fn forget(base_url: &str, jar: &CookieJar<'_>, name: &str) {
    jar.remove(cookie(base_url, name, ""));
}

pub fn session(base_url: &str, jar: &CookieJar<'_>) -> Option<String> {
    read(base_url, jar, SESSION)
}

pub fn keep_session(clock: &Clock, base_url: &str, jar: &CookieJar<'_>, session: &NewSession) {
    replace_secret(clock, base_url, jar, session);
    forget(base_url, jar, SIGN_IN);
}

/// Stores the new secret of a session. A pending sign-in in another tab can still be completed.
pub fn replace_secret(clock: &Clock, base_url: &str, jar: &CookieJar<'_>, session: &NewSession) {
    let mut cookie = cookie(base_url, SESSION, session.expose());
    let life = session.expires_at - clock.now();
    cookie.set_max_age(Duration::seconds(life.num_seconds()));
    jar.add(cookie);
}

pub fn forget_session(base_url: &str, jar: &CookieJar<'_>) {
    forget(base_url, jar, SESSION);
}

pub fn sign_in(base_url: &str, jar: &CookieJar<'_>) -> Option<String> {
    read(base_url, jar, SIGN_IN)
}

pub fn forget_sign_in(base_url: &str, jar: &CookieJar<'_>) {
    forget(base_url, jar, SIGN_IN);
}

pub fn keep_sign_in(base_url: &str, jar: &CookieJar<'_>, started: &StartedSignIn) {
    jar.add(cookie(base_url, SIGN_IN, started.expose()));
}

pub fn known_browser(base_url: &str, jar: &CookieJar<'_>) -> Option<String> {
    read(base_url, jar, KNOWN_BROWSER)
}

/// Marks the browser as known for the mailbox. Signing out keeps the mark, so that the owner can
/// sign in again even when strangers have used up the mailbox's limits.
pub fn keep_known_browser(infra: &Infra, jar: &CookieJar<'_>, mailbox: &Mailbox) {
    let known = KnownBrowsers::new(&infra.config.receipt_secrets, infra.clock.now());
    let before = known_browser(infra.base_url(), jar);
    let Some(value) = known.remember(before.as_deref(), mailbox) else { return };
    let mut cookie = cookie(infra.base_url(), KNOWN_BROWSER, &value);
    cookie.set_max_age(Duration::seconds(KNOWN_LIFE.num_seconds()));
    jar.add(cookie);
}

/// Stores the language for public pages and for pages before the sign-in.
pub fn keep_language(base_url: &str, jar: &CookieJar<'_>, language: &Language) {
    let mut cookie = language_cookie(base_url, language.tag);
    cookie.set_max_age(LANGUAGE_KEPT);
    jar.add(cookie);
}

pub fn forget_language(base_url: &str, jar: &CookieJar<'_>) {
    jar.remove(language_cookie(base_url, ""));
}

fn language_cookie(base_url: &str, tag: &str) -> Cookie<'static> {
    let mut cookie = cookie(base_url, "", tag);
    cookie.set_name(reader::COOKIE);
    cookie
}
