//! The guide for integrators, in one text for people, programs and agents.

use std::sync::LazyLock;

use pulldown_cmark::{Options, Parser, html};
use tera::{Context, Tera};

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_templates([
        ("guide.md", include_str!("../templates/texts/guide.md.tera")),
        ("llms.txt", include_str!("../templates/texts/llms.txt.tera")),
    ])
    .expect("the guide's templates are valid");
    tera
});

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

/// Stands in for the service's address while places are marked: the address may contain what looks
/// like one, and must not change with what a reader types.
const STAND_IN: &str = "https://stand-in.invalid";

/// The guide as Markdown, with the service's address in it.
pub fn markdown(base_url: &str) -> String {
    render("guide.md", base_url)
}

/// What there is to read for a language model (llmstxt.org).
pub fn llms_txt(base_url: &str) -> String {
    render("llms.txt", base_url)
}

fn render(name: &str, base_url: &str) -> String {
    let mut context = Context::new();
    context.insert("base_url", base_url);
    TEMPLATES.render(name, &context).expect("the guide's templates render")
}

/// The guide as HTML. In commands the places for the reader's values are marked
/// (`<span data-fill="…">`), so that a script can fill them in.
pub fn html(base_url: &str) -> String {
    let markdown = markdown(STAND_IN);
    let parser = Parser::new_ext(&markdown, Options::ENABLE_TABLES);
    let mut page = String::new();
    html::push_html(&mut page, parser);
    mark_places(&page).replace(STAND_IN, base_url)
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
