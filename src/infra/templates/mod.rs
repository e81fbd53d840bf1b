//! The templates of pages, mails, snippets and texts, embedded in the binary. Rocket renders the pages in
//! English, [`language`] renders pages and mails in other languages, and this module renders all others. A
//! template's name is its path in `templates/` without `.tera`. Values in templates named `*.html` are escaped.

pub mod catalogue;
mod embedded;
pub mod language;
pub mod localiser;
pub mod message;
mod paragraphs;
pub mod segments;
mod tokens;

use std::sync::LazyLock;

use chrono_tz::Tz;
use tera::{Context, Tera};

use self::catalogue::Catalogue;
use self::embedded::{Part, embedded};
pub use self::embedded::{exists, is_translated, text, translated};
pub use self::language::Language;
pub use self::localiser::Localiser;
pub use self::message::{Message, tr};

/// Stands for the address of the service in texts that are made before the address is known, or in which
/// placeholders are replaced that the address might contain.
pub const STAND_IN: &str = "https://stand-in.invalid";

static IN_ENGLISH: LazyLock<Catalogue> = LazyLock::new(Catalogue::default);

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_templates(embedded(Part::Text)).expect("the embedded templates are valid");
    tera
});

pub fn add_pages_to(tera: &mut Tera) -> tera::Result<()> {
    localiser::register_number(tera, &IN_ENGLISH);
    tera.add_raw_templates(embedded(Part::Page))
}

/// The name of a text in a folder of `texts/` in a language, or of the English text if it is not translated.
pub fn name_in(language: &Language, folder: &str, file: &str) -> String {
    let own = format!("texts/{folder}/{}/{file}", language.tag);
    if exists(&own) { own } else { format!("texts/{folder}/{file}") }
}

/// The English text of a message, for output without a chosen language.
pub fn in_english(message: &Message) -> String {
    Localiser { catalogue: &IN_ENGLISH, time_zone: Tz::UTC }.text(message)
}

pub fn render(name: &str, context: &Context) -> tera::Result<String> {
    TEMPLATES.render(name, context)
}

/// Renders a template of a mail in a language.
pub fn render_mail(
    language: &'static Language,
    name: &str,
    context: &Context,
) -> tera::Result<String> {
    if language.is_english() { render(name, context) } else { language.render_mail(name, context) }
}

/// Inserts the address of the index of all documents after the title of a Markdown document.
pub fn with_index(markdown: &str, base_url: &str) -> String {
    let (title, rest) = markdown.split_once('\n').unwrap_or((markdown, ""));
    format!("{title}\n\n> Index of all documents: {base_url}/llms.txt\n{rest}")
}

#[cfg(test)]
mod tests {
    use super::embedded::{EMBEDDED, mails};
    use super::*;

    #[test]
    fn every_template_is_parsed_by_one_engine_only() {
        let mut pages = Tera::default();
        add_pages_to(&mut pages).unwrap();
        let [pages, texts] =
            [&pages, &*TEMPLATES].map(|engine| engine.get_template_names().collect::<Vec<_>>());
        let translations = embedded(Part::Translation).count();
        assert_eq!(pages.len() + texts.len() + translations, EMBEDDED.len());
        assert!(texts.iter().all(|name| !pages.contains(name)));
        assert!(pages.contains(&"layout.html") && texts.contains(&"mail/notice.html"));
        assert!(is_translated("console/layout.html") && !is_translated("pages/docs.html"));
    }

    #[test]
    fn the_templates_of_every_language_are_valid() {
        let values = serde_json::json!({ "base_url": "", "page_title": "x" });
        for language in language::all().iter().filter(|language| !language.is_english()) {
            let page = language.render("pages/site_pixel.html", &values);
            assert!(page.is_ok_and(|page| page.contains("<main")), "{}", language.tag);
            let find = |id: &str| language.catalogue().find(id).map(str::to_owned);
            for (name, source) in mails() {
                let own = segments::translated(source, language::texts_of(name, source), find);
                let added = Tera::default().add_raw_template(name, &own);
                assert!(added.is_ok(), "{}: {name}: {added:?}", language.tag);
            }
        }
    }
}
