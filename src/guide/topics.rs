//! Short documents, each about one subject, for models that cannot read the whole reference.

use tera::Context;

use super::{ecosystems, html_of, markdown, with_copies};
use crate::error::codes::CODES;
use crate::infra::templates::{self, with_index};

pub struct Topic {
    /// The last path segment of the document's address, without the extension.
    pub slug: &'static str,
    pub title: &'static str,
    pub about: &'static str,
}

pub const TOPICS: [Topic; 9] = [
    Topic {
        slug: "packages",
        title: "Packages",
        about: "WordPress, React, Next, Vue, Nuxt, Svelte, Astro, Python, PHP: the package of an ecosystem",
    },
    Topic {
        slug: "front-end",
        title: "Front end",
        about: "the consent tag: gated scripts and frames, JavaScript API, Consent Mode, CSP, appearance",
    },
    Topic {
        slug: "contacts",
        title: "Contacts",
        about: "storing, reading, counting and deleting people, suppressions, keeping a copy in step",
    },
    Topic {
        slug: "webhooks",
        title: "Webhooks",
        about: "endpoints, events, signatures, deliveries, replay",
    },
    Topic {
        slug: "erasure",
        title: "Erasure, access and withdrawal",
        about: "visitors' requests, erasing a visitor, a person or the account",
    },
    Topic {
        slug: "proof",
        title: "Receipts and proofs",
        about: "verifying receipts, the consent log, statistics, export, the public log",
    },
    Topic {
        slug: "account",
        title: "Account, keys, members and billing",
        about: "signing up, keys and scopes, repeating requests, members, pixels, checkout, limits",
    },
    Topic {
        slug: "errors",
        title: "Errors",
        about: "the problem document, statuses, and what to do about frequent codes",
    },
    Topic {
        slug: "changelog",
        title: "Changelog and versions",
        about: "what changed, what may change, deprecation, CORS",
    },
];

impl Topic {
    pub fn find(slug: &str) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| topic.slug == slug)
    }

    pub fn markdown(&self, base_url: &str) -> String {
        with_index(&self.source(base_url), base_url)
    }

    /// The document without the link to the index.
    pub fn source(&self, base_url: &str) -> String {
        let mut context = Context::new();
        context.insert("base_url", base_url);
        ecosystems::add_to(&mut context, base_url);
        let name = format!("texts/topics/{}.md", self.slug);
        templates::render(&name, &context).expect("the templates of topics render")
    }

    pub fn address(&self, base_url: &str) -> String {
        format!("{base_url}/docs/{}.md", self.slug)
    }
}

pub fn html(markdown: &str) -> String {
    with_copies(&html_of(markdown))
}

/// All error codes, each with its remedy and a link to its page.
pub fn codes(base_url: &str) -> String {
    table_of_codes(|name| format!("[`{name}`]({base_url}/docs/errors/{name})"))
}

fn table_of_codes(named: impl Fn(&str) -> String) -> String {
    let mut text = "# Codes of errors\n\n| code | what to do |\n| --- | --- |\n".to_owned();
    let mut last = "";
    for code in CODES.iter().filter(|code| std::mem::replace(&mut last, code.name) != code.name) {
        text.push_str(&format!("| {} | {} |\n", named(code.name), code.advice));
    }
    text
}

/// The guide and all topics in one document (llmstxt.org).
pub fn everything(base_url: &str) -> String {
    let topics = TOPICS.iter().map(|topic| topic.markdown(base_url));
    let all = [markdown(base_url)]
        .into_iter()
        .chain(topics)
        .chain([table_of_codes(|name| format!("`{name}`"))]);
    all.collect::<Vec<_>>().join("\n\n---\n\n")
}
