use rocket_dyn_templates::Template;
use serde::Serialize;

use crate::infra::Infra;

#[derive(Serialize)]
struct Framed<'a, T> {
    base_url: &'a str,
    page_title: &'a str,
    lang: &'static str,
    dir: &'static str,
    #[serde(flatten)]
    content: T,
}

pub fn framed<'a>(
    infra: &'a Infra,
    title: &'a str,
    content: impl Serialize + 'a,
) -> impl Serialize + 'a {
    Framed { base_url: infra.base_url(), page_title: title, lang: "en", dir: "ltr", content }
}

/// A page in the layout. `content` is the context of the template.
pub fn page(infra: &Infra, name: &'static str, title: &str, content: impl Serialize) -> Template {
    Template::render(name, framed(infra, title, content))
}
