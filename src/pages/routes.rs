//! HTTP routes of the pages.

use rocket::{Route, State, get, routes};
use rocket_dyn_templates::Template;
use rocket_dyn_templates::context;

use super::layout::page;
use crate::http::client::RequestHost;
use crate::http::html::Page;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![front, pixel_site, permission_site, log]
}

/// The front page of the site that the Host header names, else the API's home.
#[get("/")]
fn front(platform: &State<Platform>, host: RequestHost) -> Page {
    let config = &platform.config;
    Page::ok(match host.0 {
        host if host.is_some() && host == config.pixel_site_host => pixel_page(platform),
        host if host.is_some() && host == config.permission_site_host => permission_page(platform),
        _ => page(platform, "pages/home", "Assent", context! {}),
    })
}

#[get("/site/pixel")]
fn pixel_site(platform: &State<Platform>) -> Page {
    Page::ok(pixel_page(platform))
}

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

#[get("/log")]
fn log(platform: &State<Platform>) -> Page {
    Page::ok(page(platform, "pages/log", "Consent log", context! {}))
}
