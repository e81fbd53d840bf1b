//! HTTP routes of the pages.

use rocket::{Route, State, get, routes};
use rocket_dyn_templates::{Template, context};

use crate::http::html::Page;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![home, log]
}

#[get("/")]
fn home(platform: &State<Platform>) -> Page {
    Page::ok(Template::render(
        "pages/home",
        context! {
            base_url: platform.base_url(),
            page_title: "Assent",
            lang: "en",
            dir: "ltr",
            has_docs: false,
        },
    ))
}

#[get("/log")]
fn log(platform: &State<Platform>) -> Page {
    Page::ok(Template::render(
        "pages/log",
        context! {
            base_url: platform.base_url(),
            page_title: "Consent log",
            lang: "en",
            dir: "ltr",
        },
    ))
}
