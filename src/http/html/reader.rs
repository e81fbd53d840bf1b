//! The language of a reader of our own pages: the one of `?lang=`, else the one that was chosen and kept in a
//! cookie, else the best of `Accept-Language`, else English.

use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use crate::http::header_value::list_of;
use crate::http::query::Query;
use crate::infra::templates::language::{self, Language};
use crate::types::weighted::{Closeness, fit_of_media_type};

pub const COOKIE: &str = "assent_language";
pub const PARAMETER: &str = "lang";
const MARKDOWN: &str = "text/markdown";

#[derive(Clone, Copy)]
pub struct Reader(pub &'static Language);

impl Reader {
    pub fn of(request: &Request<'_>) -> Self {
        *request.local_cache(|| Self(language_of(request)))
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Reader {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self::of(request))
    }
}

/// Whether `Accept` names Markdown, and does not prefer HTML.
pub fn wants_markdown(request: &Request<'_>) -> bool {
    let Some(accept) = list_of(request.headers(), "Accept") else { return false };
    let fit = |kind| fit_of_media_type(&accept, kind);
    let (markdown, html) = (fit(MARKDOWN), fit("text/html"));
    markdown.weight > 0 && markdown.closeness == Closeness::Name && markdown >= html
}

fn language_of(request: &Request<'_>) -> &'static Language {
    if let Some(language) = Query::of(request).present(PARAMETER).and_then(language::find) {
        return language;
    }
    // Programs that read Markdown get the text that is written first, unless they ask for another.
    if wants_markdown(request) {
        return language::english();
    }
    let chosen = request.cookies().get(COOKIE).and_then(|cookie| language::find(cookie.value()));
    let accepted = || language::accepted(&list_of(request.headers(), "Accept-Language")?);
    chosen.or_else(accepted).unwrap_or_else(language::english)
}
