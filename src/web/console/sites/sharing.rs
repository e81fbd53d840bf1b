use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;

use super::install::find;
use super::overview::SLUG;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::{OfPixel, OnPixel};
use crate::sharing::links::{
    CreateSharedLink, ListSharedLinks, OfSharedLink, RevokeSharedLink, SharedLinkRequest,
    USUAL_DAYS,
};
use crate::sharing::view::SharedLinkView;
use crate::types::ids::PixelParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![share, create, revoke]
}

const CALLS: &[&str] = &[
    "GET /v1/pixels/{pixel_id}/shared-links",
    "POST /v1/pixels/{pixel_id}/shared-links",
    "DELETE /v1/pixels/{pixel_id}/shared-links/{prefix}",
];

#[derive(Serialize)]
struct Row {
    prefix: String,
    made_by: String,
    created: Message,
    expires: Message,
}

impl From<SharedLinkView> for Row {
    fn from(link: SharedLinkView) -> Self {
        Self {
            created: Message::DayOf(link.created_at.0),
            expires: Message::DayOf(link.expires_at.0),
            prefix: link.prefix,
            made_by: link.made_by,
        }
    }
}

#[get("/console/sites/<pixel_id>/share")]
async fn share(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    let is_revoked = query.get("done") == Some("revoked");
    screen(&member, 200, &pixel_id, is_revoked, None).await
}

/// `wrong` is the number of days as typed, and the refusal.
async fn screen(
    member: &Member<'_>,
    status: u16,
    pixel_id: &PixelParam,
    is_revoked: bool,
    wrong: Option<(&str, &Error)>,
) -> Result<Reply, Refusal> {
    let pixel = &find(member, pixel_id).await?;
    let of_pixel = OfPixel { pixel_id: pixel_id.clone() };
    let links = member.ask::<ListSharedLinks>(of_pixel).await?.shared_links;
    let is_of_field = matches!(wrong, Some((_, Error::Validation(_))));
    let message = wrong.map(|(_, error)| sentence(error));
    let content = context! {
        links: links.into_iter().map(Row::from).collect::<Vec<_>>(),
        days: wrong.map_or_else(|| USUAL_DAYS.to_string(), |(typed, _)| typed.to_owned()),
        error: message.as_ref().filter(|_| is_of_field),
        problem: message.as_ref().filter(|_| !is_of_field),
        notice: is_revoked.then_some(tr("The link is revoked. It no longer works.")),
    };
    let screen = Screen {
        template: "console/share.html",
        title: tr("Share the overview"),
        location: NavLocation::of(pixel, SLUG),
        calls: CALLS,
    };
    Ok(member.screen_with_status(status, screen, content))
}

#[post("/console/sites/<pixel_id>/share", data = "<form>")]
async fn create(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let typed = form.text("days");
    // Text that is not a number is refused like 0.
    let days = Some(typed.parse::<i64>().unwrap_or(0));
    let input = SharedLinkRequest { days };
    let order = OnPixel { pixel_id: pixel_id.clone(), input };
    let made = match member.ask::<CreateSharedLink>(order).await {
        Ok(made) => made,
        Err(error @ (Error::Validation(_) | Error::SharedLinkAllowanceReached)) => {
            let wrong = Some((&*typed, &error));
            return screen(&member, error.status(), &pixel_id, false, wrong).await;
        }
        Err(error) => return Err(error.into()),
    };
    let pixel = &find(&member, &pixel_id).await?;
    let screen = Screen {
        template: "console/new_shared_link.html",
        title: tr("Your new link"),
        location: NavLocation::of(pixel, SLUG),
        calls: CALLS,
    };
    let (expires, prefix) = (Message::DayOf(made.link.expires_at.0), made.link.prefix);
    Ok(member.screen_with_status(201, screen, context! { url: made.url, expires, prefix }))
}

#[post("/console/sites/<pixel_id>/share/<prefix>/revoke", data = "<_form>")]
async fn revoke(
    member: Member<'_>,
    pixel_id: PixelParam,
    prefix: &str,
    _form: Form,
) -> Result<Reply, Refusal> {
    let link = OfSharedLink { pixel_id: pixel_id.clone(), prefix: prefix.to_owned() };
    member.ask::<RevokeSharedLink>(link).await?;
    Ok(Reply::to(format!("/console/sites/{pixel_id}/share?done=revoked")))
}
