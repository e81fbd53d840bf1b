//! What every page tells the template around it.

use rocket_dyn_templates::Template;
use serde::Serialize;

use crate::infra::Infra;

/// The context of a page: the layout's fields beside the page's own.
#[derive(Serialize)]
struct Framed<'a, T> {
    base_url: &'a str,
    page_title: &'a str,
    lang: &'static str,
    dir: &'static str,
    #[serde(flatten)]
    content: T,
}

/// What a page tells its template: the layout's fields beside its own.
pub fn framed<'a>(
    infra: &'a Infra,
    title: &'a str,
    content: impl Serialize + 'a,
) -> impl Serialize + 'a {
    Framed { base_url: infra.base_url(), page_title: title, lang: "en", dir: "ltr", content }
}

/// A page in the layout. `content` is what the template of that name needs.
pub fn page(infra: &Infra, name: &'static str, title: &str, content: impl Serialize) -> Template {
    Template::render(name, framed(infra, title, content))
}
