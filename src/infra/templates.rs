//! The templates of pages, mails, snippets and texts, embedded in the program.
//!
//! Those of pages are Rocket's to render, all others are rendered here; each is parsed and kept in memory once.
//!
//! A template is named by its path in `templates/` without `.tera`. What is put into one whose name
//! ends in `.html` is escaped.

use std::sync::LazyLock;

use tera::{Context, Tera};

const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// Folders of what is no page.
const TEXTS: [&str; 3] = ["mail/", "snippets/", "texts/"];

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_templates(embedded(false)).expect("the embedded templates are valid");
    tera
});

/// The templates of pages, or all others.
fn embedded(of_pages: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_page = |name: &str| !TEXTS.iter().any(|folder| name.starts_with(folder));
    EMBEDDED.iter().copied().filter(move |(name, _)| is_page(name) == of_pages)
}

/// Adds the templates of pages, by the same names.
pub fn add_pages_to(tera: &mut Tera) -> tera::Result<()> {
    tera.add_raw_templates(embedded(true))
}

/// Whether there is such a template.
pub fn exists(name: &str) -> bool {
    EMBEDDED.iter().any(|(known, _)| *known == name)
}

/// The text of a template, as it stands.
pub fn text(name: &str) -> &'static str {
    EMBEDDED.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

/// One that is no page.
pub fn render(name: &str, context: &Context) -> tera::Result<String> {
    TEMPLATES.render(name, context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_parsed_by_one_engine_only() {
        let mut pages = Tera::default();
        add_pages_to(&mut pages).unwrap();
        let [pages, texts] =
            [&pages, &*TEMPLATES].map(|engine| engine.get_template_names().collect::<Vec<_>>());
        assert_eq!(pages.len() + texts.len(), EMBEDDED.len());
        assert!(texts.iter().all(|name| !pages.contains(name)));
        assert!(pages.contains(&"layout.html") && texts.contains(&"mail/notice.html"));
    }
}
