//! Choices per day, by version of the policy, by language and by user action; and by version and language together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::tally::ByState;
use crate::clock::Timestamp;
use crate::consent_receipt::user_action::Act;
use crate::receipts::store::counts::PublishedVersion;

pub const MAX_VERSIONS: usize = 20;

/// Maximum number of pairs of a version and a language per answer.
pub const MAX_PAIRS: usize = 200;

/// Choices of all days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct Answers {
    pub accepted: i64,
    pub declined: i64,
    pub withdrawn: i64,
}

impl From<ByState> for Answers {
    fn from(ByState([accepted, declined, withdrawn]): ByState) -> Self {
        Self { accepted, declined, withdrawn }
    }
}

/// Choices of each day: as many numbers in each list as the answer has `days`, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct DailyAnswers {
    pub accepted: Vec<i64>,
    pub declined: Vec<i64>,
    pub withdrawn: Vec<i64>,
}

/// The choices on one version of the policy.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct VersionSeries {
    pub policy_hash: String,
    /// Null for a policy that is not the pixel's any more.
    #[schema(required = true)]
    pub version: Option<i32>,
    /// When that version was published; null with it.
    #[schema(required = true)]
    pub published_at: Option<Timestamp>,
    #[serde(flatten)]
    pub totals: Answers,
    pub days: DailyAnswers,
}

/// The choices of visitors who were asked in one language.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct LanguageSeries {
    /// As the consent tag names it; null where it is not known.
    #[schema(required = true)]
    pub language: Option<String>,
    #[serde(flatten)]
    pub totals: Answers,
    pub days: DailyAnswers,
}

/// The choices on one version of the policy by visitors who were asked in one language.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct VersionLanguage {
    pub policy_hash: String,
    /// Null for a policy that is not the pixel's any more.
    #[schema(required = true)]
    pub version: Option<i32>,
    /// As the consent tag names it; null where it is not known.
    #[schema(required = true)]
    pub language: Option<String>,
    #[serde(flatten)]
    pub totals: Answers,
}

/// The choices that were made in one way.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ActSeries {
    /// Null where it is not known.
    #[schema(required = true)]
    pub act: Option<Act>,
    #[serde(flatten)]
    pub totals: Answers,
    pub days: DailyAnswers,
}

/// The counts of one series; days without choices have no entry.
#[derive(Default)]
pub struct Line(BTreeMap<NaiveDate, Answers>);

impl Line {
    pub fn set(&mut self, day: NaiveDate, answers: ByState) {
        self.0.insert(day, answers.into());
    }

    fn totals(&self) -> Answers {
        let add = |one: Answers, other: &Answers| Answers {
            accepted: one.accepted + other.accepted,
            declined: one.declined + other.declined,
            withdrawn: one.withdrawn + other.withdrawn,
        };
        self.0.values().fold(Answers::default(), add)
    }

    fn daily(&self, days: &[NaiveDate]) -> DailyAnswers {
        let of = |count: fn(&Answers) -> i64| {
            days.iter().map(|day| self.0.get(day).map_or(0, count)).collect()
        };
        DailyAnswers {
            accepted: of(|answers| answers.accepted),
            declined: of(|answers| answers.declined),
            withdrawn: of(|answers| answers.withdrawn),
        }
    }
}

pub fn by_version(
    lines: &BTreeMap<String, Line>,
    versions: &BTreeMap<String, PublishedVersion>,
    days: &[NaiveDate],
) -> Vec<VersionSeries> {
    let mut found = lines
        .iter()
        .map(|(hash, line)| (versions.get(hash).copied(), hash, line))
        .collect::<Vec<_>>();
    found.sort_by_key(|(known, hash, _)| (Reverse(known.map(|known| known.version)), *hash));
    found.truncate(MAX_VERSIONS);
    let series = found.into_iter().map(|(known, hash, line)| VersionSeries {
        policy_hash: hash.clone(),
        version: known.map(|known| known.version),
        published_at: known.map(|known| Timestamp(known.published_at)),
        totals: line.totals(),
        days: line.daily(days),
    });
    series.collect()
}

/// The series of all languages by name, the unknown language last; at most one for each language that the
/// service supports.
pub fn by_language(
    lines: &BTreeMap<Option<String>, Line>,
    days: &[NaiveDate],
) -> Vec<LanguageSeries> {
    let known = lines.iter().filter(|(language, _)| language.is_some());
    let unknown = lines.iter().filter(|(language, _)| language.is_none());
    let series = known.chain(unknown).map(|(language, line)| LanguageSeries {
        language: language.clone(),
        totals: line.totals(),
        days: line.daily(days),
    });
    series.collect()
}

/// The pairs with the most choices, sorted by version, newest first, and then by language, the unknown one last.
pub fn by_version_and_language(
    pairs: &BTreeMap<(String, Option<String>), ByState>,
    versions: &BTreeMap<String, PublishedVersion>,
) -> Vec<VersionLanguage> {
    let mut most = pairs.iter().collect::<Vec<_>>();
    most.sort_by_key(|(_, ByState(counts))| Reverse(counts.iter().sum::<i64>()));
    most.truncate(MAX_PAIRS);
    let found = most.into_iter().map(|((policy_hash, language), counted)| VersionLanguage {
        policy_hash: policy_hash.clone(),
        version: versions.get(policy_hash).map(|known| known.version),
        language: language.clone(),
        totals: (*counted).into(),
    });
    let mut found = found.collect::<Vec<_>>();
    found.sort_by_cached_key(|pair| {
        let (policy_hash, language) = (pair.policy_hash.clone(), pair.language.clone());
        (Reverse(pair.version), policy_hash, language.is_none(), language)
    });
    found
}

/// The series of all user actions, the unknown one last.
pub fn by_act(lines: &BTreeMap<Option<Act>, Line>, days: &[NaiveDate]) -> Vec<ActSeries> {
    let known = lines.iter().filter(|(act, _)| act.is_some());
    let unknown = lines.iter().filter(|(act, _)| act.is_none());
    let series = known.chain(unknown).map(|(act, line)| ActSeries {
        act: *act,
        totals: line.totals(),
        days: line.daily(days),
    });
    series.collect()
}
