use std::collections::BTreeMap;

use chrono::NaiveDate;
use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::install::find;
use super::watch_words::{kind_name, unobserved, verdict_name, visit_name};
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::{OfPixel, OnPixel};
use crate::silence::reading::{ListWatchReports, OfReport, PageRequest, ReadWatchReport};
use crate::silence::settings::{ChangeWatch, ShowWatch, WatchSettings};
use crate::silence::view::{SiteVerdict, WatchReportView};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{Place, Screen};
use crate::web::console::kit::sent::Sent;

pub fn routes() -> Vec<Route> {
    routes![watch, change]
}

/// Reports of the history, which shows the worst of each day.
const REPORTS: &str = "200";

#[get("/console/sites/<pixel_id>/watch")]
async fn watch(member: Member<'_>, pixel_id: &str, query: Query) -> Result<Reply, Refusal> {
    screen(&member, pixel_id, Sent::of(&query)).await
}

async fn screen(member: &Member<'_>, pixel_id: &str, sent: Sent<'_>) -> Result<Reply, Refusal> {
    let pixel = &find(member, pixel_id).await?;
    let watch = member.ask::<ShowWatch>(OfPixel { pixel_id: pixel_id.to_owned() }).await?;
    let request = PageRequest {
        pixel_id: pixel_id.to_owned(),
        before: None,
        limit: Some(REPORTS.to_owned()),
    };
    let reports = member.ask::<ListWatchReports>(request).await?.reports;
    let latest = match reports.first() {
        Some(newest) => Some(latest(member, pixel_id, newest).await?),
        None => None,
    };
    let allowed = watch.watch_allow.join("\n");
    let content = context! {
        verdict: watch.verdict.map_or(tr("No report yet"), verdict_name),
        tone: watch.verdict.map_or("none", tone_of),
        broken_since: watch.broken_since.map(|since| Message::DayOf(since.0)),
        next: watch.next_watch_at.map(|next| Message::Moment(next.0)),
        is_watched: member.app.infra.config.watch_browser.is_some(),
        latest,
        days: days_of(&reports),
        allowed: sent.text(&allowed),
        error: sent.error(),
        public_page: watch.public_page,
        notice: sent.notice(tr("Saved.")),
    };
    let screen = Screen {
        template: "console/watch.html",
        title: tr("Watch"),
        place: Place::of(pixel, "watch"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/watch",
            "PATCH /v1/pixels/{pixel_id}/watch",
            "GET /v1/pixels/{pixel_id}/watch-reports",
            "GET /v1/pixels/{pixel_id}/watch-reports/{report_id}",
        ],
    };
    Ok(member.screen_with_status(sent.status(), screen, content))
}

async fn latest(member: &Member<'_>, pixel_id: &str, report: &WatchReportView) -> Result<Value> {
    let request =
        OfReport { pixel_id: pixel_id.to_owned(), report_id: report.report_id.to_string() };
    let detail = member.ask::<ReadWatchReport>(request).await?.summary;
    let leaks = detail.leaks.iter().map(|leak| {
        json!({
            "host": leak.host,
            "kind": kind_name(&leak.kind),
            "what": leak.name.as_ref().unwrap_or(&leak.url),
            "script": leak.script,
            "line": leak.line,
            "gated": leak.gated,
            "visits": leak.visits.iter().map(|visit| visit_name(visit)).collect::<Vec<_>>(),
        })
    });
    Ok(json!({
        "at": Message::Moment(report.made_at.0),
        "by_service": report.by_service,
        "leaks": leaks.collect::<Vec<_>>(),
        "not_observed": detail.not_observed.iter().map(|it| unobserved(it)).collect::<Vec<_>>(),
        "entry": report.log_entry,
    }))
}

/// The worst verdict of each day, the newest first.
fn days_of(reports: &[WatchReportView]) -> Vec<Value> {
    let mut days = BTreeMap::<NaiveDate, (SiteVerdict, i32, usize)>::new();
    for report in reports {
        let found = (report.verdict, report.leak_count, 0);
        let known = days.entry(report.received_at.0.date_naive()).or_insert(found);
        known.2 += 1;
        if severity(report.verdict) > severity(known.0) {
            (known.0, known.1) = (report.verdict, report.leak_count);
        }
    }
    let row = |(on, (verdict, leaks, count)): (NaiveDate, (SiteVerdict, i32, usize))| {
        json!({
            "day": Message::Day(on),
            "verdict": verdict_name(verdict),
            "tone": tone_of(verdict),
            "leaks": leaks,
            "count": count,
        })
    };
    days.into_iter().rev().map(row).collect()
}

fn severity(verdict: SiteVerdict) -> u8 {
    match verdict {
        SiteVerdict::Silent => 0,
        SiteVerdict::NotObserved => 1,
        SiteVerdict::Leaks => 2,
    }
}

fn tone_of(verdict: SiteVerdict) -> &'static str {
    match verdict {
        SiteVerdict::Silent => "good",
        SiteVerdict::Leaks => "bad",
        SiteVerdict::NotObserved => "none",
    }
}

#[post("/console/sites/<pixel_id>/watch", data = "<form>")]
async fn change(member: Member<'_>, pixel_id: &str, form: Form) -> Result<Reply, Refusal> {
    let typed = form.text("watch_allow");
    let sites = typed.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let input = WatchSettings {
        watch_allow: Some(sites),
        public_page: Some(form.get("public_page").is_some()),
    };
    let asked = member.ask::<ChangeWatch>(OnPixel { pixel_id: pixel_id.to_owned(), input });
    match asked.await {
        Ok(_) => Ok(Reply::to(format!("/console/sites/{pixel_id}/watch?done=saved"))),
        Err(error @ Error::Naming { .. }) => {
            screen(&member, pixel_id, Sent::Refused(&typed, &error)).await
        }
        Err(error) => Err(error.into()),
    }
}
