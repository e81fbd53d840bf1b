use std::collections::BTreeMap;

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;

use super::day_tallies::{self, DayTallies};
use super::series::{self, ActSeries, LanguageSeries, Line, VersionLanguage, VersionSeries};
use super::tally::{ByState, DayTally};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::consent_receipt::user_action::Act;
use crate::error::{Error, Result};
use crate::pixels;
use crate::pixels::pixel::DayZone;
use crate::receipts::days::{DayRange, wrong_order};
use crate::receipts::service::Receipts;
use crate::receipts::store::counts::{self, PublishedVersion};
use crate::types::consent::Purpose;
use crate::types::ids::{PixelId, PixelParam};

/// Counts of one day, or of all days together.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
pub struct Counts {
    /// Visitors who saw the popup, each once a day.
    pub shown: i64,
    /// Of the visitors who saw it, those who made no choice that day: `shown` less the visitors who
    /// made one, at least 0. Of all days: the sum of theirs.
    pub unanswered: i64,
    pub accepted: i64,
    pub declined: i64,
    pub withdrawn: i64,
    /// How often each purpose was granted; all purposes, in order of their names.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub purposes: BTreeMap<&'static str, i64>,
}

impl Default for Counts {
    fn default() -> Self {
        let purposes = Purpose::ALL.iter().map(|purpose| (purpose.as_str(), 0)).collect();
        Self { shown: 0, unanswered: 0, accepted: 0, declined: 0, withdrawn: 0, purposes }
    }
}

impl Counts {
    fn of(tally: &DayTally) -> Self {
        let ByState([accepted, declined, withdrawn]) = tally.choices.by_state();
        let granted = |purpose: &Purpose| {
            // Purposes that only a newer version of the service knows are omitted.
            let count = tally.choices.purposes.get(purpose.as_str()).copied();
            (purpose.as_str(), count.unwrap_or(0))
        };
        Self {
            shown: tally.shown,
            unanswered: (tally.shown - tally.choosers).max(0),
            accepted,
            declined,
            withdrawn,
            purposes: Purpose::ALL.iter().map(granted).collect(),
        }
    }

    pub fn add(&mut self, day: &Self) {
        self.shown += day.shown;
        self.unanswered += day.unanswered;
        self.accepted += day.accepted;
        self.declined += day.declined;
        self.withdrawn += day.withdrawn;
        for (purpose, count) in &day.purposes {
            *self.purposes.entry(purpose).or_default() += count;
        }
    }
}

/// A day with its counts.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct DayCounts {
    /// `YYYY-MM-DD`, UTC.
    pub day: NaiveDate,
    #[serde(flatten)]
    pub counts: Counts,
}

/// The answer: every day of the range, oldest first, also those on which nothing happened.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Stats {
    pub pixel_id: PixelId,
    /// The first day, `YYYY-MM-DD`.
    pub from: NaiveDate,
    /// The last day, `YYYY-MM-DD`.
    pub to: NaiveDate,
    pub days: Vec<DayCounts>,
    pub totals: Counts,
    /// The choices on each version of the policy, the newest first, at most 20.
    pub by_version: Vec<VersionSeries>,
    /// The choices by the language in which visitors were asked.
    pub by_language: Vec<LanguageSeries>,
    /// The choices by version and language together, without their days; at most 200 lines. Choices of days
    /// that were counted by an earlier version of the service may be missing.
    pub by_version_and_language: Vec<VersionLanguage>,
    /// The choices by the reported user action.
    pub by_act: Vec<ActSeries>,
}

/// The days to count.
#[derive(Deserialize, JsonSchema)]
pub struct StatsRequest {
    pub pixel_id: PixelParam,
    /// First UTC day; 30 days up to `to` without it.
    #[schemars(with = "Option<NaiveDate>")]
    pub from: Option<String>,
    /// Last UTC day; today without it.
    #[schemars(with = "Option<NaiveDate>")]
    pub to: Option<String>,
}

impl StatsRequest {
    fn range(&self, clock: &Clock, zone: DayZone) -> Result<DayRange> {
        let today = zone.day_of(clock.now());
        DayRange::parse(self.from.as_deref(), self.to.as_deref(), today)
    }
}

/// Counts the impressions and choices of a pixel per UTC day.
pub struct ReadConsentStats;

impl Capability for ReadConsentStats {
    const NAME: &'static str = "read_consent_stats";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read consent statistics",
        "Counts per UTC day how often the popup was shown and what visitors answered, also by \
         policy version and by language.",
    ));
    type Service = Receipts;
    type Access = ActiveAccount<Reads>;
    type Input = StatsRequest;
    type Output = Stats;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong_order()]
    }

    async fn run(receipts: &Receipts, caller: Caller, request: StatsRequest) -> Result<Stats> {
        let infra = &receipts.infra;
        let range = request.range(&infra.clock, DayZone::UTC)?;
        let pixel_id =
            pixels::setup::find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        count_days(&infra.read_pool, pixel_id, DayZone::UTC, range).await
    }
}

/// Statistics by the days of a site's time zone.
pub struct SiteStats {
    pub zone: DayZone,
    pub stats: Stats,
}

/// As [`ReadConsentStats`], by the days of the site's time zone.
pub struct ReadSiteStats;

impl Capability for ReadSiteStats {
    const NAME: &'static str = "read_site_stats";
    type Service = Receipts;
    type Access = ActiveAccount<Reads>;
    type Input = StatsRequest;
    type Output = SiteStats;

    fn refusals() -> Vec<Error> {
        ReadConsentStats::refusals()
    }

    async fn run(receipts: &Receipts, caller: Caller, request: StatsRequest) -> Result<SiteStats> {
        let infra = &receipts.infra;
        let pixel = pixels::setup::find_for(&infra.pool, &caller, &request.pixel_id).await?;
        let zone = pixel.day_zone();
        let range = request.range(&infra.clock, zone)?;
        let stats = count_days(&infra.read_pool, pixel.pixel_id, zone, range).await?;
        Ok(SiteStats { zone, stats })
    }
}

/// Like [`ReadSiteStats`], for the pixel of a shared link.
pub async fn count_shared(
    read_pool: &PgPool,
    clock: &Clock,
    pixel_id: &PixelId,
    zone: DayZone,
    request: &StatsRequest,
) -> Result<Stats> {
    count_days(read_pool, pixel_id.clone(), zone, request.range(clock, zone)?).await
}

/// The counts of a range of days of a time zone. The caller has checked the access to the pixel.
pub async fn count_days(
    read_pool: &PgPool,
    pixel_id: PixelId,
    zone: DayZone,
    range: DayRange,
) -> Result<Stats> {
    // All reads share one snapshot.
    let moment = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    let mut transaction = read_pool.begin_with(moment).await?;
    let tallies = day_tallies::read(&mut transaction, &pixel_id, zone, range).await?;
    let lines = Lines::of(&tallies);
    let hashes = lines.by_policy.keys().cloned().collect::<Vec<_>>();
    let versions = counts::list_versions(&mut transaction, &pixel_id, &hashes).await?;
    transaction.commit().await?;
    Ok(stats_of(pixel_id, range, &tallies, &lines, &versions))
}

/// The choices by policy, by language, by both and by user action.
#[derive(Default)]
struct Lines {
    by_policy: BTreeMap<String, Line>,
    by_language: BTreeMap<Option<String>, Line>,
    by_pair: BTreeMap<(String, Option<String>), ByState>,
    by_act: BTreeMap<Option<Act>, Line>,
}

impl Lines {
    fn of(tallies: &DayTallies) -> Self {
        let mut lines = Self::default();
        for (&day, DayTally { choices, .. }) in tallies {
            for (policy_hash, &answers) in &choices.policies {
                lines.by_policy.entry(policy_hash.clone()).or_default().set(day, answers);
            }
            for (language, &answers) in &choices.languages {
                lines.by_language.entry(known(language)).or_default().set(day, answers);
            }
            for (policy_hash, language, answers) in choices.by_policy_and_language() {
                let pair = (policy_hash.to_owned(), known(language));
                lines.by_pair.entry(pair).or_default().add(answers);
            }
            for (act, &answers) in &choices.acts {
                let Some(act) = Act::parse(act) else { continue };
                lines.by_act.entry(Some(act)).or_default().set(day, answers);
            }
            let rest = choices.without_act();
            if rest != ByState::default() {
                lines.by_act.entry(None).or_default().set(day, rest);
            }
        }
        lines
    }
}

fn known(language: &str) -> Option<String> {
    Some(language.to_owned()).filter(|language| !language.is_empty())
}

fn stats_of(
    pixel_id: PixelId,
    range: DayRange,
    tallies: &DayTallies,
    lines: &Lines,
    versions: &BTreeMap<String, PublishedVersion>,
) -> Stats {
    let counts_of = |day| tallies.get(&day).map_or_else(Counts::default, Counts::of);
    let days = range.days().map(|day| DayCounts { day, counts: counts_of(day) });
    let days = days.collect::<Vec<_>>();
    let mut totals = Counts::default();
    for day in &days {
        totals.add(&day.counts);
    }
    let dates = range.days().collect::<Vec<_>>();
    Stats {
        pixel_id,
        from: range.from,
        to: range.to,
        days,
        totals,
        by_version: series::by_version(&lines.by_policy, versions, &dates),
        by_language: series::by_language(&lines.by_language, &dates),
        by_version_and_language: series::by_version_and_language(&lines.by_pair, versions),
        by_act: series::by_act(&lines.by_act, &dates),
    }
}
