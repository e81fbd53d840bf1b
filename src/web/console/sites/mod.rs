pub mod acceptance;
pub mod breakdowns;
pub mod claim;
pub mod findings;
pub mod install;
pub mod moving;
pub mod new_site;
pub mod notice_diff;
pub mod overview;
pub mod popup;
pub mod screenshots;
pub mod sharing;
pub mod tag_state;
pub mod test_tag;
pub mod time_zone;
pub mod versions;
pub mod watch;
mod watch_words;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use url::form_urlencoded;

use self::tag_state::{Visits, state_of};
use super::kit::member::{Member, OpenRequests};
use super::kit::plan_summary::plan_summary;
use super::kit::refusal::Refusal;
use super::kit::reply::Reply;
use super::kit::screen::{NavLocation, Screen};
use super::webhooks::deliveries::failing;
use crate::accounts::capability::NoInput;
use crate::accounts::sessions;
use crate::billing::whoami::ShowCaller;
use crate::contacts::counts::{CountContacts, CountRequest};
use crate::error::Result;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::OfPixel;
use crate::pixels::install_check::ShowInstall;
use crate::pixels::pixel::InstallStatus;
use crate::pixels::setup::{ListPixels, ShowPixel};
use crate::pixels::view::PixelSummary;
use crate::receipts::daily_counts::stats::{Counts, ReadSiteStats, StatsRequest};
use crate::silence::settings::ShowWatch;
use crate::types::formatting::percent;
use crate::types::ids::PixelParam;
use crate::web::charts::sparkline::Sparkline;
use crate::webhooks::listing::ListWebhooks;

pub fn routes() -> Vec<Route> {
    routes![sites, site]
}

const PAGE: usize = 20;
/// Sites that are queried concurrently, each with a database connection.
const AT_ONCE: usize = 4;

/// With more sites than this, the list can be searched and sorted.
const FEW: usize = 3;

/// The sites that the list shows, and their order.
#[derive(Serialize)]
struct SiteQuery {
    search: String,
    sort: &'static str,
}

impl SiteQuery {
    fn of(query: &Query) -> Self {
        let sort = match query.get("sort") {
            Some("name") => "name",
            Some("newest") => "newest",
            _ => "",
        };
        Self { search: query.present("search").unwrap_or_default().to_lowercase(), sort }
    }

    fn is_set(&self) -> bool {
        !self.search.is_empty() || !self.sort.is_empty()
    }

    /// The sites whose domain contains the search text, or whose id it is. `all` is in order of creation.
    fn found_in<'a>(&self, all: &'a [PixelSummary]) -> Vec<&'a PixelSummary> {
        let is_found = |pixel: &&PixelSummary| {
            pixel.domain.as_str().contains(&self.search)
                || pixel.pixel_id.as_str().eq_ignore_ascii_case(&self.search)
        };
        let mut found = all.iter().filter(is_found).collect::<Vec<_>>();
        match self.sort {
            "name" => found.sort_by(|one, other| one.domain.as_str().cmp(other.domain.as_str())),
            "newest" => found.reverse(),
            _ => {}
        }
        found
    }

    fn page(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("search", &*self.search), ("sort", self.sort)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.append_pair("page", &page.to_string());
        query.finish()
    }
}

#[derive(Serialize)]
struct Row {
    pixel_id: String,
    host: String,
    state: Message,
    /// `good`, `bad` or `none`.
    tone: &'static str,
    asks: bool,
    shown: i64,
    answered: i64,
    /// In percent of the answers; `None` without any.
    accepted: Option<Message>,
    /// Answers of each of the last 30 days; `None` without any.
    line: Option<Sparkline>,
    contacts: i64,
    requests: Option<Message>,
    /// A warning if the site loads something without consent.
    leaks: Option<Message>,
}

#[get("/console")]
async fn sites(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let all = member.ask::<ListPixels>(NoInput {}).await?.pixels;
    let site_query = SiteQuery::of(&query);
    let found = site_query.found_in(&all);
    let page = query.get("page").and_then(|page| page.parse::<usize>().ok()).unwrap_or(1).max(1);
    let first = (page - 1).saturating_mul(PAGE);
    let shown = found.iter().skip(first).take(PAGE);
    let shown = shown.map(|pixel| PixelParam::from(pixel.pixel_id.clone()));
    let rows = stream::iter(shown.collect::<Vec<_>>()).map(|pixel_id| row(&member, pixel_id));
    let rows = rows.buffered(AT_ONCE).try_collect::<Vec<_>>().await?;
    let webhooks = member.ask::<ListWebhooks>(NoInput {}).await?.webhooks;
    let caller = member.ask::<ShowCaller>(NoInput {}).await?;
    let is_installed = |pixel: &PixelSummary| pixel.install_status == InstallStatus::Installed;
    let works = all.iter().any(is_installed) || rows.iter().any(|row| row.tone == "good");
    let asks = rows.iter().any(|row| row.asks);
    let memberships =
        sessions::memberships(&member.app.infra.pool, &member.app.infra.outbox, &member.member)
            .await?;
    let first_site = rows.first().map(|row| row.pixel_id.clone());
    let content = context! {
        rows,
        count: all.len(),
        asks,
        first_site,
        is_new: !works,
        has_choice: memberships.len() > 1,
        has_filter: all.len() > FEW || site_query.is_set(),
        filter: &site_query,
        is_filtered: site_query.is_set(),
        previous: (page > 1).then(|| site_query.page(page - 1)),
        next: (found.len() > first.saturating_add(PAGE)).then(|| site_query.page(page + 1)),
        failing_webhooks: failing(&webhooks),
        plan_summary: plan_summary(&caller),
        notice: query.get("done").and_then(notice_of),
    };
    Ok(member.screen(SITES, content))
}

#[get("/console/sites/<pixel_id>")]
async fn site(member: Member<'_>, pixel_id: PixelParam) -> Result<Reply, Refusal> {
    let pixel = install::find(&member, &pixel_id).await?;
    Ok(Reply::to(format!("/console/sites/{}/overview", pixel.pixel_id)))
}

const SITES: Screen<'static> = Screen {
    template: "console/sites.html",
    title: tr("Sites"),
    location: NavLocation::Sites,
    calls: &[
        "GET /v1/pixels",
        "GET /v1/pixels/{pixel_id}/check",
        "GET /v1/pixels/{pixel_id}/consent/stats",
        "GET /v1/pixels/{pixel_id}/contact-counts",
        "GET /v1/pixels/{pixel_id}/erasure-requests",
        "GET /v1/pixels/{pixel_id}/watch",
        "GET /v1/webhooks",
        "GET /v1/whoami",
    ],
};

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "removed" => Some(tr(
            "The site was removed, and its contacts with it. Its receipts are kept: they are in the full export, under Account.",
        )),
        _ => None,
    }
}

async fn row(member: &Member<'_>, pixel_id: PixelParam) -> Result<Row> {
    let view = member.ask::<ShowPixel>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    let request = StatsRequest { pixel_id: pixel_id.clone(), from: None, to: None };
    let found = member.ask::<ReadSiteStats>(request).await?;
    let stats = &found.stats;
    let by_day = stats.days.iter().map(|day| day.counts.accepted + day.counts.declined);
    let by_day = by_day.collect::<Vec<_>>();
    let Counts { shown, accepted, declined, .. } = stats.totals;
    let answered = accepted + declined;
    let request = CountRequest { pixel_id: pixel_id.clone(), from: None, to: None };
    let contacts = member.ask::<CountContacts>(request).await?.total;
    let install = member.ask::<ShowInstall>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    let watch = member.ask::<ShowWatch>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    let now = member.app.infra.clock.now();
    let (state, tone) = state_of(&install, &Visits::of(&found), now);
    Ok(Row {
        line: (answered > 0).then(|| sparkline(&by_day)),
        requests: member.open_requests(&pixel_id).await?.as_ref().map(requests),
        leaks: watch.broken_since.map(|_| tr("Loads without consent")),
        shown,
        contacts,
        pixel_id: pixel_id.to_string(),
        host: view.domain.to_string(),
        state,
        tone,
        asks: view.consent_enabled,
        answered,
        accepted: percent(accepted, answered).map(Message::WholePercent),
    })
}

fn requests(open: &OpenRequests) -> Message {
    let text = match (&*open.count, open.overdue) {
        ("1", 0) => tr("1 erasure request"),
        ("1", _) => tr("1 erasure request, {{ overdue }} overdue"),
        (_, 0) => tr("{{ count }} erasure requests"),
        _ => tr("{{ count }} erasure requests, {{ overdue }} overdue"),
    };
    text.with("count", &open.count).with("overdue", open.overdue)
}

fn sparkline(by_day: &[i64]) -> Sparkline {
    let most = by_day.iter().copied().max().unwrap_or(0);
    let last = by_day.last().copied().unwrap_or(0);
    let title = tr("Responses by day: {{ most }} at most, {{ last }} today.")
        .with("most", Message::Number(most))
        .with("last", Message::Number(last));
    Sparkline::of(by_day, title)
}
