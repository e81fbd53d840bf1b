use chrono::NaiveDate;
use rocket::{Route, get, routes};
use serde::Serialize;
use serde_json::Value;
use sqlx::PgPool;

use super::acceptance::{Before, FEWEST, Rate};
use super::breakdowns::{self, ActRow, LanguageRow, Pairs, PurposeRow, VersionRow, version_row};
use crate::error::{Error, Result};
use crate::http::csv::Csv;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::OfPixel;
use crate::pixels::pixel::DayZone;
use crate::pixels::setup::ShowPixel;
use crate::policies::popup_changes::{Publication, list_publications};
use crate::receipts::daily_counts::stats::{Counts, ReadSiteStats, Stats, StatsRequest};
use crate::receipts::table;
use crate::types::ids::PixelParam;
use crate::web::charts::bars::{Bars, Column};
use crate::web::charts::spans::{Span, are_weeks, spans_of};
use crate::web::console::kit::day_range::{Asked, ranges};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::{percent, sentence};

pub fn routes() -> Vec<Route> {
    routes![overview, overview_table]
}

pub const SLUG: &str = "overview";

/// The segments of a bar, from bottom to top.
const KINDS: [&str; 4] = ["accepted", "declined", "withdrawn", "unanswered"];

#[get("/console/sites/<pixel_id>/overview")]
async fn overview(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Reply, Refusal> {
    let pixel = member.ask::<ShowPixel>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    let reader = MemberReader::of(&member, &pixel_id).await?;
    let content = read_overview(&reader, &pixel_id, &query).await?;
    let screen = Screen {
        template: "console/overview.html",
        title: tr("Overview"),
        location: NavLocation::of(&pixel, SLUG),
        calls: &["GET /v1/pixels/{pixel_id}/consent/stats"],
    };
    Ok(member.screen_with_status(content.status, screen, content))
}

/// Reads the statistics of a site with the permissions of the person who opens the page.
pub trait StatsReader: Sync {
    fn infra(&self) -> &Infra;
    fn zone(&self) -> DayZone;
    fn read(&self, request: StatsRequest) -> impl Future<Output = Result<Stats>> + Send;
}

struct MemberReader<'a, 'r> {
    member: &'a Member<'r>,
    zone: DayZone,
}

impl<'a, 'r> MemberReader<'a, 'r> {
    async fn of(member: &'a Member<'r>, pixel_id: &PixelParam) -> Result<Self> {
        Ok(Self { member, zone: member.day_zone(pixel_id).await? })
    }
}

impl StatsReader for MemberReader<'_, '_> {
    fn infra(&self) -> &Infra {
        &self.member.app.infra
    }

    fn zone(&self) -> DayZone {
        self.zone
    }

    async fn read(&self, request: StatsRequest) -> Result<Stats> {
        Ok(self.member.ask::<ReadSiteStats>(request).await?.stats)
    }
}

/// The content of the page, for members and for people with a shared link.
#[derive(Serialize)]
pub struct OverviewPage {
    #[serde(skip)]
    pub status: u16,
    ranges: Vec<Value>,
    /// The entered range if it is invalid, otherwise the range of the statistics.
    from: String,
    to: String,
    error: Option<Message>,
    overview: Overview,
    comparison: Option<Message>,
    fewest: i64,
    time_zone: &'static str,
}

pub async fn read_overview(
    reader: &impl StatsReader,
    pixel_id: &PixelParam,
    query: &Query,
) -> Result<OverviewPage> {
    let zone = reader.zone();
    let today = zone.day_of(reader.infra().clock.now());
    let asked = Asked::of(query, today);
    let (stats, error) = match reader.read(asked.request(pixel_id.clone())).await {
        Ok(stats) => (stats, None),
        Err(error @ Error::Validation(_)) => {
            (reader.read(Asked::usual(today).request(pixel_id.clone())).await?, Some(error))
        }
        Err(error) => return Err(error),
    };
    let comparison = comparison(reader, &stats).await?;
    let published = published_in(&reader.infra().pool, &stats, zone).await?;
    Ok(OverviewPage {
        status: error.as_ref().map_or(200, Error::status),
        ranges: ranges(&asked),
        from: error.as_ref().and(asked.from).unwrap_or_else(|| stats.from.to_string()),
        to: error.as_ref().and(asked.to).unwrap_or_else(|| stats.to.to_string()),
        error: error.as_ref().map(sentence),
        overview: Overview::of(&stats, &published),
        comparison,
        fewest: FEWEST,
        time_zone: zone.name(),
    })
}

#[get("/console/sites/<pixel_id>/overview.csv")]
async fn overview_table(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Csv, Refusal> {
    let today = member.day_zone(&pixel_id).await?.day_of(member.app.infra.clock.now());
    let request = Asked::of(&query, today).request(pixel_id);
    let stats = member.ask::<ReadSiteStats>(request).await?.stats;
    let name = format!("stats-{}-{}-{}", stats.pixel_id, stats.from, stats.to);
    Ok(Csv::whole(name, table::of_stats(&stats)?))
}

#[derive(Serialize)]
struct Overview {
    name: Message,
    from: NaiveDate,
    to: NaiveDate,
    totals: Counts,
    rate: Message,
    responses: Message,
    confidence: Message,
    /// As a share of the impressions.
    unanswered: Option<Message>,
    /// Whether each bar covers a week instead of a day.
    is_weekly: bool,
    first: Message,
    last: Message,
    /// The description of the plot for screen readers.
    label: Message,
    plot: Bars,
    rows: Vec<Row>,
    marks: Vec<Mark>,
    purposes: Vec<PurposeRow>,
    versions: Vec<VersionRow>,
    languages: Vec<LanguageRow>,
    pairs: Option<Pairs>,
    acts: Vec<ActRow>,
}

#[derive(Serialize)]
struct Row {
    name: Message,
    counts: Counts,
    rate: Message,
}

#[derive(Serialize)]
struct Mark {
    day: Message,
    version: Option<i32>,
    what: Message,
}

impl Overview {
    fn of(stats: &Stats, published: &[Published]) -> Self {
        let spans = spans_of(&stats.days);
        let all = Span { from: stats.from, to: stats.to, counts: stats.totals.clone() };
        let columns = spans.iter().map(|span| column(span, published));
        let rate = Rate::from(&stats.totals);
        let (name, is_weekly) = (all.name(), are_weeks(stats.days.len()));
        Self {
            label: label(&name, is_weekly),
            name,
            from: stats.from,
            to: stats.to,
            totals: stats.totals.clone(),
            rate: rate.text(),
            responses: rate.responses(),
            confidence: rate.confidence(),
            unanswered: percent(stats.totals.unanswered, stats.totals.shown)
                .map(Message::WholePercent),
            is_weekly,
            first: Message::Day(stats.from),
            last: Message::Day(stats.to),
            plot: Bars::of(KINDS, columns.collect()),
            rows: spans.iter().rev().map(row).collect(),
            marks: published.iter().map(mark).collect(),
            purposes: breakdowns::purposes(&stats.totals),
            versions: stats.by_version.iter().map(version_row).collect(),
            languages: breakdowns::languages(stats),
            pairs: breakdowns::pairs(stats),
            acts: breakdowns::acts(stats),
        }
    }
}

fn label(days: &Message, is_weekly: bool) -> Message {
    let text = match is_weekly {
        true => tr("Choices by week, {{ days }}; the numbers are in the table below"),
        false => tr("Choices by day, {{ days }}; the numbers are in the table below"),
    };
    text.with("days", days)
}

/// The period of the same length that ends on the day before this one.
fn previous_period(stats: &Stats) -> StatsRequest {
    let length = stats.to - stats.from;
    let to = stats.from.pred_opt().unwrap_or(stats.from);
    let from = to.checked_sub_signed(length).unwrap_or(to);
    StatsRequest {
        pixel_id: stats.pixel_id.clone().into(),
        from: Some(from.to_string()),
        to: Some(to.to_string()),
    }
}

/// Compares with the previous period; `None` if that is before the first day that the service accepts.
async fn comparison(reader: &impl StatsReader, stats: &Stats) -> Result<Option<Message>> {
    let previous = match reader.read(previous_period(stats)).await {
        Ok(previous) => previous,
        Err(Error::Validation(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Stats { from, to, totals, .. } = previous;
    let days = Span { from, to, counts: Counts::default() }.name();
    let before = Before::Period(days);
    Ok(Some(Rate::from(&stats.totals).difference(Rate::from(&totals), &before)))
}

/// A publication, with its day in the time zone of the site.
struct Published {
    day: NaiveDate,
    what: Publication,
}

async fn published_in(pool: &PgPool, stats: &Stats, zone: DayZone) -> Result<Vec<Published>> {
    let until = stats.to.succ_opt().unwrap_or(stats.to);
    let (from, until) = (zone.begin_of(stats.from), zone.begin_of(until));
    let published = list_publications(pool, &stats.pixel_id, from, until).await?;
    let with_day = |what: Publication| Published { day: zone.day_of(what.at), what };
    Ok(published.into_iter().map(with_day).collect())
}

fn column(span: &Span, published: &[Published]) -> Column<4> {
    let counts = &span.counts;
    let Counts { shown, accepted, declined, withdrawn, unanswered, .. } = *counts;
    let marks = published.iter().filter(|it| span.contains(it.day));
    let mut marks = marks.map(|it| published_part(&it.what)).collect::<Vec<_>>();
    marks.dedup();
    let mark = |marks| {
        let text = tr("{{ days }}: {{ published }}").with("days", span.name());
        text.with("published", Message::List(marks))
    };
    Column {
        title: tr(
            "{{ days }}: shown {{ shown }}, accepted {{ accepted }}, declined {{ declined }}, withdrawn {{ withdrawn }}, unanswered {{ unanswered }}",
        )
        .with("days", span.name())
        .with("shown", shown)
        .with("accepted", accepted)
        .with("declined", declined)
        .with("withdrawn", withdrawn)
        .with("unanswered", unanswered),
        counts: [accepted, declined, withdrawn, unanswered],
        mark: (!marks.is_empty()).then(|| mark(marks)),
    }
}

fn published_part(publication: &Publication) -> Message {
    match publication.version {
        Some(version) => tr("version {{ version }} of the notice").with("version", version),
        None => tr("appearance or settings of the popup"),
    }
}

fn row(span: &Span) -> Row {
    Row { name: span.name(), counts: span.counts.clone(), rate: Rate::from(&span.counts).text() }
}

fn mark(Published { day, what }: &Published) -> Mark {
    Mark { day: Message::Day(*day), version: what.version, what: published_part(what) }
}
