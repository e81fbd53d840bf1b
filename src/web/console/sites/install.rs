use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;

use super::findings::FindingRow;
use super::tag_state::{Visits, state_of};
use crate::error::{Error, Result};
use crate::guide::ecosystems::{ECOSYSTEMS, Ecosystem};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::change::DeletePixel;
use crate::pixels::input::{OfPixel, OnPixel};
use crate::pixels::install_check::{CheckInstall, ShowInstall};
use crate::pixels::moves::{MoveView, ShowMove};
use crate::pixels::pixel::InstallStatus;
use crate::pixels::setup::ShowPixel;
use crate::pixels::snippets::snippet_mail::{EmailSnippet, MailedSnippet, SnippetMailRequest};
use crate::pixels::view::PixelView;
use crate::receipts::daily_counts::stats::{ReadSiteStats, StatsRequest};
use crate::types::ids::PixelParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![install, check, mail, ask_to_remove, remove]
}

/// Finds a site of the member's account; any other site results in a 404.
pub async fn find(member: &Member<'_>, pixel_id: &PixelParam) -> Result<PixelView> {
    member.ask::<ShowPixel>(OfPixel { pixel_id: pixel_id.clone() }).await
}

/// The move of a site to another domain, if one is under way.
pub async fn find_move(member: &Member<'_>, pixel_id: &PixelParam) -> Result<Option<MoveView>> {
    match member.ask::<ShowMove>(OfPixel { pixel_id: pixel_id.clone() }).await {
        Ok(site_move) => Ok(Some(site_move)),
        Err(Error::MoveNotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

#[get("/console/sites/<pixel_id>/install")]
async fn install(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    let ecosystem = query.get("with").and_then(Ecosystem::find);
    let tried = Tried { done: query.get("done"), ecosystem, ..Tried::default() };
    install_screen(&member, 200, &pixel_id, tried).await
}

#[derive(Default)]
struct Tried<'a> {
    /// The result of the previous form, from the query string.
    done: Option<&'a str>,
    /// The software with which the site is built.
    ecosystem: Option<&'static Ecosystem>,
    check: Option<&'a Error>,
    mail: Option<(&'a str, &'a Error)>,
}

async fn install_screen(
    member: &Member<'_>,
    status: u16,
    pixel_id: &PixelParam,
    tried: Tried<'_>,
) -> Result<Reply, Refusal> {
    let pixel = &find(member, pixel_id).await?;
    let input = OfPixel { pixel_id: pixel_id.clone() };
    let install = member.ask::<ShowInstall>(input).await?;
    let visits = visits_of_late(member, pixel_id).await?;
    let (state, tone) = state_of(&install, &visits, member.app.infra.clock.now());
    let site_move = find_move(member, pixel_id).await?;
    let (base_url, chosen) = (member.app.infra.base_url(), tried.ecosystem);
    let content = context! {
        ecosystems: ECOSYSTEMS.each_ref().map(|it| context! { slug: it.slug, name: it.name }),
        chosen: chosen.map(|it| it.slug),
        brings_tag: chosen.is_some_and(|it| it.brings_tag),
        service: base_url,
        steps: chosen.map(|it| it.html(base_url, pixel.pixel_id.as_str())),
        snippet: &pixel.snippet,
        asks: pixel.consent_enabled,
        mail: mail_to_developer(pixel),
        state, tone,
        former: site_move.as_ref().map(|it| it.former_domain.as_str()),
        former_until: site_move.as_ref().map(|it| Message::DayOf(it.ends_at.0)),
        looked_at: install.checked_at.map(|time| Message::Moment(time.0)),
        findings: install.findings.iter().map(FindingRow::from).collect::<Vec<_>>(),
        error: tried.check.map(sentence),
        mails: member.app.infra.outbox.mailer.is_configured(),
        developer: tried.mail.map(|(address, _)| address),
        mail_error: tried.mail.map(|(_, error)| sentence(error)),
        notice: tried.done.and_then(notice_of),
    };
    let screen = Screen {
        template: "console/install.html",
        title: tr("Install"),
        location: NavLocation::of(pixel, "install"),
        calls: &[
            "GET /v1/pixels/{pixel_id}",
            "GET /v1/pixels/{pixel_id}/check",
            "GET /v1/pixels/{pixel_id}/move",
            "POST /v1/pixels/{pixel_id}/check",
            "POST /v1/pixels/{pixel_id}/email-snippet",
        ],
    };
    Ok(member.screen_with_status(status, screen, content))
}

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "published" => Some(tr("Published. Now put the snippet on your site.")),
        "mailed" => Some(tr("The snippet has been sent to the developer.")),
        "moved" => {
            Some(tr("The site has moved to this domain. Put the same snippet on its pages."))
        }
        _ => None,
    }
}

async fn visits_of_late(member: &Member<'_>, pixel_id: &PixelParam) -> Result<Visits> {
    let today = member.day_zone(pixel_id).await?.day_of(member.app.infra.clock.now());
    let from = today.pred_opt().unwrap_or(today).to_string();
    let request = StatsRequest { pixel_id: pixel_id.clone(), from: Some(from), to: None };
    Ok(Visits::of(&member.ask::<ReadSiteStats>(request).await?))
}

/// The text around the snippet in a draft for the reader's mail program.
#[derive(Serialize)]
struct Draft {
    subject: Message,
    greeting: Message,
    order: Message,
    end: Message,
}

fn mail_to_developer(pixel: &PixelView) -> Draft {
    let host = pixel.domain.as_str();
    Draft {
        subject: tr("Snippet for {{ host }}").with("host", host),
        greeting: tr("Hello,"),
        order: tr("please put this line before </head> on every page of {{ host }}:")
            .with("host", host),
        end: tr("It loads by itself and holds up nothing. Thank you!"),
    }
}

#[post("/console/sites/<pixel_id>/check", data = "<_form>")]
async fn check(member: Member<'_>, pixel_id: PixelParam, _form: Form) -> Result<Reply, Refusal> {
    let input = OfPixel { pixel_id: pixel_id.clone() };
    match member.ask::<CheckInstall>(input).await {
        Ok(_) => Ok(Reply::to(format!("/console/sites/{pixel_id}/install#state"))),
        Err(Error::PixelNotFound) => Err(Error::PixelNotFound.into()),
        Err(error) => {
            let tried = Tried { check: Some(&error), ..Tried::default() };
            install_screen(&member, error.status(), &pixel_id, tried).await
        }
    }
}

#[post("/console/sites/<pixel_id>/mail", data = "<form>")]
async fn mail(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let address = form.text("email");
    let input = SnippetMailRequest {
        email: Some(address.clone()),
        snippet: Some(MailedSnippet::Present),
        method: None,
    };
    let asked = OnPixel { pixel_id: pixel_id.clone(), input };
    match member.ask::<EmailSnippet>(asked).await {
        Ok(_) => Ok(Reply::to(format!("/console/sites/{pixel_id}/install?done=mailed"))),
        Err(Error::PixelNotFound) => Err(Error::PixelNotFound.into()),
        Err(error) => {
            let tried = Tried { mail: Some((&address, &error)), ..Tried::default() };
            install_screen(&member, error.status(), &pixel_id, tried).await
        }
    }
}

#[get("/console/sites/<pixel_id>/remove")]
async fn ask_to_remove(member: Member<'_>, pixel_id: PixelParam) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    Ok(remove_screen(&member, 200, &pixel, None))
}

fn remove_screen(
    member: &Member<'_>,
    status: u16,
    pixel: &PixelView,
    wrong: Option<Message>,
) -> Reply {
    let screen = Screen {
        template: "console/remove_site.html",
        title: tr("Remove this site"),
        location: NavLocation::of(pixel, "install"),
        calls: &["DELETE /v1/pixels/{pixel_id}"],
    };
    let is_installed = pixel.install_status == InstallStatus::Installed;
    member.screen_with_status(status, screen, context! { is_installed, error: wrong })
}

#[post("/console/sites/<pixel_id>/remove", data = "<form>")]
async fn remove(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    if !form.names_host(pixel.domain.as_str()) {
        let wrong = tr("Type {{ host }} to remove it.").with("host", &pixel.domain);
        return Ok(remove_screen(&member, 400, &pixel, Some(wrong)));
    }
    match member.ask::<DeletePixel>(OfPixel { pixel_id }).await {
        Ok(_) => Ok(Reply::to("/console?done=removed")),
        Err(error @ Error::InstalledPixelDelete) => {
            Ok(remove_screen(&member, error.status(), &pixel, Some(sentence(&error))))
        }
        Err(error) => Err(error.into()),
    }
}
