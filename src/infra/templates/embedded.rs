//! The files of `templates/`, and which engine reads each.

pub const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The pages that every catalogue translates, and what they are made of. All others are in English.
pub const TRANSLATED: &[&str] = &[
    "console/code.html",
    "console/open.html",
    "console/sign_in.html",
    "console/sign_up.html",
    "layout.html",
    "pages/address_change.html",
    "pages/confirmed.html",
    "pages/contact.html",
    "pages/disown.html",
    "pages/help.html",
    "pages/help_article.html",
    "pages/home.html",
    "pages/message.html",
    "pages/paper.html",
    "pages/site_permission.html",
    "pages/site_pixel.html",
    "pages/status.html",
    "pages/unsubscribe.html",
];

const TEXTS: [&str; 3] = ["mail/", "snippets/", "texts/"];
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

pub fn exists(name: &str) -> bool {
    EMBEDDED.iter().any(|(known, _)| *known == name)
}

pub fn text(name: &str) -> &'static str {
    EMBEDDED.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}
