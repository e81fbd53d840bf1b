//! The language of a reader of our own pages: the language in `?lang=`, else the stored preference of a
//! signed-in person, else the choice in a cookie, else the best of `Accept-Language`, else English. Times are
//! in the time zone that the person has stored, else in UTC.

use chrono_tz::Tz;
use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use crate::accounts::preferences::Preferences;
use crate::http::header_value::list_of;
use crate::http::query::Query;
use crate::infra::templates::language::{self, Language};
use crate::types::weighted::{Closeness, fit_of_media_type};

pub const COOKIE: &str = "assent_language";
pub const PARAMETER: &str = "lang";
const MARKDOWN: &str = "text/markdown";

#[derive(Clone, Copy)]
pub struct Reader {
    pub language: &'static Language,
    pub time_zone: Tz,
}

/// The stored preferences of the signed-in person of a request.
struct Stored(Preferences);

impl Reader {
    pub fn of(request: &Request<'_>) -> Self {
        *request.local_cache(|| {
            let Stored(preferences) = request.local_cache(|| Stored(Preferences::default()));
            let language = language_of(request, preferences.language);
            Self { language, time_zone: preferences.time_zone }
        })
    }

    /// Keeps the stored preferences of the signed-in person until the page is rendered.
    pub fn prefer(request: &Request<'_>, preferences: Preferences) {
        request.local_cache(|| Stored(preferences));
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Reader {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self::of(request))
    }
}

/// The language that was chosen in this browser, from a cookie.
pub struct KeptLanguage(pub Option<&'static Language>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for KeptLanguage {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self(kept_language(request)))
    }
}

/// Whether `Accept` names Markdown, and does not prefer HTML.
pub fn wants_markdown(request: &Request<'_>) -> bool {
    let Some(accept) = list_of(request.headers(), "Accept") else { return false };
    let fit = |kind| fit_of_media_type(&accept, kind);
    let (markdown, html) = (fit(MARKDOWN), fit("text/html"));
    markdown.weight > 0 && markdown.closeness == Closeness::Name && markdown >= html
}

pub fn kept_language(request: &Request<'_>) -> Option<&'static Language> {
    request.cookies().get(COOKIE).and_then(|cookie| language::find(cookie.value()))
}

/// The language that a request asks for, regardless of stored preferences.
pub fn requested_language(request: &Request<'_>) -> Option<&'static Language> {
    let named = Query::of(request).present(PARAMETER).and_then(language::find);
    let accepted = || language::accepted(&list_of(request.headers(), "Accept-Language")?);
    named.or_else(|| kept_language(request)).or_else(accepted)
}

fn language_of(request: &Request<'_>, stored: Option<&'static Language>) -> &'static Language {
    if let Some(language) = Query::of(request).present(PARAMETER).and_then(language::find) {
        return language;
    }
    // Programs that read Markdown get the English original, unless the address names a language.
    if wants_markdown(request) {
        return language::english();
    }
    let accepted = || language::accepted(&list_of(request.headers(), "Accept-Language")?);
    let chosen = stored.or_else(|| kept_language(request));
    chosen.or_else(accepted).unwrap_or_else(language::english)
}
