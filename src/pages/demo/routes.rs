//! HTTP routes of the demo.

use rocket::http::Header;
use rocket::response::{self, Redirect, Responder};
use rocket::{Request, Response, State, get, post};
use rocket_dyn_templates::context;
use url::Url;

use super::form::{DemoForm, FormProblem};
use super::provision::{DemoTag, own_pixel, provision};
use crate::accounts::DEMO_ACCOUNT;
use crate::consent::directory::{Directory, Site};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::described::described_routes;
use crate::http::headers::page_policy_with_scripts_of;
use crate::http::html::Page;
use crate::http::rate_limit::{Demos, Limited};
use crate::http::refusals::refusals;
use crate::ids::PixelRef;
use crate::pages::layout::page;
use crate::platform::Platform;

described_routes![demo, provision_tag, preview, preview_own];

/// The demo's form
#[utoipa::path(
    tag = "Pages",
    operation_id = "demo_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/demo")]
fn demo(platform: &State<Platform>) -> Page {
    Page::ok(page(platform, "pages/demo", "Demo", context! {}))
}

refusals!(ProvisionTagRefusals: [Limited<Demos>, Body<16>, Platform]);

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
async fn provision_tag(
    platform: &State<Platform>,
    _limited: Limited<Demos>,
    body: Body<16>,
) -> Result<Page> {
    let form = DemoForm::read(&body);
    let wish = match form.check(platform) {
        Ok(wish) => wish,
        Err(problem) => return Ok(form_again(platform, &form, &problem)),
    };
    match provision(platform, wish).await {
        Ok(tag) => Ok(result_page(platform, &tag)),
        Err(error) => Ok(form_again(platform, &form, &FormProblem::about_domain(error)?)),
    }
}

fn form_again(platform: &Platform, form: &DemoForm, problem: &FormProblem) -> Page {
    let DemoForm { domain, controller_name } = form.echo();
    let FormProblem { status, error, error_field } = problem;
    let content = context! { domain, controller_name, error, error_field };
    Page::with_status(*status, page(platform, "pages/demo", "Demo", content))
}

fn result_page(platform: &Platform, tag: &DemoTag) -> Page {
    let pixel_id = &tag.configured.pixel_id;
    let title = format!("Demo tag for {}", tag.host);
    let content = context! {
        domain: tag.host.as_str(),
        controller_name: &tag.controller_name,
        pixel_id,
        snippet: &tag.configured.snippet,
        policy_url: &tag.configured.policy_url,
        preview_url: format!("{}/demo/preview/{pixel_id}", platform.base_url()),
        ends_on: tag.ends_at.map(|time| time.format("%Y-%m-%d").to_string()),
    };
    Page::ok(page(platform, "pages/demo_result", &title, content))
}

/// A page that may also load the identification tag, which the popup starts after a "yes".
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

refusals!(PreviewRefusals: [Platform]);

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
async fn preview(
    platform: &State<Platform>,
    directory: &State<Directory>,
    pixel: &str,
) -> Result<PreviewPage, Result<Page>> {
    let site = directory.find_text(pixel).await.map_err(Err)?;
    let is_demo = |site: &Site| site.pixel.account_id.as_str() == DEMO_ACCOUNT;
    let served = site.filter(|site| is_demo(site) && site.policy_in_force().is_some());
    let Some(site) = served else { return Err(Ok(no_preview(platform))) };
    let pixel_id = &site.pixel.pixel_id;
    let script_url = format!("{}/px/{pixel_id}.js", platform.base_url());
    let content = context! { pixel_id, script_url };
    Ok(PreviewPage {
        page: Page::ok(page(platform, "pages/demo_preview", "Preview", content)),
        tag_origin: tag_origin(platform),
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
async fn preview_own(platform: &State<Platform>) -> Result<Redirect, Result<Page>> {
    match own_pixel(platform).await.map_err(Err)? {
        Some(pixel_id) => Ok(Redirect::to(format!("/demo/preview/{pixel_id}"))),
        None => Err(Ok(no_preview(platform))),
    }
}

fn no_preview(platform: &Platform) -> Page {
    let content = context! {
        status: 404,
        title: "No such demo tag",
        detail: "It may have ended: demo tags last 30 days, or until an account makes a pixel for the same host.",
    };
    Page::with_status(404, page(platform, "pages/error", "No such demo tag", content))
}

/// Where the identification tag comes from, for a content security policy.
fn tag_origin(platform: &Platform) -> String {
    let url = Url::parse(&platform.config.tag_cdn_base);
    url.map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}
