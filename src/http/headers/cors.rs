//! CORS for visitors' routes, and for the OAuth routes of apps: any origin may call them, without credentials.

use rocket::http::{Header, Method, Status};
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Response, Route};

use crate::browser::tag_service::TAG_MODULES;

/// The routes for pages of any origin, except the modules of the tag: the pattern, and the method that needs a
/// preflight. Scripts do not need one.
const VISITOR_ROUTES: [(&str, Option<&str>); 30] = [
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
    // The pattern above also matches the preflights of these routes.
    ("/log/tile/<level>/<tile..>", None),
    ("/log/tile/entries/<bundle..>", None),
];

/// All routes for pages of any origin, including the modules of the tag.
pub fn visitor_routes() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let modules = TAG_MODULES.iter().map(|&module| (module, None));
    VISITOR_ROUTES.iter().copied().chain(modules)
}

pub fn is_visitor_path(path: &str) -> bool {
    let fixed = |pattern: &'static str| pattern.split('<').next().unwrap_or(pattern);
    visitor_routes().any(|(pattern, _)| path.starts_with(fixed(pattern)))
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
    let asked = visitor_routes().filter_map(|(pattern, method)| Some((pattern, method?)));
    asked.map(|(path, method)| Route::new(Method::Options, path, Preflight(method))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tag_service::Service;

    #[test]
    fn every_route_of_consent_for_pages_of_any_origin_is_exempt_from_the_watch() {
        let base = "https://consent.example";
        let service = Service::of(base).unwrap();
        let routes = visitor_routes().map(|(route, _)| route);
        let routes = routes.filter(|route| route.starts_with("/v1/consent/"));
        let leaks = routes.filter(|route| !service.is_exempt(&format!("{base}{route}")));
        assert_eq!(leaks.collect::<Vec<_>>(), [""; 0]);
    }
}
