//! The ecosystems that have a package, with the steps to put the consent tag on pages.

use serde::Serialize;
use tera::Context;

use super::{html_of, with_copies};
use crate::infra::templates;

pub struct Ecosystem {
    pub slug: &'static str,
    pub name: &'static str,
    /// Whether the package puts the tag on the pages, so that the snippet need not be pasted.
    pub brings_tag: bool,
}

const fn with_tag(slug: &'static str, name: &'static str) -> Ecosystem {
    Ecosystem { slug, name, brings_tag: true }
}

const fn on_servers(slug: &'static str, name: &'static str) -> Ecosystem {
    Ecosystem { slug, name, brings_tag: false }
}

pub const ECOSYSTEMS: [Ecosystem; 9] = [
    with_tag("wordpress", "WordPress"),
    with_tag("react", "React"),
    with_tag("next", "Next"),
    with_tag("vue", "Vue"),
    with_tag("nuxt", "Nuxt"),
    with_tag("svelte", "Svelte"),
    with_tag("astro", "Astro"),
    on_servers("python", "Python"),
    on_servers("php", "PHP"),
];

/// A section of the document about packages.
#[derive(Serialize)]
struct Section {
    name: &'static str,
    text: String,
}

impl Ecosystem {
    pub fn find(slug: &str) -> Option<&'static Self> {
        ECOSYSTEMS.iter().find(|ecosystem| ecosystem.slug == slug)
    }

    fn markdown(&self, base_url: &str, pixel_id: &str) -> String {
        let mut context = Context::new();
        context.insert("base_url", base_url);
        context.insert("pixel_id", pixel_id);
        context.insert("version", VERSION);
        let name = format!("texts/ecosystems/{}.md", self.slug);
        templates::render(&name, &context).expect("the template of an ecosystem renders")
    }

    /// The steps for a pixel, as an HTML fragment.
    pub fn html(&self, base_url: &str, pixel_id: &str) -> String {
        with_copies(&html_of(&self.markdown(base_url, pixel_id)))
    }
}

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Adds the version and the steps of every ecosystem, for the document about packages.
pub(super) fn add_to(context: &mut Context, base_url: &str) {
    let section =
        |it: &Ecosystem| Section { name: it.name, text: it.markdown(base_url, "PIXEL_ID") };
    context.insert("version", VERSION);
    context.insert("ecosystems", &ECOSYSTEMS.iter().map(section).collect::<Vec<_>>());
}
