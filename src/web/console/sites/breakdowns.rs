//! The tables of the overview: choices by purpose, version, language and user action.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::acceptance::Rate;
use crate::infra::templates::{Message, tr};
use crate::receipts::daily_counts::series::{Answers, VersionSeries};
use crate::receipts::daily_counts::stats::{Counts, Stats};
use crate::types::consent::Purpose;
use crate::types::locales;
use crate::web::console::kit::words::{self, percent};
use crate::web::console::visitors::choice_words::purpose_title;

const MOST_VERSIONS: usize = 4;
const MOST_LANGUAGES: usize = 10;

#[derive(Serialize)]
pub struct PurposeRow {
    name: &'static str,
    title: Message,
    count: i64,
    share: Option<Message>,
}

pub fn purposes(totals: &Counts) -> Vec<PurposeRow> {
    let row = |purpose: &Purpose| {
        let name = purpose.as_str();
        let count = totals.purposes.get(name).copied().unwrap_or(0);
        let title = purpose_title(*purpose);
        let share = percent(count, totals.accepted).map(Message::WholePercent);
        PurposeRow { name, title, count, share }
    };
    let mut rows = Purpose::ALL.iter().map(row).filter(|row| row.count > 0).collect::<Vec<_>>();
    rows.sort_by_key(|row| Reverse(row.count));
    rows
}

#[derive(Serialize)]
pub struct VersionRow {
    policy_hash: String,
    name: Message,
    since: Option<Message>,
    answers: Answers,
    rate: Message,
    interval: Option<Message>,
}

pub fn version_row(line: &VersionSeries) -> VersionRow {
    let rate = Rate::from(line.totals);
    VersionRow {
        policy_hash: line.policy_hash.clone(),
        name: name_of(line),
        since: line.published_at.map(|time| Message::DayOf(time.0)),
        answers: line.totals,
        rate: rate.text(),
        interval: rate.interval(),
    }
}

fn name_of(line: &VersionSeries) -> Message {
    match line.version {
        Some(version) => tr("Version {{ version }}").with("version", version),
        None => tr("An earlier version"),
    }
}

#[derive(Serialize)]
pub struct Language {
    lang: String,
    /// The language's name in that language; for an unknown language its code, or "Unknown" without one.
    name: Message,
    is_known: bool,
}

impl Language {
    fn of(language: Option<&str>) -> Self {
        let lang = language.unwrap_or_default().to_owned();
        let locale = locales::named(&lang);
        let name = match locale {
            Some(locale) => Message::plain(&*locale.name),
            None if lang.is_empty() => tr("Unknown"),
            None => Message::plain(&*lang),
        };
        Self { name, is_known: locale.is_some(), lang }
    }
}

#[derive(Serialize)]
pub struct LanguageRow {
    language: Language,
    answers: Answers,
    rate: Message,
    interval: Option<Message>,
}

pub fn languages(stats: &Stats) -> Vec<LanguageRow> {
    let rows = stats.by_language.iter().map(|line| {
        let rate = Rate::from(line.totals);
        LanguageRow {
            language: Language::of(line.language.as_deref()),
            answers: line.totals,
            rate: rate.text(),
            interval: rate.interval(),
        }
    });
    let mut rows = rows.collect::<Vec<_>>();
    rows.sort_by_key(|row| Reverse(row.answers.accepted + row.answers.declined));
    rows
}

/// Acceptance rates of languages, with a column for each version.
#[derive(Serialize)]
pub struct Pairs {
    versions: Vec<Message>,
    rows: Vec<PairsRow>,
}

#[derive(Serialize)]
struct PairsRow {
    language: Language,
    cells: Vec<Cell>,
}

#[derive(Clone, Default, Serialize)]
struct Cell {
    /// `None` without a response.
    rate: Option<Message>,
    responses: Option<Message>,
    is_enough: bool,
}

/// The table of versions and languages; `None` if fewer than two versions have responses.
pub fn pairs(stats: &Stats) -> Option<Pairs> {
    let responses = |answers: &Answers| answers.accepted + answers.declined;
    let answered = stats.by_version.iter().filter(|line| responses(&line.totals) > 0);
    let columns = answered.take(MOST_VERSIONS).collect::<Vec<_>>();
    if columns.len() < 2 {
        return None;
    }
    let mut rows = BTreeMap::<Option<&str>, (i64, Vec<Cell>)>::new();
    for pair in &stats.by_version_and_language {
        let at = columns.iter().position(|column| column.policy_hash == pair.policy_hash);
        let Some(at) = at.filter(|_| responses(&pair.totals) > 0) else { continue };
        let empty = || (0, vec![Cell::default(); columns.len()]);
        let (sum, cells) = rows.entry(pair.language.as_deref()).or_insert_with(empty);
        let rate = Rate::from(pair.totals);
        *sum += responses(&pair.totals);
        cells[at] = Cell {
            rate: Some(rate.text()),
            responses: Some(rate.responses()),
            is_enough: rate.is_enough(),
        };
    }
    let mut rows = rows.into_iter().collect::<Vec<_>>();
    rows.sort_by_key(|(_, (sum, _))| Reverse(*sum));
    let row = |(language, (_, cells))| PairsRow { language: Language::of(language), cells };
    Some(Pairs {
        versions: columns.iter().map(|column| name_of(column)).collect(),
        rows: rows.into_iter().take(MOST_LANGUAGES).map(row).collect(),
    })
}

#[derive(Serialize)]
pub struct ActRow {
    name: Message,
    answers: Answers,
}

pub fn acts(stats: &Stats) -> Vec<ActRow> {
    let rows = stats.by_act.iter().map(|line| ActRow {
        name: line.act.map_or(tr("Unknown"), words::act),
        answers: line.totals,
    });
    rows.collect()
}
