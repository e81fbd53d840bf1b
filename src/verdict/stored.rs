use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

use url::form_urlencoded::byte_serialize;

use crate::browser::devtools::ItemWritten;
use crate::visit::{Observation, StoredValue};

use super::identifiers::{MIN_BITS, Profiles, is_lasting};
use super::kinds::Kind;
use super::leaks::{IdentifierFacts, Leak, Listed};
use super::requests::{end, is_counted, since};
use super::withdrawal::is_entry_of_withdrawal;

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
    let is_new = is_entry_of_withdrawal(observation, value, writes.clone().map(|it| it.at_ms));
    let mut writes = writes.filter(|item| item.value == value.value).peekable();
    if writes.peek().is_some() {
        let counted = writes.find(|item| is_new || is_counted(observation, item.at_ms));
        let written = counted.map(|item| Some(since(observation, item.at_ms)));
        return written.map_or(Presence::Kept, Presence::Written);
    }
    let permitted = !observation.has_chosen || observation.stored_permitted.contains(value);
    // Only an equal value counts here: an earlier value that was replaced is evaluated separately.
    let was_before = observation.stored_before.iter().any(|before| before.is_same(value));
    if permitted && !was_before { Presence::Kept } else { Presence::Written(None) }
}

fn cookie_presence(observation: &Observation, value: &StoredValue) -> Presence {
    let (log, is_of) =
        (&observation.log, |name: &str, domain: &str| name == value.name && domain == value.owner);
    let writes = log.cookies_written.iter().filter(|write| is_of(&write.name, &write.domain));
    let is_new = is_entry_of_withdrawal(observation, value, writes.clone().map(|it| it.at_ms));
    // If the log does not contain this value, all writes of this name count.
    let is_logged = writes.clone().any(|write| write.value == value.value);
    let writes = writes.filter(|write| !is_logged || write.value == value.value);
    let counted = writes.clone().find(|write| is_new || is_counted(observation, write.at_ms));
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

/// The time of a request after the withdrawal whose address contains the value.
fn sent_in_address(observation: &Observation, value: &StoredValue) -> Option<u64> {
    let (_, end) = observation.permitted?;
    let text = value.value.trim_matches('"');
    let encoded = byte_serialize(text.as_bytes()).collect::<String>();
    let is_later = |at_ms: f64| at_ms > end && is_counted(observation, at_ms);
    let mut requests = observation.log.requests.iter();
    let found = requests.find(|request| {
        let contains = |text: &str| request.url.contains(text);
        request.is_sent && is_later(request.at_ms) && (contains(text) || contains(&encoded))
    });
    found.map(|request| since(observation, request.at_ms))
}

/// The values of a visit that are leaks if they are identifiers.
pub fn suspects(observation: &Observation) -> Vec<StoredValue> {
    let suspected =
        |value: &&StoredValue| is_lasting(value) && presence(observation, value) != Presence::Kept;
    values(observation).iter().filter(suspected).cloned().collect()
}

/// The values at the end of the visit and those that were removed before it, at most `MAX_VALUES`.
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

/// A sentence if the unread part of a value may be an identifier, and the part that was read is not one.
pub fn unread(observation: &Observation, profiles: &Profiles) -> Option<String> {
    let compared = profiles.compared(observation.visit);
    let is_open = |value: &&StoredValue| {
        compared.is_unread(value)
            && presence(observation, value) != Presence::Kept
            && compared.identifier(value).is_none()
    };
    let values = values(observation);
    let found = values.iter().find(is_open)?;
    Some(format!("a long value of {} in {} was not read to its end", found.owner, found.store))
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

/// Identifiers that needed consent, permitted identifiers that are still stored, and all other entries.
pub fn evaluate(
    page: &str,
    observation: &Observation,
    profiles: &Profiles,
) -> (Vec<Leak>, Vec<Listed>, Vec<Listed>) {
    let (mut leaks, mut kept, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    let values = values(observation);
    let compared = profiles.compared(observation.visit);
    let found = values.iter().map(|value| is_lasting(value).then(|| compared.bits(value)));
    let found = found.collect::<Vec<_>>();
    let single = |at: usize| found[at].filter(|bits| *bits >= MIN_BITS);
    let mut entries = HashSet::new();
    let small = (0..values.len()).filter(|&at| {
        entries.insert(values[at].entry())
            && is_lasting(&values[at])
            && single(at).is_none()
            && presence(observation, &values[at]) != Presence::Kept
    });
    let together = profiles.together(&small.map(|at| &values[at]).collect::<Vec<_>>());
    for (at, value) in values.iter().enumerate() {
        let part = together.iter().find(|(part, _)| *part == value);
        let presence = presence(observation, value);
        let Some(bits) = single(at).or(part.map(|(_, bits)| *bits)) else {
            listed.push(entry(value, plain_reason(value, found[at])));
            continue;
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let bits = bits.min(10_000.0).floor() as u32;
        let presence = match presence {
            Presence::Kept => sent_in_address(observation, value).map_or(presence, Presence::Sent),
            _ => presence,
        };
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

fn leak(page: &str, value: &StoredValue, bits: u32, at_ms: u64, way: &str) -> Leak {
    let mut reason =
        format!("{way}; {bits} bits of its value differ from all other fresh profiles");
    let _ = match value.lifetime_s {
        Some(seconds) => {
            let days = format!("{:.0}", seconds / 86_400.0);
            write!(reason, "; it lasts {days} day{}", if days == "1" { "" } else { "s" })
        }
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

/// The name without NUL, which strict JSON parsers and PostgreSQL reject.
fn shown_name(value: &StoredValue) -> String {
    value.name.replace('\0', "\u{fffd}")
}

/// The reason why a value is not a leak; `bits` is `None` if it does not last.
fn plain_reason(value: &StoredValue, bits: Option<f64>) -> String {
    if value.is_session {
        return "it ends with the session".to_owned();
    }
    if value.name == "assent" || value.name.starts_with("assent:") {
        return "it is the choice itself".to_owned();
    }
    let Some(bits) = bits else { return "it lasts less than a day".to_owned() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visit::Visit;

    fn value(text: &str) -> StoredValue {
        StoredValue {
            owner: "shop.test".to_owned(),
            store: "indexeddb",
            name: "state/s/id".to_owned(),
            value: text.to_owned(),
            lifetime_s: None,
            is_session: false,
            digest: None,
        }
    }

    /// A visit with these values before the acceptance, at the withdrawal and at the end.
    fn withdrawn(before: &[&str], permitted: &[&str], end: &[&str]) -> Observation {
        let values = |texts: &[&str]| texts.iter().map(|text| value(text)).collect::<Vec<_>>();
        Observation {
            permitted: Some((10.0, 20.0)),
            has_chosen: true,
            stored_before: values(before),
            stored_permitted: values(permitted),
            stored: values(end),
            ..Observation::empty(Visit::AcceptedThenWithdrawn)
        }
    }

    #[test]
    fn a_value_that_replaced_another_one_while_it_was_permitted_is_kept() {
        let (earlier, later) = ("pending", "f81d4fae7dec");
        let observation = withdrawn(&[earlier], &[later], &[later]);
        assert_eq!(presence(&observation, &value(later)), Presence::Kept);
        assert_eq!(suspects(&observation), [value(earlier)], "the earlier value is compared");
        assert_eq!(presence(&observation, &value(earlier)), Presence::Written(None));
    }

    #[test]
    fn a_value_from_before_the_acceptance_or_after_the_withdrawal_was_written_without_consent() {
        let id = "f81d4fae7dec";
        for observation in [
            withdrawn(&[id], &[id], &[id]),
            withdrawn(&[], &[], &[id]),
            withdrawn(&["pending"], &["pending"], &[id]),
        ] {
            assert_eq!(presence(&observation, &value(id)), Presence::Written(None));
        }
    }
}
