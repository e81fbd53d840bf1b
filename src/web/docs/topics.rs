use std::sync::Arc;

use rocket::http::ContentType;
use rocket::{Either, State, get};
use rocket_dyn_templates::context;

use super::ApiDescription;
use crate::app::App;
use crate::error::codes::Code;
use crate::error::{Error, Result};
use crate::guide::topics::{self, Topic};
use crate::http::described::described_routes;
use crate::http::html::Page;
use crate::http::refusals::refusals;
use crate::infra::templates::with_index;
use crate::web::guide::Text;
use crate::web::layout::page;

described_routes![topic, error_code];

refusals!(UnknownPage or page: [] NotFound);

type Document = Either<Page, Text>;

/// A document about one subject
///
/// `packages`, `front-end`, `contacts`, `webhooks`, `erasure`, `proof`, `account`, `errors` or `changelog`; Markdown with `.md`
/// at the end, or with `Accept: text/markdown`.
#[utoipa::path(
    tag = "Pages",
    operation_id = "docs_topic",
    params(("topic" = String, Path, description = "The subject, with or without `.md`.")),
    responses(
        (status = 200, description = "The document", content((String = "text/html"), (String = "text/markdown"))),
        UnknownPage,
    ),
)]
#[get("/docs/<topic>")]
fn topic(app: &State<App>, topic: &str) -> Result<Document> {
    let (slug, is_text) = without_ending(topic);
    let topic = Topic::find(slug).ok_or(Error::NotFound)?;
    Ok(document(app, topic.title, topic.source(app.infra.base_url()), is_text))
}

/// A code of errors
///
/// Its meaning and the operations that answer with it; `codes` lists all of them. Markdown as for a subject.
#[utoipa::path(
    tag = "Pages",
    operation_id = "error_code",
    params(("code" = String, Path, description = "The code, with or without `.md`.")),
    responses(
        (status = 200, description = "The document", content((String = "text/html"), (String = "text/markdown"))),
        UnknownPage,
    ),
)]
#[get("/docs/errors/<code>")]
fn error_code(
    app: &State<App>,
    description: &State<Arc<ApiDescription>>,
    code: &str,
) -> Result<Document> {
    let (name, is_text) = without_ending(code);
    let base_url = app.infra.base_url();
    if name == "codes" {
        return Ok(document(app, "Codes of errors", topics::codes(base_url), is_text));
    }
    let code = Code::of(name).ok_or(Error::NotFound)?;
    Ok(document(app, code.name, about(code, description, base_url), is_text))
}

fn without_ending(name: &str) -> (&str, bool) {
    name.strip_suffix(".md").map_or((name, false), |name| (name, true))
}

fn document(app: &App, title: &str, source: String, is_text: bool) -> Document {
    let markdown = with_index(&source, app.infra.base_url());
    if is_text {
        let kind = ContentType::new("text", "markdown").with_params(("charset", "utf-8"));
        return Either::Right(Text::new(kind, markdown));
    }
    let guide = topics::html(&source);
    let page = page(app.infra.base_url(), "pages/topic.html", title, context! { guide });
    Either::Left(Page::for_everybody(page).with_source(markdown))
}

fn about(code: &Code, description: &ApiDescription, base_url: &str) -> String {
    let mut text = format!("# `{}`\n\n{}\n", code.name, code.advice);
    if let Some(used) = description.get(base_url).uses.of_code(code.name) {
        text.push_str("\n| status | sentence |\n| --- | --- |\n");
        for (status, sentence) in &used.answers {
            text.push_str(&format!("| {status} | {sentence} |\n"));
        }
        text.push_str("\nAnswered by:\n\n");
        for operation in &used.operations {
            text.push_str(&format!("- `{operation}`\n"));
        }
    }
    text.push_str(&format!(
        "\n[Errors]({base_url}/docs/errors), [all codes]({base_url}/docs/errors/codes)\n"
    ));
    text
}
