use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use url::form_urlencoded;

use crate::accounts::account::{PIXELS_INCLUDED, TRIAL};
use crate::accounts::clients::another_account::{AnotherAccount, OpenAnotherAccount};
use crate::accounts::sign_in::proof::Proof;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::tr;
use crate::web::console::kit::browser::Browser;
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::{price, sentence};

pub fn routes() -> Vec<Route> {
    routes![name_account, open_account]
}

const ADDRESS: &str = "/console/accounts/another";

const ANOTHER_ACCOUNT: Screen<'static> = Screen {
    template: "console/another_account.html",
    title: tr("Open another account"),
    location: NavLocation::Sites,
    calls: &[],
};

/// An address with the domain of the first site, if it is known.
fn with_domain(path: &str, domain: &str) -> String {
    if domain.is_empty() {
        return path.to_owned();
    }
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair("domain", domain).finish();
    format!("{path}?{query}")
}

#[get("/console/accounts/another")]
async fn name_account(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let domain = query.present("domain").unwrap_or_default();
    if Proof::of(&member.app.infra.outbox) != Proof::Mail {
        let sign_up = with_domain("/console/sign-up", domain);
        let mark = if domain.is_empty() { '?' } else { '&' };
        return Ok(Reply::to(format!("{sign_up}{mark}another=yes")));
    }
    Ok(another_account_screen(&member, 200, "", domain, None))
}

fn another_account_screen(
    member: &Member<'_>,
    status: u16,
    display_name: &str,
    domain: &str,
    wrong: Option<&Error>,
) -> Reply {
    let content = context! {
        display_name,
        domain,
        here: with_domain(ADDRESS, domain),
        is_fresh: member.is_fresh(),
        email: &member.member.address,
        sites: PIXELS_INCLUDED,
        price: price(),
        trial_days: TRIAL.num_days(),
        error: wrong.map(sentence),
    };
    member.screen_with_status(status, ANOTHER_ACCOUNT, content)
}

#[post("/console/accounts/another", data = "<form>")]
async fn open_account(member: Member<'_>, browser: Browser, form: Form) -> Result<Reply, Refusal> {
    let (display_name, domain) = (form.text("display_name"), form.text("domain"));
    if !member.is_fresh() {
        return Ok(another_account_screen(&member, 403, &display_name, &domain, None));
    }
    let request = AnotherAccount { display_name: display_name.clone(), browser: browser.0 };
    match member.ask::<OpenAnotherAccount>(request).await {
        Ok(session) => {
            cookies::replace_secret(
                &member.app.infra.clock,
                member.app.infra.base_url(),
                member.jar,
                &session,
            );
            Ok(Reply::to(with_domain("/console/sites/new", &domain)))
        }
        Err(error) if error.status() < 500 => {
            let status = error.status();
            Ok(another_account_screen(&member, status, &display_name, &domain, Some(&error)))
        }
        Err(error) => Err(error.into()),
    }
}
