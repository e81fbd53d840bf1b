//! The page that verifies proofs: one file that can be saved and opened without a network.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rocket::http::Header;
use rocket::response::content::RawHtml;
use rocket::response::{self, Responder};
use rocket::{Request, Response, get};
use sha2::{Digest, Sha256};

use crate::http::described::described_routes;
use crate::http::html::markdown::negotiated;

described_routes![verify];

pub const PAGE: &str = include_str!("verify.html");

/// The page may only run its own script and show its own style.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let (style, script) = (hash_of("style"), hash_of("script"));
    format!(
        "default-src 'none'; style-src {style}; script-src {script}; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

fn hash_of(element: &str) -> String {
    let inside = |text: &'static str| {
        let (_, rest) = text.split_once(&format!("<{element}>"))?;
        Some(rest.split_once(&format!("</{element}>"))?.0)
    };
    let text = inside(PAGE).unwrap_or_default();
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

struct Whole;

impl<'r> Responder<'r, 'static> for Whole {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let page = Response::build_from(RawHtml(PAGE).respond_to(request)?)
            .header(Header::new("Content-Security-Policy", POLICY.as_str()))
            .header(Header::new("Cache-Control", "public, max-age=300"))
            .finalize();
        Ok(negotiated(request, page, None))
    }
}

/// A page that checks proofs
///
/// In the browser alone: nothing is sent to anybody. It works saved to a disk too.
#[utoipa::path(
    tag = "Pages",
    operation_id = "verify_page",
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/verify")]
fn verify() -> Whole {
    Whole
}
