use serde::Serialize;

use crate::http::html::Template;

#[derive(Serialize)]
struct Framed<'a, N, T> {
    base_url: &'a str,
    page_title: N,
    lang: &'static str,
    dir: &'static str,
    #[serde(flatten)]
    content: T,
}

pub fn framed<'a>(
    base_url: &'a str,
    title: impl Serialize + 'a,
    content: impl Serialize + 'a,
) -> impl Serialize + 'a {
    Framed { base_url, page_title: title, lang: "en", dir: "ltr", content }
}

/// A page in the layout. `title` is a `Message` or plain text; `content` is the context of the template.
pub fn page(
    base_url: &str,
    name: &'static str,
    title: impl Serialize,
    content: impl Serialize,
) -> Template {
    Template::render(name, framed(base_url, title, content))
}
