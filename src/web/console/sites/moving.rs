use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::install::{find, find_move};
use super::new_site::host_of;
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::{OfPixel, OnPixel, PixelRequest};
use crate::pixels::moves::{EndMove, LASTS, MoveView};
use crate::pixels::view::PixelView;
use crate::policies::history::ReadConsentConfiguration;
use crate::policies::moving::{CancelMove, MovePixel};
use crate::types::ids::PixelParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![moving, start, end, cancel]
}

fn screen<'a>(pixel: &'a PixelView, template: &'static str, title: Message) -> Screen<'a> {
    Screen {
        template,
        title,
        location: NavLocation::of(pixel, "install"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/move",
            "POST /v1/pixels/{pixel_id}/move",
            "POST /v1/pixels/{pixel_id}/move/end",
            "POST /v1/pixels/{pixel_id}/move/cancel",
        ],
    }
}

#[derive(Default)]
struct Tried<'a> {
    done: Option<Message>,
    /// The new domain as it was typed; `error` concerns it.
    domain: &'a str,
    error: Option<&'a Error>,
    /// The error if the text that was typed to end the move is not the former domain.
    wrong_host: Option<Message>,
}

#[get("/console/sites/<pixel_id>/move")]
async fn moving(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    let done = query.get("done").and_then(|done| match done {
        "ended" => Some(tr("The move has ended. The former domain is no longer served.")),
        "cancelled" => {
            Some(tr("The move is cancelled. Verify the installation again under Install."))
        }
        _ => None,
    });
    move_screen(&member, 200, &pixel_id, Tried { done, ..Tried::default() }).await
}

async fn move_screen(
    member: &Member<'_>,
    status: u16,
    pixel_id: &PixelParam,
    tried: Tried<'_>,
) -> Result<Reply, Refusal> {
    let pixel = &find(member, pixel_id).await?;
    let site_move = find_move(member, pixel_id).await?;
    let is_elsewhere = matches!(tried.error, Some(Error::DomainRegistered));
    let content = context! {
        moving: site_move.as_ref().map(summary),
        domain: tried.domain,
        is_elsewhere,
        error: tried.error.map(sentence),
        host_error: tried.wrong_host,
        notice: tried.done,
    };
    let screen = screen(pixel, "console/move.html", tr("Move to another domain"));
    Ok(member.screen_with_status(status, screen, content))
}

fn summary(site_move: &MoveView) -> Value {
    json!({
        "former": site_move.former_domain,
        "since": Message::DayOf(site_move.moved_at.0),
        "until": Message::DayOf(site_move.ends_at.0),
    })
}

#[post("/console/sites/<pixel_id>/move", data = "<form>")]
async fn start(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    if member.member.role != Scope::Full {
        return Err(Error::ScopeNotAllowed.into());
    }
    let typed = form.text("domain");
    let step = form.get("step").unwrap_or_default();
    if step == "change" {
        return move_screen(&member, 200, &pixel_id, Tried { domain: &typed, ..Tried::default() })
            .await;
    }
    let input = PixelRequest { domain: Some(host_of(&typed)), method: None };
    let tried = match (step, input.host(&member.app.infra.base_host())) {
        (_, Err(error)) => Err(error),
        (_, Ok(host)) if host == pixel.domain => Err(Error::HostIsYours),
        ("move", Ok(_)) => {
            let asked = OnPixel { pixel_id: pixel_id.clone(), input };
            member.ask::<MovePixel>(asked).await.map(|_| None)
        }
        (_, Ok(host)) => Ok(Some(host)),
    };
    match tried {
        Ok(None) => Ok(Reply::to(format!("/console/sites/{pixel_id}/install?done=moved"))),
        Ok(Some(host)) => {
            let of_pixel = OfPixel { pixel_id: pixel_id.clone() };
            let configuration = member.ask::<ReadConsentConfiguration>(of_pixel).await?;
            let content = context! {
                new: host.as_str(),
                until: Message::DayOf(member.app.infra.clock.now() + LASTS),
                has_notice: !configuration.versions.is_empty(),
                shares: configuration.share_subdomains,
            };
            let screen = screen(&pixel, "console/move_confirm.html", tr("Review the move"));
            Ok(member.screen(screen, content))
        }
        Err(error) if is_about_the_field(&error) => {
            let tried = Tried { domain: &typed, error: Some(&error), ..Tried::default() };
            move_screen(&member, error.status(), &pixel_id, tried).await
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
            | Error::HostIsYours
            | Error::MoveUnderWay
            | Error::PolicyAllowanceReached
            | Error::TooManyRequests { .. }
            | Error::Naming { .. }
            | Error::Validation(_)
    )
}

#[post("/console/sites/<pixel_id>/move/end", data = "<form>")]
async fn end(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let former = find_move(&member, &pixel_id).await?.map(|it| it.former_domain);
    if let Some(former) = former.filter(|it| form.text("host").to_lowercase() != it.as_str()) {
        let wrong_host = Some(tr("Type {{ host }} to end its service.").with("host", &former));
        let tried = Tried { wrong_host, ..Tried::default() };
        return move_screen(&member, 400, &pixel_id, tried).await;
    }
    member.ask::<EndMove>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    Ok(Reply::to(format!("/console/sites/{pixel_id}/move?done=ended")))
}

#[post("/console/sites/<pixel_id>/move/cancel", data = "<_form>")]
async fn cancel(member: Member<'_>, pixel_id: PixelParam, _form: Form) -> Result<Reply, Refusal> {
    member.ask::<CancelMove>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    Ok(Reply::to(format!("/console/sites/{pixel_id}/move?done=cancelled")))
}
