//! CORS for visitor routes, and for those of OAuth that apps call: any origin may, without credentials.

use rocket::http::{Header, Method, Status};
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Response, Route};

/// The routes for pages of any origin: the pattern, and the method that needs a preflight. Scripts need none.
pub const VISITOR_ROUTES: [(&str, Option<&str>); 39] = [
    ("/v1/consent/record", Some("POST")),
    ("/api/v1/pixel/fire", Some("POST")),
    ("/v1/consent/shown", Some("POST")),
    ("/v1/consent/check", Some("GET")),
    ("/v1/consent/receipt", Some("GET")),
    ("/api/v1/consent/receipt", Some("GET")),
    ("/v1/consent/verify", Some("POST")),
    ("/v1/consent/proof", Some("GET")),
    ("/v1/consent/proof/verify", Some("POST")),
    ("/v1/consent/erasure-requests", Some("POST")),
    ("/v1/policy/<pixel>", Some("GET")),
    ("/api/v1/policy/<pixel>", Some("GET")),
    ("/external_api/install-pixel/tag-pixel", Some("GET")),
    ("/px/<file>", Some("GET")),
    ("/pixels/<pixel>/p.js", None),
    ("/pixel.js", None),
    ("/pixel.dev.js", None),
    ("/pixel_popup.js", None),
    ("/preferences.js", None),
    ("/extras.js", None),
    ("/placeholders.js", None),
    ("/signals.js", None),
    ("/compat.js", None),
    ("/hints.js", None),
    ("/recheck.js", None),
    ("/controls.js", None),
    ("/share.js", None),
    ("/assent.d.ts", None),
    ("/.well-known/oauth-protected-resource", Some("GET")),
    ("/.well-known/oauth-protected-resource/mcp/<set..>", Some("GET")),
    ("/.well-known/oauth-authorization-server", Some("GET")),
    ("/oauth/register", Some("POST")),
    ("/oauth/token", Some("POST")),
    ("/oauth/revoke", Some("POST")),
    ("/log/checkpoint", Some("GET")),
    ("/log/policy", Some("GET")),
    ("/log/<number>/<part..>", Some("GET")),
    // The line above covers their preflights.
    ("/log/tile/<level>/<tile..>", None),
    ("/log/tile/entries/<bundle..>", None),
];

pub fn is_visitor_path(path: &str) -> bool {
    let fixed = |pattern: &'static str| pattern.split('<').next().unwrap_or(pattern);
    VISITOR_ROUTES.iter().any(|(pattern, _)| path.starts_with(fixed(pattern)))
}

pub fn share(response: &mut Response<'_>) {
    response.set_header(Header::new("Access-Control-Allow-Origin", "*"));
    response.set_header(Header::new("Cross-Origin-Resource-Policy", "cross-origin"));
}

#[derive(Clone)]
struct Preflight(&'static str);

#[rocket::async_trait]
impl Handler for Preflight {
    async fn handle<'r>(&self, _: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        let response = Response::build()
            .status(Status::NoContent)
            .raw_header("Access-Control-Allow-Methods", self.0)
            // Monitoring scripts of a page may add their own headers to every request.
            .raw_header("Access-Control-Allow-Headers", "*")
            .raw_header("Access-Control-Max-Age", "86400")
            .finalize();
        Outcome::Success(response)
    }
}

pub fn preflight_routes() -> Vec<Route> {
    let asked = VISITOR_ROUTES.iter().filter_map(|(pattern, method)| Some((pattern, (*method)?)));
    asked.map(|(path, method)| Route::new(Method::Options, path, Preflight(method))).collect()
}
