//! The service's own legal texts: privacy, terms and others. They are Markdown templates with the
//! operator's name and the installation's settings; a file of the same name in the operator's
//! folder replaces a text, and `privacy.de.md` a text in one language.

use std::io::ErrorKind;
use std::path::Path;

use chrono_tz::Tz;
use pulldown_cmark::{Options, Parser, html};
use rocket::{State, get};
use rocket_dyn_templates::context;
use tera::Context;

use super::layout::page;
use crate::app::App;
use crate::config::{Config, OperatorConfig};
use crate::error::{Error, Result};
use crate::http::described::described_routes;
use crate::http::html::{Page, Reader};
use crate::infra::templates::{self, Language, Message, tr};

described_routes![privacy, terms, dpa, subprocessors, accessibility];

/// How the service treats personal data
#[utoipa::path(
    tag = "Pages",
    operation_id = "privacy_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/privacy")]
async fn privacy(app: &State<App>, reader: Reader) -> Result<Page> {
    let description = tr(
        "What personal data this service processes of visitors, owners and their contacts, for how long, and who answers for it.",
    );
    let (config, base_url) = (&app.infra.config, app.infra.base_url());
    paper(config, base_url, reader, "privacy", tr("Privacy"), description).await
}

/// The terms of use
#[utoipa::path(
    tag = "Pages",
    operation_id = "terms_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/terms")]
async fn terms(app: &State<App>, reader: Reader) -> Result<Page> {
    let description = tr(
        "The terms under which this service is used: what you get, what it costs, what is asked of you and what is promised.",
    );
    let (config, base_url) = (&app.infra.config, app.infra.base_url());
    paper(config, base_url, reader, "terms", tr("Terms"), description).await
}

/// The data processing agreement
#[utoipa::path(
    tag = "Pages",
    operation_id = "dpa_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/dpa")]
async fn dpa(app: &State<App>, reader: Reader) -> Result<Page> {
    let description = tr(
        "The agreement under which this service processes personal data for the owners of sites.",
    );
    let (config, base_url) = (&app.infra.config, app.infra.base_url());
    paper(config, base_url, reader, "dpa", tr("Data processing agreement"), description).await
}

/// Who else processes data
#[utoipa::path(
    tag = "Pages",
    operation_id = "subprocessors_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/subprocessors")]
async fn subprocessors(app: &State<App>, reader: Reader) -> Result<Page> {
    let description = tr(
        "The companies to whom this service hands personal data, and what each of them does with it.",
    );
    let (config, base_url) = (&app.infra.config, app.infra.base_url());
    paper(config, base_url, reader, "subprocessors", tr("Subprocessors"), description).await
}

/// The accessibility statement
#[utoipa::path(
    tag = "Pages",
    operation_id = "accessibility_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/accessibility")]
async fn accessibility(app: &State<App>, reader: Reader) -> Result<Page> {
    let description = tr(
        "How accessible the pages and the consent popup of this service are, and how to report a barrier.",
    );
    let (config, base_url) = (&app.infra.config, app.infra.base_url());
    paper(config, base_url, reader, "accessibility", tr("Accessibility"), description).await
}

async fn paper(
    config: &Config,
    base_url: &str,
    reader: Reader,
    name: &str,
    title: Message,
    description: Message,
) -> Result<Page> {
    let operator = &config.operator;
    let own = match &operator.papers {
        Some(folder) => text_of_the_operator(folder, reader, name).await?,
        None => None,
    };
    let is_template = own.is_none() && !is_named(operator);
    let markdown = match own {
        Some(text) => text,
        None => our_text(config, reader.language, name)?,
    };
    let mut paper = String::new();
    html::push_html(&mut paper, Parser::new_ext(&markdown, Options::ENABLE_TABLES));
    let content = context! { paper, is_template, description };
    Ok(Page::for_everybody(page(base_url, "pages/paper.html", title, content)))
}

/// The file is read for each request, so that a correction needs no restart. `privacy.de.md` precedes `privacy.md`.
async fn text_of_the_operator(folder: &Path, reader: Reader, name: &str) -> Result<Option<String>> {
    for file in [format!("{name}.{}.md", reader.language.tag), format!("{name}.md")] {
        match rocket::tokio::fs::read_to_string(folder.join(file)).await {
            Ok(text) => return Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::internal(error)),
        }
    }
    Ok(None)
}

const fn is_named(operator: &OperatorConfig) -> bool {
    operator.name.is_some() && operator.address.is_some() && operator.email.is_some()
}

fn our_text(config: &Config, language: &'static Language, name: &str) -> Result<String> {
    let OperatorConfig { name: operator, address, email, .. } = &config.operator;
    let mut context = Context::new();
    let nobody = language.localiser(Tz::UTC).text(&tr("the operator of this service"));
    context.insert("operator", &as_prose(operator.as_deref().unwrap_or(&nobody)));
    context.insert("address", &address.as_deref().map(as_prose));
    context.insert("email", &email.as_ref().map(|email| format!("<{email}>")));
    context.insert("receipts_days", &config.retention.receipts);
    context.insert("shown_days", &config.retention.shown);
    context.insert("unconfirmed_days", &config.retention.unconfirmed);
    context.insert("withdrawn_days", &config.retention.withdrawn);
    context.insert("mails", &config.smtp.is_some());
    context.insert("payments", &config.stripe.secret_key.is_some());
    context.insert("tag_host", &config.tag_cdn_base);
    let name = templates::name_in(language, "papers", &format!("{name}.md"));
    let text = match language.is_english() {
        true => templates::render(&name, &context),
        false => language.render(&name, &context.into_json()),
    };
    text.map_err(Error::internal)
}

/// Escapes a text for Markdown, in one line (CommonMark 2.4: any ASCII punctuation may be escaped).
fn as_prose(text: &str) -> String {
    let mut prose = String::new();
    for character in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if character.is_ascii_punctuation() {
            prose.push('\\');
        }
        prose.push(character);
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_operators_are_words_and_no_markup() {
        let mut page = String::new();
        html::push_html(&mut page, Parser::new(&as_prose("A & *B* <i>\n[c](d) | `e`")));
        assert_eq!(page, "<p>A &amp; *B* &lt;i&gt; [c](d) | `e`</p>\n");
    }
}
