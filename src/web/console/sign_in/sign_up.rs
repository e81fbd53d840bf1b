use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use url::form_urlencoded;

use super::{code_address, next_of, sign_in_address};
use crate::accounts::sign_in::proof::takes_signups;
use crate::accounts::sign_in::sign_up::{SignUp, SignUpRequest, SignUpStep};
use crate::error::Error;
use crate::http::query::Query;
use crate::infra::templates::tr;
use crate::web::console::kit::browser::Browser;
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::OpenForm;
use crate::web::console::kit::member::Visitor;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![sign_up, open_account]
}

#[derive(Clone, Default, Serialize)]
struct Typed {
    email: String,
    display_name: String,
    domain: String,
    /// The page to open after the sign-up; empty if a first site is to be added.
    next: String,
}

impl Typed {
    fn first_step(&self) -> String {
        const NEW_SITE: &str = "/console/sites/new";
        if !self.next.is_empty() {
            return next_of(Some(&self.next)).to_owned();
        }
        if self.domain.is_empty() {
            return NEW_SITE.to_owned();
        }
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("domain", &self.domain)
            .finish();
        format!("{NEW_SITE}?{query}")
    }
}

#[get("/console/sign-up")]
async fn sign_up(visitor: Visitor<'_>, query: Query) -> Result<Reply, Refusal> {
    let domain = query.present("domain").unwrap_or_default().to_owned();
    let next = query.present("next").unwrap_or_default().to_owned();
    let typed = Typed { domain, next, ..Typed::default() };
    // A signed-in member may open another account, for more sites.
    if query.present("another").is_none() && visitor.is_signed_in().await? {
        let is_plain = typed.domain.is_empty() && typed.next.is_empty();
        return Ok(Reply::to(if is_plain { "/console".to_owned() } else { typed.first_step() }));
    }
    Ok(sign_up_page(&visitor, 200, &typed, None))
}

fn sign_up_page(visitor: &Visitor<'_>, status: u16, typed: &Typed, wrong: Option<&Error>) -> Reply {
    let field = match wrong {
        Some(Error::InvalidEmail | Error::EmailRegistered) => "email",
        Some(Error::DisplayNameRequired | Error::Naming { .. }) => "display_name",
        _ => "",
    };
    let takes_signups = takes_signups(&visitor.app.infra.outbox, &visitor.app.infra.base_host());
    let sign_in = match typed.next.is_empty() {
        true => "/console/sign-in".to_owned(),
        false => sign_in_address(&typed.next),
    };
    let content = context! { typed, field, takes_signups, sign_in, error: wrong.map(sentence) };
    visitor.page(status, "console/sign_up.html", tr("Sign up"), content)
}

#[post("/console/sign-up", data = "<form>")]
async fn open_account(
    visitor: Visitor<'_>,
    browser: Browser,
    form: OpenForm,
) -> Result<Reply, Refusal> {
    let typed = Typed {
        email: form.text("email"),
        display_name: form.text("display_name"),
        domain: form.text("domain"),
        next: form.text("next"),
    };
    let infra = &visitor.app.infra;
    let request = SignUpRequest {
        email: typed.email.clone(),
        display_name: typed.display_name.clone(),
        browser: browser.0,
        former: cookies::session(infra.base_url(), visitor.jar),
    };
    match visitor.ask::<SignUp>(request).await {
        Ok(SignUpStep::Code(started)) => {
            cookies::keep_sign_in(infra.base_url(), visitor.jar, &started);
            Ok(Reply::to(code_address(&typed.first_step())))
        }
        Ok(SignUpStep::SignedIn(session)) => {
            cookies::keep_session(&infra.clock, infra.base_url(), visitor.jar, &session);
            Ok(Reply::to(typed.first_step()))
        }
        Err(error) if error.status() < 500 => {
            let status = error.status();
            Ok(sign_up_page(&visitor, status, &typed, Some(&error)))
        }
        Err(error) => Err(error.into()),
    }
}
