use std::collections::BTreeMap;

use chrono::NaiveDate;
use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};
use uuid::Uuid;

use super::install::find;
use super::watch_words::{kind_name, unobserved, verdict_name, visit_name};
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::Infra;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::{OfPixel, OnPixel};
use crate::silence::daily::watches_sites;
use crate::silence::reading::{ListWatchReports, OfReport, PageRequest, ReadWatchReport};
use crate::silence::settings::{ChangeWatch, ShowWatch, WatchSettings};
use crate::silence::view::{SiteVerdict, WatchReportSummary, WatchReportView};
use crate::types::ids::PixelParam;
use crate::types::ids::id_param::IdParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::sent::Sent;

pub fn routes() -> Vec<Route> {
    routes![watch, report, change]
}

/// The number of reports that are read for the history, which shows the worst of each day.
const REPORTS: &str = "200";

#[get("/console/sites/<pixel_id>/watch")]
async fn watch(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    screen(&member, &pixel_id, Sent::of(&query)).await
}

async fn screen(
    member: &Member<'_>,
    pixel_id: &PixelParam,
    sent: Sent<'_>,
) -> Result<Reply, Refusal> {
    let pixel = &find(member, pixel_id).await?;
    let watch = member.ask::<ShowWatch>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    let reports = list(member, pixel_id).await?;
    // After a move there is no verdict at first, and the newest report is about the former host.
    let report = match reports.first().filter(|_| watch.verdict.is_some()) {
        Some(newest) => Some(values_of(&read(member, pixel_id, newest.report_id.into()).await?)),
        None => None,
    };
    let allowed = watch.watch_allow.join("\n");
    let content = context! {
        verdict: watch.verdict.map_or(tr("No report yet"), verdict_name),
        tone: watch.verdict.map_or("none", tone_of),
        broken_since: watch.broken_since.map(|since| Message::DayOf(since.0)),
        next: watch.next_watch_at.map(|next| Message::Moment(next.0)),
        is_watched: is_watching(&member.app.infra).await?,
        report,
        days: days_of(&reports),
        allowed: sent.text(&allowed),
        error: sent.error(),
        public_page: watch.public_page,
        notice: sent.notice(tr("Saved.")),
    };
    let screen = Screen {
        template: "console/watch.html",
        title: tr("Watch"),
        location: NavLocation::of(pixel, "watch"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/watch",
            "PATCH /v1/pixels/{pixel_id}/watch",
            "GET /v1/pixels/{pixel_id}/watch-reports",
            "GET /v1/pixels/{pixel_id}/watch-reports/{report_id}",
        ],
    };
    Ok(member.screen_with_status(sent.status(), screen, content))
}

/// A report of the history, with links to the others of its day.
#[get("/console/sites/<pixel_id>/watch/<report_id>")]
async fn report(
    member: Member<'_>,
    pixel_id: PixelParam,
    report_id: &str,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let found = read(&member, &pixel_id, report_id.into()).await?;
    let shown = &found.report;
    let reports = list(&member, &pixel_id).await?;
    let of_day = reports.iter().filter(|other| day_of(other) == day_of(shown));
    let content = context! {
        verdict: verdict_name(shown.verdict),
        tone: tone_of(shown.verdict),
        report: values_of(&found),
        of_day: of_day.map(|other| line_of(other, shown)).collect::<Vec<_>>(),
    };
    let screen = Screen {
        template: "console/watch_report.html",
        title: heading_of(shown),
        location: NavLocation::of(&pixel, "watch"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/watch-reports",
            "GET /v1/pixels/{pixel_id}/watch-reports/{report_id}",
        ],
    };
    Ok(member.screen(screen, content))
}

async fn is_watching(infra: &Infra) -> Result<bool> {
    let mut connection = infra.pool.acquire().await?;
    watches_sites(&mut connection, &infra.config, &infra.clock).await
}

/// The newest first.
async fn list(member: &Member<'_>, pixel_id: &PixelParam) -> Result<Vec<WatchReportView>> {
    let request =
        PageRequest { pixel_id: pixel_id.clone(), before: None, limit: Some(REPORTS.to_owned()) };
    Ok(member.ask::<ListWatchReports>(request).await?.reports)
}

async fn read(
    member: &Member<'_>,
    pixel_id: &PixelParam,
    report_id: IdParam<Uuid>,
) -> Result<WatchReportSummary> {
    let request = OfReport { pixel_id: pixel_id.clone(), report_id };
    Ok(member.ask::<ReadWatchReport>(request).await?.summary)
}

fn values_of(found: &WatchReportSummary) -> Value {
    let leaks = found.leaks.iter().map(|leak| {
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
    json!({
        "heading": heading_of(&found.report),
        "by_service": found.report.by_service,
        "leaks": leaks.collect::<Vec<_>>(),
        "not_observed": found.not_observed.iter().map(|it| unobserved(it)).collect::<Vec<_>>(),
        "allowed": found.allowed.join(", "),
        "pages": found.pages.join(" "),
        "entry": found.report.log_entry,
    })
}

fn heading_of(report: &WatchReportView) -> Message {
    tr("Report of {{ at }}").with("at", Message::Moment(report.made_at.0))
}

/// A line in the list of a day's reports; `shown` is the report of the page.
fn line_of(report: &WatchReportView, shown: &WatchReportView) -> Value {
    json!({
        "report_id": report.report_id,
        "is_shown": report.report_id == shown.report_id,
        "at": Message::Moment(report.made_at.0),
        "verdict": verdict_name(report.verdict),
        "tone": tone_of(report.verdict),
    })
}

fn day_of(report: &WatchReportView) -> NaiveDate {
    report.received_at.0.date_naive()
}

/// The worst report of each day, the newest day first.
fn days_of(reports: &[WatchReportView]) -> Vec<Value> {
    let mut days = BTreeMap::<NaiveDate, (&WatchReportView, usize)>::new();
    for report in reports {
        let (worst, count) = days.entry(day_of(report)).or_insert((report, 0));
        *count += 1;
        if severity(report.verdict) > severity(worst.verdict) {
            *worst = report;
        }
    }
    let row = |(on, (worst, count)): (NaiveDate, (&WatchReportView, usize))| {
        json!({
            "day": Message::Day(on),
            "report_id": worst.report_id,
            "verdict": verdict_name(worst.verdict),
            "tone": tone_of(worst.verdict),
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
async fn change(member: Member<'_>, pixel_id: PixelParam, form: Form) -> Result<Reply, Refusal> {
    let typed = form.text("watch_allow");
    let sites = typed.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let input = WatchSettings {
        watch_allow: Some(sites),
        public_page: Some(form.get("public_page").is_some()),
    };
    let asked = member.ask::<ChangeWatch>(OnPixel { pixel_id: pixel_id.clone(), input });
    match asked.await {
        Ok(_) => Ok(Reply::to(format!("/console/sites/{pixel_id}/watch?done=saved"))),
        Err(error @ Error::Naming { .. }) => {
            screen(&member, &pixel_id, Sent::Refused(&typed, &error)).await
        }
        Err(error) => Err(error.into()),
    }
}
