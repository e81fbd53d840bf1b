use super::consent_log::{ConsentEvent, ConsentLog};
use super::daily_counts::stats::{DayCounts, Stats};
use crate::clock::rfc3339;
use crate::consent_receipt::notice_snapshot::Digest;
use crate::consent_receipt::user_action::{Act, Seen};
use crate::error::Result;
use crate::types::consent::{Granted, Purpose};
use crate::types::csv;

const OF_CHOICE: [&str; 16] = [
    "recorded_at",
    "receipt_id",
    "visitor_id",
    "consent_state",
    "purposes",
    "policy_hash",
    "origin",
    "pixel_id",
    "signature",
    "signature_alg",
    "shown_language",
    "shown_notice",
    "shown_script",
    "shown_act",
    "shown_seen",
    "shown_automated",
];

/// A page of the log: one line per choice, with the granted purposes in one cell.
pub fn of_log(log: &ConsentLog) -> Result<Vec<u8>> {
    Ok([head_of_log()?, lines_of_log(log)?].concat())
}

pub fn head_of_log() -> Result<Vec<u8>> {
    csv::lines([OF_CHOICE])
}

pub fn lines_of_log(log: &ConsentLog) -> Result<Vec<u8>> {
    csv::lines(log.events.iter().map(cells_of_choice))
}

fn cells_of_choice(event: &ConsentEvent) -> [String; 16] {
    let receipt = &event.fields;
    let shown = event.shown.as_ref();
    let action = shown.map(|shown| shown.action).unwrap_or_default();
    let hex_or_nothing = |digest: Option<Digest>| digest.map(hex::encode).unwrap_or_default();
    let purposes = receipt.purposes.iter().map(Granted::as_str).collect::<Vec<_>>();
    [
        rfc3339(receipt.recorded_at),
        receipt.receipt_id.to_string(),
        receipt.visitor_id.as_str().to_owned(),
        receipt.consent_state.as_str().to_owned(),
        purposes.join(" "),
        receipt.policy_hash.clone(),
        receipt.origin.clone(),
        receipt.pixel_id.as_str().to_owned(),
        event.envelope.signature.clone(),
        event.envelope.signature_alg.to_owned(),
        shown.map(|shown| shown.language.clone()).unwrap_or_default(),
        hex_or_nothing(shown.and_then(|shown| shown.notice)),
        hex_or_nothing(shown.and_then(|shown| shown.script)),
        action.act.map(Act::as_str).unwrap_or_default().to_owned(),
        action.seen.map(Seen::as_str).unwrap_or_default().to_owned(),
        action.automated.map(|automated| automated.to_string()).unwrap_or_default(),
    ]
}

const OF_DAY: [&str; 6] = ["day", "shown", "unanswered", "accepted", "declined", "withdrawn"];

/// Counts: one line per day, one column per purpose.
pub fn of_stats(stats: &Stats) -> Result<Vec<u8>> {
    let mut purposes = Purpose::ALL.iter().map(|purpose| purpose.as_str()).collect::<Vec<_>>();
    purposes.sort_unstable();
    let head = OF_DAY.iter().chain(&purposes).map(|&name| name.to_owned()).collect::<Vec<_>>();
    csv::lines([head].into_iter().chain(stats.days.iter().map(cells_of_day)))
}

fn cells_of_day(DayCounts { day, counts }: &DayCounts) -> Vec<String> {
    let of_day =
        [counts.shown, counts.unanswered, counts.accepted, counts.declined, counts.withdrawn];
    let counts = of_day.iter().chain(counts.purposes.values()).map(i64::to_string);
    [day.to_string()].into_iter().chain(counts).collect()
}
