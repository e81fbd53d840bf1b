//! The time zone in which the statistics of a site count days.

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use super::install::find;
use super::overview::SLUG;
use crate::accounts::preferences::zones;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::time_zone::{ChangeTimeZone, TimeZoneRequest};
use crate::types::ids::PixelParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};

pub fn routes() -> Vec<Route> {
    routes![time_zone, change]
}

#[get("/console/sites/<pixel_id>/time-zone")]
async fn time_zone(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Reply, Refusal> {
    let notice = query.get("done").filter(|&done| done == "saved").map(|_| tr("Saved."));
    screen(&member, 200, &pixel_id, notice, None).await
}

/// `wrong` is the name of a time zone that was refused.
async fn screen(
    member: &Member<'_>,
    status: u16,
    pixel_id: &PixelParam,
    notice: Option<Message>,
    wrong: Option<&str>,
) -> Result<Reply, Refusal> {
    let pixel = &find(member, pixel_id).await?;
    let zone = member.day_zone(pixel_id).await?;
    let content = context! {
        regions: zones::regions(),
        time_zone: wrong.unwrap_or(zone.name()),
        time_zone_error: wrong.map(|_| tr("Choose a time zone of the list.")),
        shown_from: (!zone.is_utc()).then_some(Message::Day(zone.shown_from)),
        notice,
    };
    let screen = Screen {
        template: "console/site_time_zone.html",
        title: tr("Time zone of statistics"),
        location: NavLocation::of(pixel, SLUG),
        calls: &[],
    };
    Ok(member.screen_with_status(status, screen, content))
}

#[post("/console/sites/<pixel_id>/time-zone", data = "<form>")]
async fn change(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let name = form.text("time_zone");
    let request = TimeZoneRequest { pixel_id: pixel_id.clone(), time_zone: name.clone() };
    match member.ask::<ChangeTimeZone>(request).await {
        Ok(_) => Ok(Reply::to(format!("/console/sites/{pixel_id}/time-zone?done=saved"))),
        Err(error @ Error::Naming { .. }) => {
            screen(&member, error.status(), &pixel_id, None, Some(&name)).await
        }
        Err(error) => Err(error.into()),
    }
}
