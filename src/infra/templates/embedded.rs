//! The files of `templates/`, and the engine that parses each of them.

pub const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// Pages without translations: documents for developers, the demo, and pages with texts of the popup's 39 languages.
const NOT_TRANSLATED: [&str; 14] = [
    "pages/demo.html",
    "pages/demo_preview.html",
    "pages/demo_result.html",
    "pages/docs.html",
    "pages/docs_chapters.html",
    "pages/docs_reference.html",
    "pages/error.html",
    "pages/guide.html",
    "pages/guide_tag.html",
    "pages/guide_webhooks.html",
    "pages/log.html",
    "pages/policy.html",
    "pages/topic.html",
    "pages/your_data.html",
];

const MAILS: &str = "mail/";
const TEXTS: [&str; 3] = [MAILS, "snippets/", "texts/"];
const CATALOGUES: &str = "locales/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Page,
    Text,
    /// A catalogue, or a text in another language: `texts/help/de/billing.md`.
    Translation,
}

fn part_of(name: &str) -> Part {
    if name.starts_with(CATALOGUES) || name.matches('/').count() > 2 {
        Part::Translation
    } else if TEXTS.iter().any(|folder| name.starts_with(folder)) {
        Part::Text
    } else {
        Part::Page
    }
}

pub fn embedded(part: Part) -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED.iter().copied().filter(move |(name, _)| part_of(name) == part)
}

pub fn mails() -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED.iter().copied().filter(|(name, _)| name.starts_with(MAILS))
}

/// Whether every catalogue translates this template, which is a page or a part of pages.
pub fn is_translated(name: &str) -> bool {
    part_of(name) == Part::Page && !NOT_TRANSLATED.contains(&name)
}

/// All templates that every catalogue translates.
pub fn translated() -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED.iter().copied().filter(|(name, _)| is_translated(name)).chain(mails())
}

pub fn exists(name: &str) -> bool {
    EMBEDDED.iter().any(|(known, _)| *known == name)
}

pub fn text(name: &str) -> &'static str {
    EMBEDDED.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}
