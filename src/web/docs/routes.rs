use std::sync::Arc;

use rocket::http::{ContentType, Header, Status};
use rocket::response::{self, Responder};
use rocket::{Request, State, get};
use rocket_dyn_templates::{Template, context};

use super::ApiDescription;
use crate::app::App;
use crate::http::described::described_routes;
use crate::infra::Infra;
use crate::web::layout::framed;

described_routes![document, docs];

#[derive(Responder)]
struct Document {
    json: Arc<str>,
    kind: ContentType,
    cache: Header<'static>,
    sharing: Header<'static>,
}

/// This description, as OpenAPI 3.1
#[utoipa::path(
    tag = "Service",
    operation_id = "read_description",
    responses((status = 200, description = "The document", content_type = "application/json", body = Object)),
)]
#[get("/openapi.json")]
fn document(description: &State<ApiDescription>) -> Document {
    Document {
        json: Arc::clone(&description.get().json),
        kind: ContentType::JSON,
        cache: Header::new("Cache-Control", "public, max-age=300"),
        sharing: Header::new("Access-Control-Allow-Origin", "*"),
    }
}

/// This description, as a page
#[utoipa::path(
    tag = "Pages",
    operation_id = "docs_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/docs")]
fn docs<'a>(app: &'a State<App>, description: &'a State<ApiDescription>) -> DocsAnswer<'a> {
    DocsAnswer { infra: &app.infra, description }
}

struct DocsAnswer<'a> {
    infra: &'a Infra,
    description: &'a ApiDescription,
}

impl<'r> Responder<'r, 'static> for DocsAnswer<'r> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let html = self.description.html(|api| {
            let context = framed(self.infra, "API", context! { api });
            Template::show(request.rocket(), "pages/docs.html", context)
        });
        let html = html.ok_or(Status::InternalServerError)?;
        // The same for everybody, so it may be cached.
        let kept = Header::new("Cache-Control", "no-cache");
        response::Response::build_from((ContentType::HTML, html).respond_to(request)?)
            .header(kept)
            .ok()
    }
}
