use chrono::{DateTime, Duration, Utc};
use serde_json::Value;

use super::format::entry;
use super::format::watch_report::WatchResult;
use super::quoting::quoted;

/// A choice that entered the log within this time after its recording did so in the usual way.
const USUAL: Duration = Duration::hours(1);

/// The last second whose year has four digits.
const LAST_SECOND: u64 = 253_402_300_799;

pub(super) struct Cosigned {
    /// Its name in the policy.
    pub(super) of: String,
    pub(super) name: String,
    /// In seconds since 1970.
    pub(super) time: u64,
}

#[derive(Default)]
pub(super) struct Found {
    pub(super) log: String,
    pub(super) size: u64,
    receipt: Value,
    shown: Value,
    at: String,
    pub(super) has_policy: bool,
    pub(super) has_notice: bool,
    pub(super) published: Vec<(String, String)>,
    pub(super) watch_reports: Vec<(WatchResult, String)>,
    pub(super) stamped: Option<(String, u64)>,
    pub(super) kept: Option<u64>,
    pub(super) cosigned: Vec<Cosigned>,
    pub(super) other_keys: usize,
    /// Whether the file contains a consistency proof that was not used.
    pub(super) has_unused_growth: bool,
}

impl Found {
    pub(super) fn new(receipt: Value, shown: Value, at: &str) -> Self {
        Self { receipt, shown, at: at.to_owned(), ..Self::default() }
    }

    pub(super) fn names(&self, kind: &str) -> Option<&str> {
        match kind {
            "policy" => self.receipt["policy_hash"].as_str(),
            "notice" => self.shown["notice"].as_str(),
            "script" => self.shown["script"].as_str(),
            _ => None,
        }
    }

    /// The time of the choice according to its receipt, if that is a valid time.
    pub(super) fn recorded_at(&self) -> Option<DateTime<Utc>> {
        self.of("recorded_at")
            .parse()
            .ok()
            .filter(|_| entry::time(self.of("recorded_at")).is_some())
    }

    fn of(&self, field: &str) -> &str {
        self.receipt[field].as_str().unwrap_or("?")
    }

    fn quote(&self, field: &str) -> String {
        quoted(self.of(field))
    }
}

pub(super) fn sentences(found: &Found) -> Vec<String> {
    let mut sentences = vec![
        format!(
            "The visitor {} {} on {} (pixel {}, receipt {}).",
            found.quote("visitor_id"),
            answer(found),
            found.quote("origin"),
            found.quote("pixel_id"),
            found.quote("receipt_id"),
        ),
        when(found),
    ];
    sentences.extend(not_later(found));
    sentences.extend(words(found));
    sentences.extend(watch_reports(found));
    if let Some(size) = found.kept {
        sentences.push(format!(
            "The log goes on from the checkpoint that you kept, which had {size} entries."
        ));
    }
    if found.has_unused_growth {
        sentences.push(
            "Not checked: how the log grew, for want of an earlier checkpoint that was kept."
                .to_owned(),
        );
    }
    match &found.stamped {
        None => sentences.push("No time stamp is in this file.".to_owned()),
        Some((time, size)) => sentences.push(format!(
            "A time stamp of {time} is in this file, over a state of the log ({size} entries) in which the \
             choice is. Not checked: who gave it. `assent verify … --extract FOLDER` takes it out, and `openssl \
             ts -verify` judges it."
        )),
    }
    sentences.extend(signers(found));
    sentences.push(
        "Not proved: that a person chose, and that no later choice took this one back.".to_owned(),
    );
    sentences
}

fn not_later(found: &Found) -> Option<String> {
    let Cosigned { name, time, .. } = found.cosigned.iter().min_by_key(|found| found.time)?;
    let (time, at, name) = (second(*time), &found.at, quoted(name));
    Some(format!("It was there not later than {time}, says {name}; the service says {at}."))
}

fn signers(found: &Found) -> Vec<String> {
    let Found { log, size, cosigned, other_keys, .. } = found;
    let open = "Not proved: that there is no other log of this name, and that its times are right.";
    let state = format!("this state of {} ({size} entries).", quoted(log));
    let mut sentences = Vec::new();
    if cosigned.is_empty() {
        let who = match other_keys {
            0 => "Only the service itself has signed",
            _ => "Of those whom you named only the service itself has signed",
        };
        sentences.push(format!("{open} {who} {state}"));
    } else {
        let times = cosigned
            .iter()
            .map(|found| format!("{} at {}", quoted(&found.name), second(found.time)));
        let times = times.collect::<Vec<_>>().join(", ");
        sentences.push(format!(
            "Witnesses have seen this log only grow, and have signed {state} They are: {times}."
        ));
        sentences.push(
            "Not proved: that these witnesses and the service do not act together.".to_owned(),
        );
    }
    if *other_keys > 0 {
        sentences.push(format!(
            "Not checked: further signatures under it, by keys that you did not name ({other_keys})."
        ));
    }
    sentences
}

fn second(time: u64) -> String {
    let time = i64::try_from(time.min(LAST_SECOND)).unwrap_or_default();
    let time = DateTime::from_timestamp(time, 0).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn answer(found: &Found) -> String {
    match found.of("consent_state") {
        "accepted" => {
            let purposes = found.receipt["purposes"].as_array();
            let purposes = purposes.into_iter().flatten().filter_map(Value::as_str).map(quoted);
            format!("accepted {}", purposes.collect::<Vec<_>>().join(", "))
        }
        "declined" => "declined".to_owned(),
        "withdrawn" => "withdrew".to_owned(),
        other => format!("answered {}", quoted(other)),
    }
}

fn when(found: &Found) -> String {
    let (said, at) = (found.of("recorded_at"), &found.at);
    let logged = at.parse::<DateTime<Utc>>().ok();
    match found.recorded_at().zip(logged) {
        Some((said_at, logged)) if logged - said_at <= USUAL => {
            format!("The receipt names the time {said}. The choice was in the log at {at}.")
        }
        recorded => {
            let said = if recorded.is_some() { said.to_owned() } else { quoted(said) };
            format!(
                "The choice was in the log at {at}, long after the time that the receipt names, {said}: for \
                 that time there is the service's word alone."
            )
        }
    }
}

fn words(found: &Found) -> Vec<String> {
    let there = |is_there| if is_there { "is in this file" } else { "is not in this file" };
    let hash = found.quote("policy_hash");
    let mut sentences =
        vec![format!("It answers the policy {hash}, whose text {}.", there(found.has_policy))];
    match found.shown["language"].as_str() {
        Some(language) => {
            let text = there(found.has_notice);
            sentences.push(format!(
                "The language was {}; the text of the notice {text}.",
                quoted(language)
            ));
        }
        None => sentences.push("What was on the screen is not known.".to_owned()),
    }
    for kind in ["policy", "notice", "script"] {
        let published = found.published.iter().find(|(published, _)| published == kind);
        match (published, found.names(kind)) {
            (Some((_, at)), _) => sentences.push(format!("The {kind} was in the log at {at}.")),
            (None, Some(_)) => {
                sentences.push(format!("Not checked: when the {kind} was published."));
            }
            (None, None) => {}
        }
    }
    sentences
}

fn watch_reports(found: &Found) -> Vec<String> {
    let mut sentences = Vec::new();
    for (result, at) in &found.watch_reports {
        let WatchResult { time, watcher, url, pages, leaks, allowed, is_silent } = result;
        let pages = match pages {
            1 => quoted(url),
            _ => format!("{} and other pages ({pages} in all)", quoted(url)),
        };
        let result = match (leaks, is_silent, allowed) {
            (0, false, _) => "It names no leak, but not every visit was observed.".to_owned(),
            (0, true, 0) => {
                "It found nothing that was loaded or stored without consent.".to_owned()
            }
            (0, true, _) => format!(
                "It found nothing that was loaded or stored without consent, except for what it lists as allowed \
                 (entries: {allowed})."
            ),
            _ => format!("It names what was loaded or stored without consent (leaks: {leaks})."),
        };
        let watcher = quoted(watcher);
        sentences.push(format!(
            "A watch report of {time} about {pages} is in this file, signed by {watcher}. It was in the log at {at}. {result}"
        ));
    }
    if !sentences.is_empty() {
        sentences.push(
            "Not checked: who the watchers are, and whether these are all reports about this site on that day."
                .to_owned(),
        );
    }
    sentences
}
