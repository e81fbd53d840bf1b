//! A template with its values, which is rendered in the language of the reader when it is sent.

use rocket::Request;
use rocket::http::Method;
use rocket_dyn_templates::Template as InEnglish;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::reader::{PARAMETER, Reader};
use crate::app::App;
use crate::http::request_id::Arrival;
use crate::infra::templates::is_translated;
use crate::infra::templates::language::{self, Language};

const HOME: &str = "pages/home.html";

pub struct Template {
    name: &'static str,
    values: Value,
}

pub struct Rendered {
    pub html: String,
    /// `None` for a page that is not translated.
    pub language: Option<&'static Language>,
}

impl Template {
    pub fn render(name: &'static str, values: impl Serialize) -> Self {
        Self { name, values: serde_json::to_value(values).unwrap_or_default() }
    }

    /// Renders the template; `None` if that fails, which is logged. `is_public` marks a page with an address that
    /// everybody may open.
    pub fn html(self, request: &Request<'_>, is_public: bool) -> Option<Rendered> {
        let Self { name, mut values } = self;
        let reader = Reader::of(request);
        if !is_translated(name) {
            language::english().localiser(reader.time_zone).localise(&mut values);
            let html = InEnglish::show(request.rocket(), name, values)?;
            return Some(Rendered { html, language: None });
        }
        let language = reader.language;
        language.localiser(reader.time_zone).localise(&mut values);
        if let Value::Object(values) = &mut values {
            add_languages(values, request, language, is_public && has_own_address(name, request));
        }
        let html = match language.is_english() {
            true => InEnglish::show(request.rocket(), name, values)?,
            false => match language.render(name, &values) {
                Ok(html) => html,
                Err(error) => {
                    tracing::error!(?error, name, language = language.tag, "a page failed");
                    return None;
                }
            },
        };
        Some(Rendered { html, language: Some(language) })
    }
}

/// Whether the address of the request is the page's own. On a separate host, `/` shows another page than the home page.
fn has_own_address(name: &str, request: &Request<'_>) -> bool {
    name == HOME || request.uri().path().as_str() != "/"
}

/// Adds the values for the parts of the layout about the languages of the page.
fn add_languages(
    values: &mut Map<String, Value>,
    request: &Request<'_>,
    language: &Language,
    has_address: bool,
) {
    values.insert("lang".to_owned(), language.tag.into());
    // The response to a form has no address at which it could be opened in another language.
    if matches!(Arrival::of(request).method, Method::Get | Method::Head) {
        let known = language::all().iter();
        let known = known.map(|one| json!({ "tag": one.tag, "name": one.name }));
        values.insert("page_languages".to_owned(), known.collect());
        values.insert("page_here".to_owned(), here(request).into());
    }
    if has_address {
        let base_url = request.rocket().state::<App>().map_or("", |app| app.infra.base_url());
        let address = format!("{base_url}{}", request.uri().path().as_str());
        values.insert("page_address".to_owned(), address.into());
    }
}

/// The address of the page without its language.
fn here(request: &Request<'_>) -> String {
    let (path, query) = (request.uri().path(), request.uri().query());
    let query = query.map_or("", |query| query.as_str());
    let names_language = |part: &&str| part.split('=').next() == Some(PARAMETER);
    let kept = query.split('&').filter(|part| !part.is_empty() && !names_language(part));
    let kept = kept.collect::<Vec<_>>().join("&");
    let path = path.as_str();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{kept}") }
}
