//! The templates of pages, mails, snippets and texts, embedded in the program.
//!
//! A template is named by its path in `templates/` without `.tera`. What is put into one whose name
//! ends in `.html` is escaped.

use std::sync::LazyLock;

use tera::{Context, Tera};

const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    add_to(&mut tera).expect("the embedded templates are valid");
    tera
});

/// Adds all templates, by the same names.
pub fn add_to(tera: &mut Tera) -> tera::Result<()> {
    tera.add_raw_templates(EMBEDDED.iter().copied())
}

/// Whether there is such a template.
pub fn exists(name: &str) -> bool {
    EMBEDDED.iter().any(|(known, _)| *known == name)
}

/// The text of a template, as it stands.
pub fn text(name: &str) -> &'static str {
    EMBEDDED.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

pub fn render(name: &str, context: &Context) -> tera::Result<String> {
    TEMPLATES.render(name, context)
}
