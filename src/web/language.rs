//! The menu of languages at the foot of our own pages: a form, which works without a script.

use rocket::http::uri::Origin;
use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::response::Redirect;
use rocket::time::Duration;
use rocket::{Route, State, post, routes};

use crate::app::App;
use crate::http::body::Body;
use crate::http::html::reader::{COOKIE, PARAMETER};
use crate::infra::templates::language;

const KEPT: Duration = Duration::days(365);

pub fn routes() -> Vec<Route> {
    routes![choose]
}

/// Keeps the chosen language, and leads back to the page.
#[post("/language", data = "<body>")]
fn choose(app: &State<App>, jar: &CookieJar<'_>, body: Body) -> Redirect {
    let form = body.form();
    if let Some(language) = form.get(PARAMETER).and_then(|tag| language::find(tag)) {
        let cookie = Cookie::build((COOKIE, language.tag))
            .path("/")
            .http_only(true)
            .secure(app.infra.base_url().starts_with("https://"))
            .same_site(SameSite::Lax)
            .max_age(KEPT)
            .build();
        jar.add(cookie);
    }
    Redirect::to(page_of(form.get("to").map(String::as_str)).to_owned())
}

/// The page on which the form was, which must be one of this service.
fn page_of(to: Option<&str>) -> &str {
    let is_ours = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
            && Origin::parse(path).is_ok()
    };
    to.filter(is_ours).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::page_of;

    #[test]
    fn the_menu_leads_to_our_own_pages_only() {
        for path in ["/", "/help?q=a%20b", "/v1/email/verify?token=x"] {
            assert_eq!(page_of(Some(path)), path);
        }
        for path in
            ["", "https://evil.example", "//evil.example", "/\\evil.example", "/a\r\nb", "/a|b"]
        {
            assert_eq!(page_of(Some(path)), "/", "{path:?}");
        }
    }
}
