//! The language menu in the footer of the service's own pages: a form that works without a script.

use rocket::http::CookieJar;
use rocket::http::uri::Origin;
use rocket::request::{FromRequest, Outcome};
use rocket::response::Redirect;
use rocket::{Request, Route, State, post, routes};

use super::console::kit::{cookies, form};
use crate::accounts::members::member::Member;
use crate::accounts::{preferences, sessions};
use crate::app::App;
use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::html::reader::PARAMETER;
use crate::http::problem;
use crate::infra::templates::language::{self, Language};

pub fn routes() -> Vec<Route> {
    routes![choose]
}

/// The signed-in person whose language is chosen, if the request comes from a page of this service.
struct Person(Option<Member>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Person {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, Self::of(request).await)
    }
}

impl Person {
    async fn of(request: &Request<'_>) -> Result<Self> {
        let app = request.rocket().state::<App>();
        let app = app.ok_or_else(|| Error::internal("no app is managed"))?;
        let secret = cookies::session(app.infra.base_url(), request.cookies());
        let secret = secret.filter(|_| form::check_origin(request).is_ok());
        let member = match secret {
            Some(secret) => sessions::find(&app.infra.pool, &app.infra.clock, &secret).await?,
            None => None,
        };
        Ok(Self(member))
    }

    async fn store(&self, app: &App, language: &Language) -> Result<()> {
        let Some(member) = &self.0 else { return Ok(()) };
        preferences::save_language(&app.infra.pool, &app.infra.clock, &member.address, language)
            .await
    }
}

/// Stores the chosen language, and redirects back to the page.
#[post("/language", data = "<body>")]
async fn choose(
    app: &State<App>,
    jar: &CookieJar<'_>,
    person: Person,
    body: Body,
) -> Result<Redirect> {
    let form = body.form();
    if let Some(language) = form.get(PARAMETER).and_then(|tag| language::find(tag)) {
        person.store(app, language).await?;
        cookies::keep_language(app.infra.base_url(), jar, language);
    }
    Ok(Redirect::to(page_of(form.get("to").map(String::as_str)).to_owned()))
}

/// The page with the form, or `/` if the address is not one of this service.
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
