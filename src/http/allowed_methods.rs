//! Which methods a path knows: Rocket answers 404 to a wrong method, HTTP wants a 405 that says
//! what would be right (RFC 9110, section 15.5.6).

use rocket::http::Method;
use rocket::{Request, Route};

/// The methods of all routes that match the request's path, `HEAD` with every `GET`, sorted.
pub fn allowed_methods(request: &Request<'_>) -> Vec<Method> {
    let path = request.uri().path();
    // As Rocket matches: empty segments do not count.
    let segments = path
        .raw_segments()
        .map(|segment| segment.as_str())
        .filter(|segment| !segment.is_empty())
        .collect::<Vec<_>>();
    let mut methods = request
        .rocket()
        .routes()
        .filter(|route| matches(route, &segments))
        .flat_map(|route| match route.method {
            Method::Get => vec![Method::Get, Method::Head],
            other => vec![other],
        })
        .collect::<Vec<_>>();
    methods.sort_by_key(|method| method.as_str());
    methods.dedup();
    methods
}

fn matches(route: &Route, segments: &[&str]) -> bool {
    let pattern =
        route.uri.path().split('/').filter(|segment| !segment.is_empty()).collect::<Vec<_>>();
    let trailing = pattern.last().is_some_and(|last| last.ends_with("..>"));
    let fixed = if trailing { pattern.len() - 1 } else { pattern.len() };
    let lengths_fit = if trailing { segments.len() >= fixed } else { segments.len() == fixed };
    lengths_fit
        && pattern
            .iter()
            .take(fixed)
            .zip(segments)
            .all(|(pattern, segment)| pattern.starts_with('<') || pattern == segment)
}
