use std::sync::Arc;

use rocket::http::{ContentType, Header, Status};
use rocket::response::{self, Responder};
use rocket::{Request, State, get};
use rocket_dyn_templates::{Template, context};

use super::document::DocsForm;
use super::{ApiDescription, tags};
use crate::app::App;
use crate::error::Result;
use crate::http::described::described_routes;
use crate::http::html::markdown::negotiated;
use crate::http::html::reader::wants_markdown;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::infra::Infra;
use crate::web::layout::framed;

described_routes![document, older_document, docs, reference];

#[derive(Responder)]
struct Document {
    json: Arc<str>,
    kind: ContentType,
    cache: Header<'static>,
    sharing: Header<'static>,
}

impl Document {
    fn new(json: Arc<str>) -> Self {
        Self {
            json,
            kind: ContentType::JSON,
            cache: Header::new("Cache-Control", "public, max-age=300"),
            sharing: Header::new("Access-Control-Allow-Origin", "*"),
        }
    }
}

refusals!(DescriptionRefusals: [] Validation(vec![tags::unknown(&[])]));

/// This description, as OpenAPI 3.1
///
/// With `tag` the operations of one subject, and the schemas that they need.
#[utoipa::path(
    tag = "Service",
    operation_id = "read_description",
    params(("tag" = Option<String>, Query, description = "A name of `tags`.")),
    responses(
        (status = 200, description = "The document", content_type = "application/json", body = Object),
        DescriptionRefusals,
    ),
)]
#[get("/openapi.json")]
fn document(
    app: &State<App>,
    description: &State<Arc<ApiDescription>>,
    query: Query,
) -> Result<Document> {
    let assembled = description.get(app.infra.base_url());
    Ok(Document::new(match query.present("tag") {
        Some(tag) => assembled.part(tag)?,
        None => Arc::clone(&assembled.json),
    }))
}

/// This description, as OpenAPI 3.0
///
/// For tools that cannot read 3.1. Webhooks are left out, because 3.0 has none.
#[utoipa::path(
    tag = "Service",
    operation_id = "read_older_description",
    responses((status = 200, description = "The document", content_type = "application/json", body = Object)),
)]
#[get("/openapi-3.0.json")]
fn older_document(app: &State<App>, description: &State<Arc<ApiDescription>>) -> Result<Document> {
    description.get(app.infra.base_url()).older().map(Document::new)
}

/// This description in short, as a page
///
/// How to start, and every operation in a line.
#[utoipa::path(
    tag = "Pages",
    operation_id = "docs_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/docs")]
fn docs<'a>(app: &'a State<App>, description: &'a State<Arc<ApiDescription>>) -> DocsAnswer<'a> {
    DocsAnswer { infra: &app.infra, description, form: DocsForm::Index }
}

/// This description, as a page
///
/// One page, because people search in it.
#[utoipa::path(
    tag = "Pages",
    operation_id = "docs_reference_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/docs/reference")]
fn reference<'a>(
    app: &'a State<App>,
    description: &'a State<Arc<ApiDescription>>,
) -> DocsAnswer<'a> {
    DocsAnswer { infra: &app.infra, description, form: DocsForm::Reference }
}

struct DocsAnswer<'a> {
    infra: &'a Infra,
    description: &'a ApiDescription,
    form: DocsForm,
}

impl<'r> Responder<'r, 'static> for DocsAnswer<'r> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let (title, template) = match self.form {
            DocsForm::Index => ("API", "pages/docs.html"),
            DocsForm::Reference => ("API reference", "pages/docs_reference.html"),
        };
        let base_url = self.infra.base_url();
        let html = self.description.html(self.form, base_url, |api| {
            let context = framed(self.infra.base_url(), title, context! { api });
            Template::show(request.rocket(), template, context)
        });
        let html = html.ok_or(Status::InternalServerError)?;
        let text = || self.description.markdown(self.form, base_url, &html).to_string();
        let text = wants_markdown(request).then(text);
        // The page is the same for everybody, so it may be cached, but must be revalidated.
        let kept = Header::new("Cache-Control", "no-cache");
        let page = response::Response::build_from((ContentType::HTML, html).respond_to(request)?)
            .header(kept)
            .finalize();
        Ok(negotiated(request, page, text))
    }
}
