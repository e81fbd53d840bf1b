use rocket::http::Header;
use rocket::request::{FromRequest, Outcome};
use rocket::response::{self, Redirect, Responder};
use rocket::{Request, Response, State, get, post};
use rocket_dyn_templates::context;
use url::Url;

use super::form::{DemoForm, FormProblem};
use crate::accounts::demo::DEMO_ACCOUNT;
use crate::app::App;
use crate::config::Config;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::described::described_routes;
use crate::http::headers::page_policy_with_scripts_of;
use crate::http::html::Page;
use crate::http::limited::count;
use crate::http::problem;
use crate::http::refusals::refusals;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::policies::configuration::Naming;
use crate::policies::demo::{DemoTag, own_pixel, provision};
use crate::policies::sites::Site;
use crate::types::ids::{PixelId, PixelRef};
use crate::web::layout::page;

described_routes![demo, provision_tag, preview, preview_own];

/// The demo's form
///
/// The popup of the service's own tag is on it.
#[utoipa::path(
    tag = "Pages",
    operation_id = "demo_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/demo")]
async fn demo(app: &State<App>) -> PreviewPage {
    // While the database is unavailable, the form is shown without the popup.
    let own = own_pixel(&app.infra.pool, &app.infra.base_host()).await.ok().flatten();
    let script_url = own.map(|pixel_id| script_url(app.infra.base_url(), &pixel_id));
    let content = context! { script_url };
    PreviewPage {
        page: Page::for_everybody(page(app.infra.base_url(), "pages/demo.html", "Demo", content)),
        tag_origin: tag_origin(&app.infra.config),
    }
}

fn script_url(base_url: &str, pixel_id: &PixelId) -> String {
    format!("{base_url}/px/{pixel_id}.js")
}

refusals!(ProvisionTagRefusals: [Body<16>, Infra] TooManyRequests { retry_after: 20 });

/// Make a demo tag
///
/// Posted by the demo's form; not for opening an account. What is wrong is said in the form.
#[utoipa::path(
    tag = "Pages",
    operation_id = "provision_demo",
    request_body(content_type = "application/x-www-form-urlencoded", content = DemoForm),
    responses(
        (status = 200, description = "The page with the tag", content_type = "text/html", body = String),
        (status = 400, description = "The form again", content_type = "text/html", body = String),
        (status = 409, description = "The form again: the host has a pixel already", content_type = "text/html", body = String),
        ProvisionTagRefusals,
    ),
)]
#[post("/demo/provision", data = "<body>")]
async fn provision_tag(app: &State<App>, _counted: Counted, body: Body<16>) -> Result<Page> {
    let form = DemoForm::read(&body);
    let wish = match form.check(&app.infra.base_host())? {
        Ok(wish) => wish,
        Err(problem) => return Ok(form_again(app.infra.base_url(), &form, &problem)),
    };
    // Anybody can post any host, so the controller's name of an existing demo tag is not changed.
    match provision(&app.infra, wish, Naming::Once).await {
        Ok(tag) => Ok(result_page(app.infra.base_url(), &tag)),
        Err(error) => {
            Ok(form_again(app.infra.base_url(), &form, &FormProblem::about_domain(error)?))
        }
    }
}

struct Counted;

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Counted {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, count(request, Limit::Demos).map(|()| Self))
    }
}

fn form_again(base_url: &str, form: &DemoForm, problem: &FormProblem) -> Page {
    let DemoForm { domain, controller_name } = form.echo();
    let FormProblem { status, error, error_field } = problem;
    let content = context! { domain, controller_name, error, error_field };
    Page::with_status(*status, page(base_url, "pages/demo.html", "Demo", content))
}

fn result_page(base_url: &str, tag: &DemoTag) -> Page {
    let pixel_id = &tag.configured.pixel_id;
    let title = format!("Demo tag for {}", tag.host);
    let content = context! {
        domain: tag.host.as_str(),
        controller_name: &tag.controller_name,
        keeps_name: tag.keeps_name,
        pixel_id,
        snippet: &tag.configured.snippet,
        policy_url: &tag.configured.policy_url,
        preview_url: format!("{base_url}/demo/preview/{pixel_id}"),
        ends_on: tag.ends_at.map(|time| time.format("%Y-%m-%d").to_string()),
    };
    Page::ok(page(base_url, "pages/demo_result.html", &title, content))
}

/// A page that may also load the identification tag, which the popup starts after an acceptance.
struct PreviewPage {
    page: Page,
    tag_origin: String,
}

impl<'r> Responder<'r, 'static> for PreviewPage {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let policy = page_policy_with_scripts_of(&self.tag_origin);
        Response::build_from(self.page.respond_to(request)?)
            .header(Header::new("Content-Security-Policy", policy))
            .ok()
    }
}

refusals!(PreviewRefusals: [Infra]);

/// A page with the popup of a demo tag
#[utoipa::path(
    tag = "Pages",
    operation_id = "preview_demo",
    params(("pixel" = PixelRef, Path, description = "Canonical id or alias.")),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 404, description = "There is no such demo tag", content_type = "text/html", body = String),
        PreviewRefusals,
    ),
)]
#[get("/demo/preview/<pixel>")]
async fn preview(app: &State<App>, pixel: &str) -> Result<PreviewPage, Result<Page>> {
    let site = app.sites.find_text(pixel).await.map_err(Err)?;
    let is_demo = |site: &Site| site.pixel.account_id.as_str() == DEMO_ACCOUNT;
    let served = site.filter(|site| is_demo(site) && site.policy_in_force().is_some());
    let Some(site) = served else { return Err(Ok(no_preview(app.infra.base_url()))) };
    let pixel_id = &site.pixel.pixel_id;
    let script_url = script_url(app.infra.base_url(), pixel_id);
    let content = context! { pixel_id, script_url };
    Ok(PreviewPage {
        page: Page::ok(page(app.infra.base_url(), "pages/demo_preview.html", "Preview", content)),
        tag_origin: tag_origin(&app.infra.config),
    })
}

/// The preview of the tag for the service's own host
#[utoipa::path(
    tag = "Pages",
    operation_id = "preview_own_demo",
    responses(
        (status = 303, description = "To its preview", headers(("Location" = String, description = "The preview's address."))),
        (status = 404, description = "There is no such demo tag", content_type = "text/html", body = String),
        PreviewRefusals,
    ),
)]
#[get("/demo/preview")]
async fn preview_own(app: &State<App>) -> Result<Redirect, Result<Page>> {
    match own_pixel(&app.infra.pool, &app.infra.base_host()).await.map_err(Err)? {
        Some(pixel_id) => Ok(Redirect::to(format!("/demo/preview/{pixel_id}"))),
        None => Err(Ok(no_preview(app.infra.base_url()))),
    }
}

fn no_preview(base_url: &str) -> Page {
    let content = context! {
        status: 404,
        title: "No such demo tag",
        detail: "It may have ended: demo tags last 30 days, or until an account makes a pixel for the same host.",
        step_href: "/demo",
        step_label: "Make a demo tag",
    };
    Page::with_status(404, page(base_url, "pages/error.html", "No such demo tag", content))
}

fn tag_origin(config: &Config) -> String {
    let url = Url::parse(&config.tag_cdn_base);
    url.map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}
