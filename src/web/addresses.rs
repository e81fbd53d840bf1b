//! Redirects from addresses that people type, bookmark or reload. A browser may send a `GET` to a console address
//! that accepts only forms, for example to reopen it after a refusal. That is redirected to the page with the form:
//! the nearest page above the address, or the one in [`FORM_PAGES`].

use rocket::http::Method;
use rocket::response::Responder;
use rocket::route::{Handler, Outcome};
use rocket::{Data, Request, Route};

use super::console::kit::reply::Reply;

/// Paths that people expect at any service, and their pages.
const COMMON: &[(&str, &str)] = &[
    ("/login", "/console/sign-in"),
    ("/log-in", "/console/sign-in"),
    ("/signin", "/console/sign-in"),
    ("/sign-in", "/console/sign-in"),
    ("/signup", "/console/sign-up"),
    ("/sign-up", "/console/sign-up"),
    ("/register", "/console/sign-up"),
    ("/logout", "/console"),
    ("/dashboard", "/console"),
    ("/account", "/console/account"),
    ("/billing", "/console/account#plan"),
    ("/pricing", "/#price"),
    ("/support", "/contact"),
    ("/faq", "/help"),
    ("/console/sites", "/console"),
    ("/console/login", "/console/sign-in"),
];

/// Forms whose page is not at a parent of their path.
const FORM_PAGES: &[(&str, &str)] = &[
    ("/console/claims", "/console/sites/new"),
    ("/console/sites/<pixel_id>/check", "/console/sites/<pixel_id>/install"),
    ("/console/sites/<pixel_id>/mail", "/console/sites/<pixel_id>/install"),
    ("/console/account/name", "/console/account/profile"),
    ("/console/account/address", "/console/account/profile"),
    ("/console/account/address/keep", "/console/account/profile"),
    ("/console/account/end", "/console/account/leave"),
];

/// The rank behind all other routes, so that a page takes precedence over a redirect.
const LAST: isize = 50;

pub fn routes(console: &[Route]) -> Vec<Route> {
    let common = COMMON.iter().map(|(from, to)| redirect(from, (*to).to_owned()));
    common.chain(form_routes(console)).collect()
}

fn form_routes(console: &[Route]) -> impl Iterator<Item = Route> {
    let pages = paths(console, Method::Get);
    let forms = paths(console, Method::Post);
    let is_common = |path: &&str| COMMON.iter().any(|(from, _)| from == path);
    let only_forms = forms.into_iter().filter(|path| !pages.contains(path) && !is_common(path));
    let only_forms = only_forms.map(str::to_owned).collect::<Vec<_>>();
    let pages = pages.into_iter().map(str::to_owned).collect::<Vec<_>>();
    only_forms.into_iter().map(move |form| redirect(&form, page_of(&form, &pages)))
}

fn paths(routes: &[Route], method: Method) -> Vec<&str> {
    routes.iter().filter(|route| route.method == method).map(|route| route.uri.path()).collect()
}

/// The path of the page with a form, with the parameters of the form's path.
fn page_of(form: &str, pages: &[String]) -> String {
    if let Some((_, page)) = FORM_PAGES.iter().find(|(path, _)| *path == form) {
        return (*page).to_owned();
    }
    let mut above = form;
    while let Some((shorter, _)) = above.rsplit_once('/') {
        if pages.iter().any(|page| page == shorter) {
            return shorter.to_owned();
        }
        above = shorter;
    }
    "/console".to_owned()
}

fn redirect(from: &str, to: String) -> Route {
    Route::ranked(LAST, Method::Get, from, LeadTo(to))
}

/// Redirects to a path. Its parameters are taken from the same positions of the request's path.
#[derive(Clone)]
struct LeadTo(String);

#[rocket::async_trait]
impl Handler for LeadTo {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        match Reply::to(filled(&self.0, request.uri().path().as_str())).respond_to(request) {
            Ok(response) => Outcome::Success(response),
            Err(status) => Outcome::Error(status),
        }
    }
}

fn filled(pattern: &str, path: &str) -> String {
    let mut given = path.split('/').filter(|segment| !segment.is_empty());
    let mut filled = String::new();
    for segment in pattern.split('/').skip(1) {
        let given = given.next().unwrap_or_default();
        let segment = if segment.starts_with('<') { given } else { segment };
        filled.push('/');
        filled.push_str(segment);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_to_the_nearest_page_above_it() {
        let pages = ["/console", "/console/account", "/console/a/<id>"].map(str::to_owned);
        for (form, page) in [
            ("/console/account/keys", "/console/account"),
            ("/console/a/<id>/test", "/console/a/<id>"),
            ("/console/b/<id>/end", "/console"),
            ("/console/account/end", "/console/account/leave"),
        ] {
            assert_eq!(page_of(form, &pages), page);
        }
    }

    #[test]
    fn parameters_keep_their_values_and_empty_segments_do_not_count() {
        let pattern = "/console/sites/<pixel_id>/install";
        for path in ["/console/sites/a_1/check", "//console//sites/a_1/check/"] {
            assert_eq!(filled(pattern, path), "/console/sites/a_1/install");
        }
        assert_eq!(filled("/#price", "/pricing"), "/#price");
    }
}
