//! The guide for integrators: one text for people, programs and agents.

pub mod ecosystems;
pub mod topics;

use pulldown_cmark::{Options, Parser, html};
use tera::Context;

use crate::infra::templates::{self, STAND_IN, with_index};

/// Placeholders in commands for the reader's own values, with the names of their fields.
const PLACEHOLDERS: [(&str, &str); 8] = [
    ("you@example.com", "email"),
    ("Your name", "name"),
    ("shop.example", "domain"),
    ("123456", "code"),
    ("ACCOUNT_ID", "account"),
    ("SIGNUP_TOKEN", "token"),
    ("API_KEY", "key"),
    ("PIXEL_ID", "pixel"),
];

const TAG: &str = include_str!("../docs/tag.md");

const SKILL: &str = include_str!("../skills/assent/SKILL.md");

/// The example address of the service in documents.
const EXAMPLE: &str = "https://consent.example.com";

const WEBHOOKS: &str = include_str!("../docs/webhooks.md");

pub fn markdown(base_url: &str) -> String {
    with_index(&source(base_url), base_url)
}

fn source(base_url: &str) -> String {
    render("texts/guide.md", base_url)
}

/// The documents for a language model (llmstxt.org).
pub fn llms_txt(base_url: &str) -> String {
    render("texts/llms.txt", base_url)
}

pub fn render(name: &str, base_url: &str) -> String {
    let mut context = Context::new();
    context.insert("base_url", base_url);
    templates::render(name, &context).expect("the guide's templates render")
}

/// The guide as HTML. Its headings have anchors, and placeholders in commands are marked (`<span
/// data-fill="…">`), so that a script can fill them in.
pub fn html(base_url: &str) -> String {
    mark_placeholders(&html_of(&source(STAND_IN))).replace(STAND_IN, base_url)
}

pub fn tag_html(base_url: &str) -> String {
    with_copies(&html_of(&tag_source(base_url)))
}

pub fn tag_markdown(base_url: &str) -> String {
    with_index(&tag_source(base_url), base_url)
}

fn tag_source(base_url: &str) -> String {
    let text = TAG.replace(EXAMPLE, base_url);
    let mut pieces = text.split("(reference.md");
    let first = pieces.next().unwrap_or_default().to_owned();
    // The reference is served as the description of the API.
    pieces.fold(first, |done, piece| {
        format!("{done}({base_url}/docs{}", piece.find(')').map_or(piece, |end| &piece[end..]))
    })
}

pub fn webhooks_html(base_url: &str) -> String {
    with_copies(&html_of(&webhooks_source(base_url)))
}

pub fn webhooks_markdown(base_url: &str) -> String {
    with_index(&webhooks_source(base_url), base_url)
}

fn webhooks_source(base_url: &str) -> String {
    WEBHOOKS.replace("(reference.md)", &format!("({base_url}/docs#webhooks)"))
}

/// The skill for coding agents (agentskills.io).
pub fn skill(base_url: &str) -> String {
    SKILL.replace(EXAMPLE, base_url)
}

pub fn with_copies(page: &str) -> String {
    page.replace("<pre>", "<div class=\"code\"><pre data-copy=\"these lines\">")
        .replace("</pre>", "</pre></div>")
}

pub fn html_of(markdown: &str) -> String {
    let mut page = String::new();
    html::push_html(&mut page, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    anchor_headings(&page)
}

/// Gives every second-level heading an id made from its words: `<h2 id="2-confirm-your-address">`.
fn anchor_headings(page: &str) -> String {
    let mut pieces = page.split("<h2>");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |done, piece| {
        let heading = piece.split("</h2>").next().unwrap_or_default().to_lowercase();
        let words = heading.split(|character: char| !character.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>();
        format!("{done}<h2 id=\"{}\">{piece}", words.join("-"))
    })
}

fn mark_placeholders(page: &str) -> String {
    let mut marked = String::with_capacity(page.len());
    for (index, part) in page.split("<pre>").enumerate() {
        let Some((code, rest)) = part.split_once("</pre>").filter(|_| index > 0) else {
            marked.push_str(part);
            continue;
        };
        let code = PLACEHOLDERS.iter().fold(code.to_owned(), |code, (text, field)| {
            code.replace(text, &format!("<span data-fill=\"{field}\">{text}</span>"))
        });
        marked.push_str("<div class=\"code\"><pre data-copy=\"these lines\">");
        marked.push_str(&code);
        marked.push_str("</pre></div>");
        marked.push_str(rest);
    }
    marked
}
