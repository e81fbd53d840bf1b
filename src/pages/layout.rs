//! What every page tells the template around it.

use rocket_dyn_templates::Template;
use serde::Serialize;

use crate::platform::Platform;

/// The context of a page: the layout's fields beside the page's own.
#[derive(Serialize)]
struct Framed<'a, T> {
    base_url: &'a str,
    page_title: &'a str,
    lang: &'static str,
    dir: &'static str,
    has_docs: bool,
    #[serde(flatten)]
    content: T,
}

/// A page in the layout. `content` is what the template of that name needs.
pub fn page(
    platform: &Platform,
    name: &'static str,
    title: &str,
    content: impl Serialize,
) -> Template {
    let context = Framed {
        base_url: platform.base_url(),
        page_title: title,
        lang: "en",
        dir: "ltr",
        has_docs: true,
        content,
    };
    Template::render(name, context)
}
