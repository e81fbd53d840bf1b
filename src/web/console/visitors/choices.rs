use chrono::{Days, NaiveDate};
use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::choice_words::{ChoiceWords, SLUG, state_name};
use crate::error::{Error, Result};
use crate::http::csv::Csv;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::OfPixel;
use crate::pixels::setup::ShowPixel;
use crate::receipts::consent_log::{ConsentEvent, ConsentLog, LogRequest, ReadConsentLog};
use crate::receipts::daily_counts::stats::{ReadConsentStats, StatsRequest};
use crate::receipts::log_query::LogFilter;
use crate::receipts::table;
use crate::types::consent::ConsentState;
use crate::types::ids::{PixelId, PixelParam};
use crate::web::console::kit::member::{Member, OwnedCaller};
use crate::web::console::kit::pages::{PageOfLines, Pages, stream_of};
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![choices, choices_table]
}

const PAGE: u8 = 25;
const FILE: u8 = 200;
/// Versions that were answered within this number of days can be selected.
const VERSIONS_OF_DAYS: u64 = 365;

#[derive(Clone, Default, Serialize)]
struct Filter {
    visitor_id: String,
    receipt_id: String,
    state: String,
    policy_hash: String,
    from: String,
    to: String,
}

impl Filter {
    fn of(query: &Query) -> Self {
        let text = |name| query.present(name).map(str::trim).unwrap_or_default().to_owned();
        Self {
            visitor_id: text("visitor_id"),
            receipt_id: text("receipt_id"),
            state: text("state"),
            policy_hash: text("policy_hash"),
            from: text("from"),
            to: text("to"),
        }
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("visitor_id", &self.visitor_id),
            ("receipt_id", &self.receipt_id),
            ("state", &self.state),
            ("policy_hash", &self.policy_hash),
            ("from", &self.from),
            ("to", &self.to),
        ];
        all.into_iter().map(|(name, value)| (name, &**value)).filter(|(_, value)| !value.is_empty())
    }

    fn query(&self) -> String {
        Serializer::new(String::new()).extend_pairs(self.fields()).finish()
    }

    fn request(&self, pixel_id: PixelParam, before: Option<&str>, limit: u8) -> LogRequest {
        let given = |value: &String| Some(value.clone()).filter(|value| !value.is_empty());
        LogRequest {
            pixel_id,
            filter: LogFilter {
                state: given(&self.state),
                visitor_id: given(&self.visitor_id),
                receipt_id: given(&self.receipt_id),
                policy_hash: given(&self.policy_hash),
                from: given(&self.from),
                to: given(&self.to),
                before: before.map(str::to_owned),
            },
            limit: limit.to_string(),
        }
    }
}

#[derive(Serialize)]
struct Row {
    receipt_id: String,
    visitor_id: String,
    words: ChoiceWords,
}

impl From<&ConsentEvent> for Row {
    fn from(event: &ConsentEvent) -> Self {
        Self {
            receipt_id: event.fields.receipt_id.to_string(),
            visitor_id: event.fields.visitor_id.as_str().to_owned(),
            words: ChoiceWords::of(event),
        }
    }
}

#[derive(Serialize)]
struct Version {
    policy_hash: String,
    name: Message,
}

#[get("/console/sites/<pixel_id>/choices")]
async fn choices(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    let pixel = member.ask::<ShowPixel>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    let filter = Filter::of(&query);
    let request = filter.request(pixel_id, query.present("before"), PAGE);
    let (log, error) = match member.ask::<ReadConsentLog>(request).await {
        Ok(log) => (Some(log), None),
        Err(error @ (Error::Validation(_) | Error::Naming { .. })) => (None, Some(error)),
        Err(error) => return Err(error.into()),
    };
    let (pixel_id, host) = (pixel.pixel_id.to_string(), pixel.domain.to_string());
    let content = context! {
        rows: log.as_ref().map(rows).unwrap_or_default(),
        next: log.as_ref().and_then(|log| next_page(&filter, log)),
        is_first_page: query.present("before").is_none(),
        is_filtered: filter.fields().next().is_some(),
        query: filter.query(),
        states: ConsentState::ALL.iter().map(state_choice).collect::<Vec<_>>(),
        versions: versions(&member, pixel.pixel_id.clone().into(), &filter).await?,
        filter: &filter,
        error: error.as_ref().map(sentence),
        notice: query.get("done").and_then(notice_of),
    };
    let screen = Screen {
        template: "console/choices.html",
        title: tr("Choices"),
        location: NavLocation::Site { pixel_id: &pixel_id, host: &host, screen: SLUG },
        calls: &["GET /v1/pixels/{pixel_id}/consent"],
    };
    let status = error.map_or(200, |error| error.status());
    Ok(member.screen_with_status(status, screen, content))
}

fn state_choice(state: &ConsentState) -> Value {
    json!({"word": state.as_str(), "name": state_name(*state)})
}

fn rows(log: &ConsentLog) -> Vec<Row> {
    log.events.iter().map(Row::from).collect()
}

fn next_page(filter: &Filter, log: &ConsentLog) -> Option<String> {
    let before = log.next_before.as_deref()?;
    let mut query = Serializer::new(String::new());
    query.extend_pairs(filter.fields()).append_pair("before", before);
    Some(query.finish())
}

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "erased" => Some(tr("The visitor was erased.")),
        _ => None,
    }
}

async fn versions(
    member: &Member<'_>,
    pixel_id: PixelParam,
    filter: &Filter,
) -> Result<Vec<Version>> {
    let today = member.app.infra.clock.now().date_naive();
    let from = today.checked_sub_days(Days::new(VERSIONS_OF_DAYS)).unwrap_or(NaiveDate::MIN);
    let request =
        StatsRequest { pixel_id, from: Some(from.to_string()), to: Some(today.to_string()) };
    let lines = member.ask::<ReadConsentStats>(request).await?.by_version;
    let mut versions = Vec::new();
    for line in lines {
        let Some(version) = line.version else { continue };
        let name = match line.published_at {
            Some(time) => {
                tr("Version {{ version }}, since {{ day }}").with("day", Message::DayOf(time.0))
            }
            None => tr("Version {{ version }}"),
        };
        let name = name.with("version", version);
        versions.push(Version { policy_hash: line.policy_hash, name });
    }
    let picked = &filter.policy_hash;
    if !picked.is_empty() && versions.iter().all(|version| version.policy_hash != *picked) {
        let name = tr("The version that was picked");
        versions.push(Version { policy_hash: picked.clone(), name });
    }
    Ok(versions)
}

/// All choices of a filter, the newest first.
struct Choices {
    pixel_id: PixelId,
    filter: Filter,
}

impl Pages for Choices {
    async fn page(&self, caller: &OwnedCaller, from: Option<String>) -> Result<PageOfLines> {
        let request = self.filter.request(self.pixel_id.clone().into(), from.as_deref(), FILE);
        let log = caller.ask::<ReadConsentLog>(request).await?;
        Ok(PageOfLines { lines: table::lines_of_log(&log)?, next: log.next_before })
    }
}

#[get("/console/sites/<pixel_id>/choices.csv")]
async fn choices_table(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Csv, Refusal> {
    let pixel_id = member.ask::<ShowPixel>(OfPixel { pixel_id }).await?.pixel_id;
    let name = format!("choices-{pixel_id}");
    let choices = Choices { pixel_id, filter: Filter::of(&query) };
    let lines = stream_of(member.owned_caller(), table::head_of_log()?, choices).await?;
    Ok(Csv { name, lines, next: None })
}
