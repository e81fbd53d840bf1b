//! The templates of pages, mails, snippets and texts, embedded in the binary. Rocket renders the
//! page templates, this module all others. A template's name is its path in `templates/` without
//! `.tera`. Values in templates named `*.html` are escaped.

use std::sync::LazyLock;

use tera::{Context, Tera};

const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// Stands for the address of the service in texts that are made before it is known, or that must not change
/// where the address contains a placeholder.
pub const STAND_IN: &str = "https://stand-in.invalid";

const TEXTS: [&str; 3] = ["mail/", "snippets/", "texts/"];

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_templates(embedded(false)).expect("the embedded templates are valid");
    tera
});

fn embedded(of_pages: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_page = |name: &str| !TEXTS.iter().any(|folder| name.starts_with(folder));
    EMBEDDED.iter().copied().filter(move |(name, _)| is_page(name) == of_pages)
}

pub fn add_pages_to(tera: &mut Tera) -> tera::Result<()> {
    tera.add_raw_templates(embedded(true))
}

pub fn exists(name: &str) -> bool {
    EMBEDDED.iter().any(|(known, _)| *known == name)
}

pub fn text(name: &str) -> &'static str {
    EMBEDDED.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

pub fn render(name: &str, context: &Context) -> tera::Result<String> {
    TEMPLATES.render(name, context)
}

/// Markdown whose title is followed by the address of the index of all documents.
pub fn with_index(markdown: &str, base_url: &str) -> String {
    let (title, rest) = markdown.split_once('\n').unwrap_or((markdown, ""));
    format!("{title}\n\n> Index of all documents: {base_url}/llms.txt\n{rest}")
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
