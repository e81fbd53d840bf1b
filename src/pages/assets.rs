//! Style sheets, scripts and pictures of our own pages, embedded in the program.

use rocket::http::{ContentType, Header};
use rocket::{Responder, Route, get, routes};

use crate::error::{Error, Result};

pub fn routes() -> Vec<Route> {
    routes![asset, favicon]
}

const ASSETS: [(&str, &str, &str); 6] = [
    ("copy.js", "text/javascript; charset=utf-8", include_str!("../../assets/copy.js")),
    ("site.css", "text/css; charset=utf-8", include_str!("../../assets/site.css")),
    ("guide.js", "text/javascript; charset=utf-8", include_str!("../../assets/guide.js")),
    ("log.js", "text/javascript; charset=utf-8", include_str!("../../assets/log.js")),
    ("preview.js", "text/javascript; charset=utf-8", include_str!("../../assets/preview.js")),
    ("favicon.svg", "image/svg+xml", include_str!("../../assets/favicon.svg")),
];

#[derive(Responder)]
struct Asset {
    text: &'static str,
    kind: ContentType,
    cache: Header<'static>,
}

#[get("/assets/<name>")]
fn asset(name: &str) -> Result<Asset> {
    let (_, kind, text) =
        ASSETS.iter().find(|(known, _, _)| *known == name).ok_or(Error::NotFound)?;
    Ok(Asset {
        text,
        kind: ContentType::parse_flexible(kind).ok_or(Error::NotFound)?,
        cache: Header::new("Cache-Control", "public, max-age=300"),
    })
}

#[get("/favicon.ico")]
fn favicon() -> Result<Asset> {
    asset("favicon.svg")
}
