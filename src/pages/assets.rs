//! Style sheets, scripts and pictures of our own pages, embedded in the program.

use rocket::http::{ContentType, Header};
use rocket::{Responder, get};

use crate::error::{Error, Result};
use crate::http::described::described_routes;
use crate::http::refusals::refusals;

described_routes![asset, favicon];

const ASSETS: [(&str, &str, &str); 7] = [
    ("copy.js", "text/javascript; charset=utf-8", include_str!("../../assets/copy.js")),
    ("site.css", "text/css; charset=utf-8", include_str!("../../assets/site.css")),
    ("docs.css", "text/css; charset=utf-8", include_str!("../../assets/docs.css")),
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

refusals!(AssetRefusals: [] NotFound);

/// A file that pages load
#[utoipa::path(
    tag = "Pages",
    operation_id = "page_asset",
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The file", content((String = "text/css"), (String = "text/javascript"), (String = "image/svg+xml"))),
        AssetRefusals,
    ),
)]
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

/// The icon
#[utoipa::path(
    tag = "Pages",
    responses((status = 200, description = "The icon", content_type = "image/svg+xml", body = String)),
)]
#[get("/favicon.ico")]
fn favicon() -> Result<Asset> {
    asset("favicon.svg")
}
