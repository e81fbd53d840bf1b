use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use url::Url;

use crate::accounts::account::TRIAL;
use crate::accounts::capability::NoInput;
use crate::accounts::sign_in::proof::Proof;
use crate::billing::whoami::ShowCaller;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::PixelRequest;
use crate::pixels::setup::CreatePixel;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::{price, sentence};

pub fn routes() -> Vec<Route> {
    routes![name_site, add_site]
}

const NEW_SITE: Screen<'static> = Screen {
    template: "console/new_site.html",
    title: tr("Add site"),
    location: NavLocation::Sites,
    calls: &["POST /v1/pixels"],
};

#[get("/console/sites/new")]
async fn name_site(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    member.member.sites.require_all()?;
    let domain = query.present("domain").unwrap_or_default();
    let more_sites = more_sites(&member).await?;
    Ok(member.screen(NEW_SITE, context! { domain, more_sites, by_mail: by_mail(&member) }))
}

fn by_mail(member: &Member<'_>) -> bool {
    Proof::of(&member.app.infra.outbox) == Proof::Mail
}

/// The price of more sites, if the account has all the sites that its plan includes.
async fn more_sites(member: &Member<'_>) -> Result<Option<Message>> {
    let allowance = member.ask::<ShowCaller>(NoInput {}).await?.allowance;
    let included = allowance.pixels_included.filter(|most| allowance.pixels_used >= *most);
    Ok(included.map(price_after))
}

/// The price of a site beyond those that an account includes.
fn price_after(included: i64) -> Message {
    tr("Your account includes {{ number }} site{{ number | pluralize }}. One more needs another account: {{ price }} after a {{ days }}-day trial.")
        .with("number", included)
        .with("price", price())
        .with("days", TRIAL.num_days())
}

pub fn host_of(typed: &str) -> String {
    let is_page = typed.contains(['/', '?', '#']);
    let host = is_page.then(|| host_of_page(typed)).flatten();
    host.unwrap_or_else(|| typed.to_owned())
}

/// The host of an address as copied from a browser, with or without its scheme.
fn host_of_page(typed: &str) -> Option<String> {
    let url = match typed.contains("://") {
        true => Url::parse(typed),
        false => Url::parse(&format!("https://{typed}")),
    };
    let url = url.ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.host_str().map(str::to_owned)
}

#[post("/console/sites", data = "<form>")]
async fn add_site(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let typed = form.text("domain");
    let domain = Some(host_of(&typed));
    match member.ask::<CreatePixel>(PixelRequest { domain, method: None }).await {
        Ok(pixel) => {
            let is_as_typed = typed.eq_ignore_ascii_case(pixel.domain.as_str());
            let done = if is_as_typed { "" } else { "?done=taken" };
            Ok(Reply::to(format!("/console/sites/{}/popup{done}", pixel.pixel_id)))
        }
        Err(error) if is_about_the_field(&error) => {
            let is_elsewhere = matches!(error, Error::DomainRegistered);
            let more_sites = more_sites(&member).await?;
            let (domain, error_text, by_mail) = (typed, sentence(&error), by_mail(&member));
            let content = context! { domain, error: error_text, is_elsewhere, more_sites, by_mail };
            Ok(member.screen_with_status(error.status(), NEW_SITE, content))
        }
        Err(error) => Err(error.into()),
    }
}

fn is_about_the_field(error: &Error) -> bool {
    matches!(
        error,
        Error::DomainRequired
            | Error::DomainIsPage
            | Error::DomainNotHost
            | Error::DomainRegistered
            | Error::MoveUnderWay
            | Error::PixelAllowanceReached { .. }
            | Error::Naming { .. }
            | Error::Validation(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn the_price_of_one_more_site_is_named() {
        let trial = "1 USD a month after a 30-day trial.";
        let sites = "Your account includes 3 sites. One more needs another account:";
        assert_eq!(in_english(&price_after(3)), format!("{sites} {trial}"));
    }

    #[test]
    fn the_host_is_taken_out_of_an_address() {
        for (typed, host) in [
            ("https://www.shop.example/path?a=1#b", "www.shop.example"),
            ("HTTP://Shop.Example", "shop.example"),
            ("www.shop.example/", "www.shop.example"),
            ("shop.example?from=mail", "shop.example"),
            ("https://ann:secret@shop.example:8443/", "shop.example"),
        ] {
            assert_eq!(host_of_page(typed).as_deref(), Some(host), "{typed}");
        }
        for typed in ["ftp://shop.example/", "https://", "", "</b>"] {
            assert_eq!(host_of_page(typed), None, "{typed}");
        }
    }
}
