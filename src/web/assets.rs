use rocket::http::{ContentType, Header};
use rocket::{Responder, get};

use crate::error::{Error, Result};
use crate::http::described::described_routes;
use crate::http::refusals::refusals;

described_routes![asset, favicon, types];

const ASSETS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

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
    let (_, text) = ASSETS.iter().find(|(known, _)| *known == name).ok_or(Error::NotFound)?;
    let (_, extension) = name.rsplit_once('.').ok_or(Error::NotFound)?;
    Ok(Asset {
        text,
        kind: kind_of(extension).ok_or(Error::NotFound)?,
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

/// The types of `window.assent`, its queue and its attributes, for TypeScript
#[utoipa::path(
    tag = "Pages",
    operation_id = "tag_types",
    responses((status = 200, description = "The declarations", content_type = "text/plain", body = String)),
)]
#[get("/assent.d.ts")]
fn types() -> Result<Asset> {
    asset("assent.d.ts")
}

fn kind_of(extension: &str) -> Option<ContentType> {
    match extension {
        // The registered media type of `.ts` is a video format.
        "ts" => Some(ContentType::Plain),
        "js" => ContentType::parse_flexible("text/javascript; charset=utf-8"),
        other => ContentType::from_extension(other),
    }
}
