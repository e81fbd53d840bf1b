use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use url::Url;

use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::pixels::input::PixelRequest;
use crate::pixels::setup::CreatePixel;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{Place, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![name_site, add_site]
}

const NEW_SITE: Screen<'static> = Screen {
    template: "console/new_site.html",
    title: "Add site",
    place: Place::Sites,
    calls: &["POST /v1/pixels"],
};

#[get("/console/sites/new")]
async fn name_site(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    member.member.sites.require_all()?;
    let domain = query.present("domain").unwrap_or_default();
    Ok(member.screen(NEW_SITE, context! { domain }))
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
            let is_full = matches!(error, Error::PixelAllowanceReached { .. });
            let content =
                context! { domain: typed, error: sentence(&error), is_elsewhere, is_full };
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
