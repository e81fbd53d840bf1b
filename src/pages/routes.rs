//! HTTP routes of the pages.

use rocket::{State, get};
use rocket_dyn_templates::Template;
use rocket_dyn_templates::context;

use super::layout::page;
use crate::http::client::RequestHost;
use crate::http::described::described_routes;
use crate::http::html::Page;
use crate::platform::Platform;

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
fn front(platform: &State<Platform>, host: RequestHost) -> Page {
    let config = &platform.config;
    Page::ok(match host.0 {
        host if host.is_some() && host == config.pixel_site_host => pixel_page(platform),
        host if host.is_some() && host == config.permission_site_host => permission_page(platform),
        _ => page(platform, "pages/home", "Assent", context! {}),
    })
}

/// The page about the pixel
#[utoipa::path(
    tag = "Pages",
    operation_id = "pixel_site",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/site/pixel")]
fn pixel_site(platform: &State<Platform>) -> Page {
    Page::ok(pixel_page(platform))
}

/// The page about the permission popup
#[utoipa::path(
    tag = "Pages",
    operation_id = "permission_site",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/site/permission")]
fn permission_site(platform: &State<Platform>) -> Page {
    Page::ok(permission_page(platform))
}

fn pixel_page(platform: &Platform) -> Template {
    page(platform, "pages/site_pixel", "The pixel", context! {})
}

fn permission_page(platform: &Platform) -> Template {
    page(platform, "pages/site_permission", "The permission popup", context! {})
}

/// A page that shows a pixel's consent log
#[utoipa::path(
    tag = "Pages",
    operation_id = "log_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/log")]
fn log(platform: &State<Platform>) -> Page {
    Page::ok(page(platform, "pages/log", "Consent log", context! {}))
}
