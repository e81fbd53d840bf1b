//! The guide for integrators, in one text for people, programs and agents.

use pulldown_cmark::{Options, Parser, html};
use tera::Context;

use crate::infra::templates;

/// What stands in the commands for a reader's own values, and the name of the field that takes it.
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

/// Receivers of webhooks, and recipes.
const WEBHOOKS: &str = include_str!("../docs/webhooks.md");

/// Stands in for the service's address while places are marked: the address may contain what looks
/// like one, and must not change with what a reader types.
const STAND_IN: &str = "https://stand-in.invalid";

/// The guide as Markdown, with the service's address in it.
pub fn markdown(base_url: &str) -> String {
    render("texts/guide.md", base_url)
}

/// What there is to read for a language model (llmstxt.org).
pub fn llms_txt(base_url: &str) -> String {
    render("texts/llms.txt", base_url)
}

fn render(name: &str, base_url: &str) -> String {
    let mut context = Context::new();
    context.insert("base_url", base_url);
    templates::render(name, &context).expect("the guide's templates render")
}

/// The guide as HTML. Its headings can be linked to; in commands the places for the reader's values
/// are marked (`<span data-fill="…">`), so that a script can fill them in.
pub fn html(base_url: &str) -> String {
    mark_places(&html_of(&markdown(STAND_IN))).replace(STAND_IN, base_url)
}

/// How webhooks are received, as HTML.
pub fn webhooks_html() -> String {
    let page = html_of(&WEBHOOKS.replace("(reference.md)", "(/docs#webhooks)"));
    page.replace("<pre>", "<div class=\"code\"><pre data-copy=\"these lines\">")
        .replace("</pre>", "</pre></div>")
}

fn html_of(markdown: &str) -> String {
    let mut page = String::new();
    html::push_html(&mut page, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    anchor_headings(&page)
}

/// Names every second heading after its words: `<h2 id="2-confirm-your-address">`.
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

fn mark_places(page: &str) -> String {
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
