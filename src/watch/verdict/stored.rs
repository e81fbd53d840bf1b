use std::collections::BTreeSet;
use std::fmt::Write;

use crate::watch::devtools::ItemWritten;
use crate::watch::visit::{Observation, StoredValue};

use super::identifiers::{Profiles, is_lasting};
use super::kinds::Kind;
use super::leaks::{IdentifierFacts, Leak, Listed};
use super::requests::{is_counted, since};

const MAX_VALUES: usize = 1000;

/// The way in which a value is present at the end of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Written when nothing was permitted, at this time if it is known.
    Written(Option<u64>),
    /// Written while it was permitted, and sent after the withdrawal.
    Sent(u64),
    /// Written while it was permitted, and still there.
    Kept,
}

fn presence(observation: &Observation, value: &StoredValue) -> Presence {
    if value.store == "cookie" {
        return cookie_presence(observation, value);
    }
    if observation.permitted.is_none() {
        return Presence::Written(None);
    }
    let is_of = |item: &&ItemWritten| {
        value.store == "local_storage" && (&item.host, &item.key) == (&value.owner, &value.name)
    };
    let writes = observation.seen.items.iter().filter(is_of);
    let mut writes = writes.filter(|item| item.value == value.value).peekable();
    if writes.peek().is_some() {
        let counted = writes.find(|item| is_counted(observation, item.at_ms));
        let written = counted.map(|item| Some(since(observation, item.at_ms)));
        return written.map_or(Presence::Kept, Presence::Written);
    }
    let permitted = !observation.has_chosen || observation.stored_permitted.contains(value);
    let was_before = observation.stored_before.iter().any(|before| before.is_same_entry(value));
    if permitted && !was_before { Presence::Kept } else { Presence::Written(None) }
}

fn cookie_presence(observation: &Observation, value: &StoredValue) -> Presence {
    let (log, is_of) =
        (&observation.log, |name: &str, domain: &str| name == value.name && domain == value.owner);
    let writes = log.cookies_written.iter().filter(|write| is_of(&write.name, &write.domain));
    // A value that the log does not have is one of its name.
    let is_logged = writes.clone().any(|write| write.value == value.value);
    let writes = writes.filter(|write| !is_logged || write.value == value.value);
    let counted = writes.clone().find(|write| is_counted(observation, write.at_ms));
    if let Some(write) = counted {
        return Presence::Written(Some(since(observation, write.at_ms)));
    }
    if writes.count() == 0 && observation.permitted.is_none() {
        return Presence::Written(None);
    }
    let end = observation.permitted.map_or(0.0, |(_, end)| end);
    let mut sends = log.cookies_sent.iter().filter(|sent| is_of(&sent.name, &sent.domain));
    let sent = sends.find(|sent| sent.at_ms > end && is_counted(observation, sent.at_ms));
    sent.map_or(Presence::Kept, |sent| Presence::Sent(since(observation, sent.at_ms)))
}

/// The values of a visit that are leaks if they identify.
pub fn suspects(observation: &Observation) -> Vec<StoredValue> {
    let suspected =
        |value: &&StoredValue| is_lasting(value) && presence(observation, value) != Presence::Kept;
    values(observation).iter().filter(suspected).cloned().collect()
}

/// The values at the end, and those that were removed before it, as many as are compared.
pub fn values(observation: &Observation) -> Vec<StoredValue> {
    let mut values = first_values(observation);
    values.truncate(MAX_VALUES);
    values
}

/// A sentence if a visit has more values than are compared.
pub fn uncompared(observation: &Observation) -> Option<String> {
    let is_more = first_values(observation).len() > MAX_VALUES;
    is_more.then(|| format!("the page stored more than {MAX_VALUES} values"))
}

fn first_values(observation: &Observation) -> Vec<StoredValue> {
    let mut all = observation.stored.clone();
    for earlier in observation.stored_before.iter().chain(&observation.passing) {
        if all.len() > MAX_VALUES {
            break;
        }
        let is_new = !all.iter().any(|value| value.is_same(earlier));
        if is_new && matches!(presence(observation, earlier), Presence::Written(_)) {
            all.push(earlier.clone());
        }
    }
    all
}

/// Identifiers that needed consent, identifiers that are still there, and everything else by name.
pub fn evaluate(
    page: &str,
    observation: &Observation,
    profiles: &Profiles,
) -> (Vec<Leak>, Vec<Listed>, Vec<Listed>) {
    let (mut leaks, mut kept, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    let values = values(observation);
    let single = |value: &StoredValue| profiles.identifier(observation.visit, value);
    let is_first = |at: usize| !values[..at].iter().any(|value| value.is_same_entry(&values[at]));
    let small = (0..values.len()).filter(|&at| is_first(at)).map(|at| &values[at]);
    let small = small.filter(|value| {
        is_lasting(value)
            && single(value).is_none()
            && presence(observation, value) != Presence::Kept
    });
    let together = profiles.together(&small.collect::<Vec<_>>());
    for value in &values {
        let part = together.iter().find(|(part, _)| *part == value);
        let bits = single(value).or(part.map(|(_, bits)| *bits));
        let presence = presence(observation, value);
        let Some(bits) = bits else {
            listed.push(entry(value, plain_reason(profiles, observation, value)));
            continue;
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let bits = bits.min(10_000.0).floor() as u32;
        let (at_ms, way) = match presence {
            Presence::Kept => {
                let reason = format!("{bits} bits that no other profile has, from the acceptance");
                kept.push(entry(value, reason));
                continue;
            }
            Presence::Written(at) if part.is_some() => {
                let at = at.unwrap_or_else(|| since(observation, end(observation)));
                (at, "stored as one of several parts that identify together")
            }
            Presence::Written(at) => {
                (at.unwrap_or_else(|| since(observation, end(observation))), "stored")
            }
            Presence::Sent(at) => (at, "sent after the withdrawal"),
        };
        leaks.push(leak(page, value, bits, at_ms, way));
    }
    // An entry with several values is listed once.
    let mut known = BTreeSet::new();
    leaks.retain(|leak| {
        let name = leak.identifier.as_ref().map(|facts| (facts.name.clone(), facts.store.clone()));
        known.insert((leak.host.clone(), name))
    });
    listed.retain(|entry| {
        known.insert((entry.host.clone(), Some((entry.name.clone(), entry.store.clone()))))
    });
    (leaks, kept, listed)
}

/// The end of a visit, for values whose time of writing is unknown.
fn end(observation: &Observation) -> f64 {
    if observation.ended_ms.is_finite() { observation.ended_ms } else { observation.started_ms }
}

fn leak(page: &str, value: &StoredValue, bits: u32, at_ms: u64, way: &str) -> Leak {
    let mut reason =
        format!("{way}; {bits} bits of its value differ from all other fresh profiles");
    let _ = match value.lifetime_s {
        Some(seconds) => write!(reason, "; it lasts {:.1} days", seconds / 86_400.0),
        None => write!(reason, "; it does not expire"),
    };
    Leak {
        url: page.to_owned(),
        host: value.owner.clone(),
        kind: if value.store == "cookie" { Kind::Cookie } else { Kind::Storage },
        at_ms,
        initiator: None,
        identifier: Some(IdentifierFacts {
            name: shown_name(value),
            store: value.store.to_owned(),
            bits,
            lifetime_s: value.lifetime_s,
            reason,
        }),
    }
}

/// The name without NUL, which strict readers of JSON and PostgreSQL refuse.
fn shown_name(value: &StoredValue) -> String {
    value.name.replace('\0', "\u{fffd}")
}

fn plain_reason(profiles: &Profiles, observation: &Observation, value: &StoredValue) -> String {
    if value.is_session {
        return "it ends with the session".to_owned();
    }
    if value.name == "assent" || value.name.starts_with("assent:") {
        return "it is the choice itself".to_owned();
    }
    if !is_lasting(value) {
        return "it lasts less than a day".to_owned();
    }
    let bits = profiles.bits(observation.visit, value);
    format!("{:.0} bits of its value differ from all other fresh profiles", bits.floor())
}

fn entry(value: &StoredValue, reason: String) -> Listed {
    Listed {
        name: shown_name(value),
        host: value.owner.clone(),
        store: value.store.to_owned(),
        lifetime_s: value.lifetime_s,
        reason,
    }
}
