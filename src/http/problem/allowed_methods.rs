//! The methods that a path supports. Rocket answers a wrong method with 404; HTTP requires 405 with
//! `Allow` (RFC 9110, section 15.5.6).

use rocket::http::Method;
use rocket::{Request, Route};

use crate::error::{Error, Result};

/// The methods of the most specific routes for the request's path, sorted, with `HEAD` for every `GET`. Fixed
/// segments take precedence over parameters, as in OpenAPI 3.1 ("Path Templating Matching").
pub fn allowed_methods(request: &Request<'_>) -> Vec<Method> {
    let path = request.uri().path();
    // Rocket ignores empty segments when it matches routes.
    let segments = path
        .raw_segments()
        .map(|segment| segment.as_str())
        .filter(|segment| !segment.is_empty())
        .collect::<Vec<_>>();
    let routes = request.rocket().routes().filter(|route| matches(route, &segments));
    let routes = routes.map(|route| (fixed_segments(route), route)).collect::<Vec<_>>();
    let most = routes.iter().map(|(fixed, _)| *fixed).max();
    let mut methods = routes
        .into_iter()
        .filter(|(fixed, _)| Some(*fixed) == most)
        .flat_map(|(_, route)| match route.method {
            Method::Get => vec![Method::Get, Method::Head],
            other => vec![other],
        })
        .collect::<Vec<_>>();
    methods.sort_by_key(|method| method.as_str());
    methods.dedup();
    methods
}

/// Fails with 405 if the parameter is the fixed segment of another path, which does not support the method.
pub fn unless_fixed(parameter: &str, fixed: &str) -> Result<()> {
    if parameter == fixed { Err(Error::MethodNotAllowed) } else { Ok(()) }
}

fn fixed_segments(route: &Route) -> usize {
    let segments = route.uri.path().split('/');
    segments.filter(|segment| !segment.is_empty() && !segment.starts_with('<')).count()
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
