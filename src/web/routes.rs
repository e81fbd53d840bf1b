use rocket::{State, get};
use rocket_dyn_templates::context;

use super::layout::page;
use crate::app::App;
use crate::http::client::RequestHost;
use crate::http::described::described_routes;
use crate::http::html::{Page, Template};
use crate::infra::templates::tr;

described_routes![front, pixel_site, permission_site, log];

/// The front page
///
/// The `Host` header picks the pixel's site, the permission popup's site, or the API's home.
#[utoipa::path(
    tag = "Pages",
    operation_id = "front_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/")]
fn front(app: &State<App>, host: RequestHost) -> Page {
    let config = &app.infra.config;
    Page::for_everybody(match host.0 {
        host if host.is_some() && host == config.pixel_site_host => {
            pixel_page(app.infra.base_url())
        }
        host if host.is_some() && host == config.permission_site_host => {
            permission_page(app.infra.base_url())
        }
        _ => page(app.infra.base_url(), "pages/home.html", "Assent", context! {}),
    })
}

/// The page about the pixel
#[utoipa::path(
    tag = "Pages",
    operation_id = "pixel_site",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/site/pixel")]
fn pixel_site(app: &State<App>) -> Page {
    Page::for_everybody(pixel_page(app.infra.base_url()))
}

/// The page about the permission popup
#[utoipa::path(
    tag = "Pages",
    operation_id = "permission_site",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/site/permission")]
fn permission_site(app: &State<App>) -> Page {
    Page::for_everybody(permission_page(app.infra.base_url()))
}

fn pixel_page(base_url: &str) -> Template {
    page(base_url, "pages/site_pixel.html", tr("The pixel"), context! {})
}

fn permission_page(base_url: &str) -> Template {
    page(base_url, "pages/site_permission.html", tr("The permission popup"), context! {})
}

/// A page that shows a pixel's consent log
#[utoipa::path(
    tag = "Pages",
    operation_id = "log_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/log")]
fn log(app: &State<App>) -> Page {
    Page::for_everybody(page(app.infra.base_url(), "pages/log.html", "Consent log", context! {}))
}
