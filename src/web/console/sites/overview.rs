use chrono::NaiveDate;
use rocket::{Route, get, routes};
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::http::csv::Csv;
use crate::http::query::Query;
use crate::pixels::input::OfPixel;
use crate::pixels::setup::ShowPixel;
use crate::receipts::capabilities::ReadConsentStats;
use crate::receipts::daily_counts::series::{Answers, VersionSeries};
use crate::receipts::daily_counts::stats::{Counts, Stats, StatsRequest};
use crate::receipts::table;
use crate::types::consent::Purpose;
use crate::types::locales;
use crate::web::charts::bars::{Bars, Column};
use crate::web::charts::spans::{Span, are_weeks, spans_of};
use crate::web::console::kit::day_range::{Asked, ranges};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{Place, Screen};
use crate::web::console::kit::words::{self, date, percent, sentence};

pub fn routes() -> Vec<Route> {
    routes![overview, overview_table]
}

pub const SLUG: &str = "overview";

/// From bottom to top.
const KINDS: [&str; 4] = ["accepted", "declined", "withdrawn", "unanswered"];

#[get("/console/sites/<pixel_id>/overview")]
async fn overview(member: Member<'_>, pixel_id: &str, query: Query) -> Result<Reply, Refusal> {
    let pixel = member.ask::<ShowPixel>(OfPixel { pixel_id: pixel_id.to_owned() }).await?;
    let today = member.app.infra.clock.now().date_naive();
    let content = read_overview(&member, pixel_id, Asked::of(&query, today), today).await?;
    let (pixel_id, host) = (pixel.pixel_id.to_string(), pixel.domain.to_string());
    let screen = Screen {
        template: "console/overview.html",
        title: "Overview",
        place: Place::Site { pixel_id: &pixel_id, host: &host, screen: SLUG },
        calls: &["GET /v1/pixels/{pixel_id}/consent/stats"],
    };
    Ok(member.screen_with_status(content.status, screen, content))
}

/// Reads the statistics of a site with the rights of whoever opens the page.
pub trait StatsReader: Sync {
    fn read(&self, request: StatsRequest) -> impl Future<Output = Result<Stats>> + Send;
}

impl StatsReader for Member<'_> {
    async fn read(&self, request: StatsRequest) -> Result<Stats> {
        self.ask::<ReadConsentStats>(request).await
    }
}

/// The content of the page, for members and for people with a shared link.
#[derive(Serialize)]
pub struct OverviewPage {
    #[serde(skip)]
    pub status: u16,
    ranges: Vec<Value>,
    /// The entered values if they are invalid.
    from: String,
    to: String,
    error: Option<String>,
    overview: Overview,
    previous: Option<i64>,
}

pub async fn read_overview(
    reader: &impl StatsReader,
    pixel_id: &str,
    asked: Asked,
    today: NaiveDate,
) -> Result<OverviewPage> {
    let (stats, error) = match reader.read(asked.request(pixel_id)).await {
        Ok(stats) => (stats, None),
        Err(error @ Error::Validation(_)) => {
            (reader.read(Asked::usual(today).request(pixel_id)).await?, Some(error))
        }
        Err(error) => return Err(error),
    };
    // A range that begins with the first day that the service accepts has no previous period.
    let previous = match reader.read(previous_period(&stats)).await {
        Ok(previous) => acceptance(&previous.totals),
        Err(Error::Validation(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(OverviewPage {
        status: error.as_ref().map_or(200, Error::status),
        ranges: ranges(&asked),
        from: error.as_ref().and(asked.from).unwrap_or_else(|| stats.from.to_string()),
        to: error.as_ref().and(asked.to).unwrap_or_else(|| stats.to.to_string()),
        error: error.as_ref().map(sentence),
        overview: Overview::of(&stats),
        previous,
    })
}

#[get("/console/sites/<pixel_id>/overview.csv")]
async fn overview_table(member: Member<'_>, pixel_id: &str, query: Query) -> Result<Csv, Refusal> {
    let today = member.app.infra.clock.now().date_naive();
    let request = Asked::of(&query, today).request(pixel_id);
    let stats = member.ask::<ReadConsentStats>(request).await?;
    let name = format!("stats-{}-{}-{}", stats.pixel_id, stats.from, stats.to);
    Ok(Csv::whole(name, table::of_stats(&stats)?))
}

#[derive(Serialize)]
struct Overview {
    name: String,
    from: NaiveDate,
    to: NaiveDate,
    totals: Counts,
    /// In percent of the answers.
    acceptance: Option<i64>,
    /// In percent of the impressions.
    unanswered: Option<i64>,
    unit: &'static str,
    first: String,
    last: String,
    plot: Bars,
    rows: Vec<Row>,
    marks: Vec<Mark>,
    purposes: Vec<PurposeRow>,
    versions: Vec<VersionRow>,
    languages: Vec<LanguageRow>,
    acts: Vec<ActRow>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    counts: Counts,
}

#[derive(Serialize)]
struct Mark {
    day: String,
    version: i32,
}

#[derive(Serialize)]
struct PurposeRow {
    name: &'static str,
    title: &'static str,
    count: i64,
    /// In percent of the acceptances.
    share: Option<i64>,
}

#[derive(Serialize)]
struct VersionRow {
    policy_hash: String,
    version: Option<i32>,
    since: Option<String>,
    answers: Answers,
    acceptance: Option<i64>,
}

#[derive(Serialize)]
struct LanguageRow {
    lang: String,
    /// In the language itself; `None` if unknown.
    name: Option<&'static str>,
    answers: Answers,
    acceptance: Option<i64>,
}

#[derive(Serialize)]
struct ActRow {
    name: &'static str,
    answers: Answers,
}

impl Overview {
    fn of(stats: &Stats) -> Self {
        let spans = spans_of(&stats.days);
        let all = Span { from: stats.from, to: stats.to, counts: stats.totals.clone() };
        let published = published_in(stats);
        let columns = spans.iter().map(|span| column(span, &published));
        Self {
            name: all.name(),
            from: stats.from,
            to: stats.to,
            totals: stats.totals.clone(),
            acceptance: acceptance(&stats.totals),
            unanswered: percent(stats.totals.unanswered, stats.totals.shown),
            unit: if are_weeks(stats.days.len()) { "week" } else { "day" },
            first: date(stats.from),
            last: date(stats.to),
            plot: Bars::of(KINDS, columns.collect()),
            rows: spans.iter().rev().map(row).collect(),
            marks: published.iter().map(mark).collect(),
            purposes: purposes(&stats.totals),
            versions: stats.by_version.iter().map(version_row).collect(),
            languages: languages(stats),
            acts: acts(stats),
        }
    }
}

fn acceptance(counts: &Counts) -> Option<i64> {
    percent(counts.accepted, counts.accepted + counts.declined)
}

/// The period of the same length that ends on the day before this one.
fn previous_period(stats: &Stats) -> StatsRequest {
    let length = stats.to - stats.from;
    let to = stats.from.pred_opt().unwrap_or(stats.from);
    let from = to.checked_sub_signed(length).unwrap_or(to);
    StatsRequest {
        pixel_id: stats.pixel_id.to_string(),
        from: Some(from.to_string()),
        to: Some(to.to_string()),
    }
}

fn published_in(stats: &Stats) -> Vec<(NaiveDate, i32)> {
    let published = stats.by_version.iter().filter_map(|line| {
        let day = line.published_at?.0.date_naive();
        (stats.from <= day && day <= stats.to).then_some((day, line.version?))
    });
    let mut published = published.collect::<Vec<_>>();
    published.sort_unstable();
    published
}

fn column(span: &Span, published: &[(NaiveDate, i32)]) -> Column<4> {
    let counts = &span.counts;
    let Counts { shown, accepted, declined, withdrawn, unanswered, .. } = *counts;
    let versions = published.iter().filter(|(day, _)| span.contains(*day));
    let marks = versions.map(|(_, version)| format!("version {version} of the notice"));
    let marks = marks.collect::<Vec<_>>().join(", ");
    Column {
        title: format!(
            "{}: shown {shown}, accepted {accepted}, declined {declined}, withdrawn {withdrawn}, \
             unanswered {unanswered}",
            span.name(),
        ),
        counts: [accepted, declined, withdrawn, unanswered],
        mark: (!marks.is_empty()).then(|| format!("{}: {marks}", span.name())),
    }
}

fn row(span: &Span) -> Row {
    Row { name: span.name(), counts: span.counts.clone() }
}

fn mark(&(day, version): &(NaiveDate, i32)) -> Mark {
    Mark { day: date(day), version }
}

fn purposes(totals: &Counts) -> Vec<PurposeRow> {
    let english = locales::english();
    let row = |purpose: &Purpose| {
        let name = purpose.as_str();
        let count = totals.purposes.get(name).copied().unwrap_or(0);
        let title = &*english.purposes[name].title;
        PurposeRow { name, title, count, share: percent(count, totals.accepted) }
    };
    let mut rows = Purpose::ALL.iter().map(row).filter(|row| row.count > 0).collect::<Vec<_>>();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

fn version_row(line: &VersionSeries) -> VersionRow {
    let Answers { accepted, declined, .. } = line.totals;
    VersionRow {
        policy_hash: line.policy_hash.clone(),
        version: line.version,
        since: line.published_at.map(|time| words::day(time.0)),
        answers: line.totals,
        acceptance: percent(accepted, accepted + declined),
    }
}

fn languages(stats: &Stats) -> Vec<LanguageRow> {
    let rows = stats.by_language.iter().map(|line| {
        let Answers { accepted, declined, .. } = line.totals;
        let lang = line.language.clone().unwrap_or_default();
        LanguageRow {
            name: locales::named(&lang).map(|locale| &*locale.name),
            lang,
            answers: line.totals,
            acceptance: percent(accepted, accepted + declined),
        }
    });
    let mut rows = rows.collect::<Vec<_>>();
    rows.sort_by_key(|row| std::cmp::Reverse(row.answers.accepted + row.answers.declined));
    rows
}

fn acts(stats: &Stats) -> Vec<ActRow> {
    let rows = stats
        .by_act
        .iter()
        .map(|line| ActRow { name: line.act.map_or("Unknown", words::act), answers: line.totals });
    rows.collect()
}
