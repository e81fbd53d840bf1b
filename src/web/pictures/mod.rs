use rocket::http::{ContentType, Header};
use rocket::{Responder, Route, get, routes};

pub fn routes() -> Vec<Route> {
    routes![preview, touch_icon]
}

#[derive(Responder)]
struct Picture {
    bytes: &'static [u8],
    kind: ContentType,
    cache: Header<'static>,
}

fn picture(bytes: &'static [u8]) -> Picture {
    let cache = Header::new("Cache-Control", "public, max-age=86400");
    Picture { bytes, kind: ContentType::PNG, cache }
}

/// 1200 × 630 pixels.
#[get("/og.png")]
fn preview() -> Picture {
    picture(include_bytes!("og.png"))
}

/// 512 × 512 pixels.
#[get("/apple-touch-icon.png")]
fn touch_icon() -> Picture {
    picture(include_bytes!("icon.png"))
}
