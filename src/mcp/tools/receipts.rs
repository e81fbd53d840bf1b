//! The tools for the log and the statistics. Their answers are summaries unless `detail` is `full`, to save
//! space in the context of a model.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::LogArguments;
use super::declared::{Declared, handled};
use crate::clock::rfc3339;
use crate::error::Result;
use crate::receipts::consent_log::{ConsentEvent, ConsentLog, ReadConsentLog};
use crate::receipts::daily_counts::series::{
    ActSeries, LanguageSeries, VersionLanguage, VersionSeries,
};
use crate::receipts::daily_counts::stats::{
    Counts, DayCounts, ReadConsentStats, Stats, StatsRequest,
};
use crate::tool_calls::call::ToolCall;
use crate::tool_calls::tool_server::ToolServer;
use crate::types::consent::{ConsentState, Granted, Purpose};
use crate::types::ids::{PixelId, VisitorId};
use crate::types::text_enum::text_enum;

text_enum! {
    /// How much an answer says.
    pub enum Detail {
        Summary = "summary",
        Full = "full",
    }
}

#[derive(Deserialize, JsonSchema)]
struct DetailedLog {
    #[serde(flatten)]
    log: LogArguments,
    /// `full`: with origin, policy, signed receipt and what was shown.
    detail: Option<Detail>,
}

/// A page of choices, newest first.
#[derive(Serialize, JsonSchema)]
struct LogPage {
    pixel_id: PixelId,
    events: Vec<LogEntry>,
    /// The next `before`; null when there are no older choices.
    next_before: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum LogEntry {
    Summary(ChoiceSummary),
    Full(Box<ConsentEvent>),
}

/// One choice.
#[derive(Serialize, JsonSchema)]
struct ChoiceSummary {
    recorded_at: String,
    consent_state: ConsentState,
    #[schemars(with = "Vec<Purpose>")]
    purposes: Vec<Granted>,
    visitor_id: VisitorId,
    receipt_id: uuid::Uuid,
}

impl From<ConsentEvent> for ChoiceSummary {
    fn from(ConsentEvent { fields, .. }: ConsentEvent) -> Self {
        Self {
            recorded_at: rfc3339(fields.recorded_at),
            consent_state: fields.consent_state,
            purposes: fields.purposes,
            visitor_id: fields.visitor_id,
            receipt_id: fields.receipt_id,
        }
    }
}

impl LogPage {
    fn new(log: ConsentLog, detail: Detail) -> Self {
        let ConsentLog { pixel_id, events, next_before } = log;
        let entry = |event: ConsentEvent| match detail {
            Detail::Summary => LogEntry::Summary(event.into()),
            Detail::Full => LogEntry::Full(Box::new(event)),
        };
        Self { pixel_id, events: events.into_iter().map(entry).collect(), next_before }
    }
}

pub fn read_consent_log() -> Declared {
    handled::<ReadConsentLog, DetailedLog, LogPage>(|server, call| Box::pin(read_log(server, call)))
}

async fn read_log(server: &ToolServer, call: &ToolCall) -> Result<LogPage> {
    let mut wanted = Detail::Summary;
    let request = |DetailedLog { log, detail }: DetailedLog| {
        wanted = detail.unwrap_or(wanted);
        log.into()
    };
    let log = server.ask::<ReadConsentLog, _>(call, request).await?;
    Ok(LogPage::new(log, wanted))
}

#[derive(Deserialize, JsonSchema)]
struct DetailedStats {
    #[serde(flatten)]
    stats: StatsRequest,
    /// `full`: also by day, policy version and language.
    detail: Option<Detail>,
}

/// Counts of all days together, and with `full` of each.
#[derive(Serialize, JsonSchema)]
struct StatsAnswer {
    pixel_id: PixelId,
    from: NaiveDate,
    to: NaiveDate,
    totals: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<Vec<DayCounts>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_version: Option<Vec<VersionSeries>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_language: Option<Vec<LanguageSeries>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_version_and_language: Option<Vec<VersionLanguage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_act: Option<Vec<ActSeries>>,
}

impl StatsAnswer {
    fn new(stats: Stats, detail: Detail) -> Self {
        let Stats { pixel_id, from, to, days, totals, by_version, by_language, .. } = stats;
        let Stats { by_version_and_language, by_act, .. } = stats;
        let is_full = detail == Detail::Full;
        Self {
            pixel_id,
            from,
            to,
            totals,
            days: is_full.then_some(days),
            by_version: is_full.then_some(by_version),
            by_language: is_full.then_some(by_language),
            by_version_and_language: is_full.then_some(by_version_and_language),
            by_act: is_full.then_some(by_act),
        }
    }
}

pub fn read_consent_stats() -> Declared {
    handled::<ReadConsentStats, DetailedStats, StatsAnswer>(|server, call| {
        Box::pin(read_stats(server, call))
    })
}

async fn read_stats(server: &ToolServer, call: &ToolCall) -> Result<StatsAnswer> {
    let mut wanted = Detail::Summary;
    let request = |DetailedStats { stats, detail }: DetailedStats| {
        wanted = detail.unwrap_or(wanted);
        stats
    };
    let stats = server.ask::<ReadConsentStats, _>(call, request).await?;
    Ok(StatsAnswer::new(stats, wanted))
}
