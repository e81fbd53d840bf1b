use std::collections::{BTreeMap, BTreeSet};

use crate::browser::devtools::{Initiator, Seen};
use crate::browser::net_log::Connecting;
use crate::browser::site::host_of;
use crate::visit::{Named, Observation};

use super::case::Case;
use super::kinds::Kind;
use super::leaks::Leak;
use super::webrtc;
use super::withdrawal::is_request_of_withdrawal;

/// Maximum number of listed addresses per host and kind, and of entries per list.
const MAX_OF_KIND: usize = 100;
const MAX_LISTED: usize = 1000;

/// Requests of a visit that needed consent: leaks, and those that `--allow` names.
pub fn leaking(case: &Case<'_>, observation: &Observation) -> (Vec<Leak>, Vec<Leak>) {
    let mut found = requested(case, observation);
    let mut hosts = found.iter().map(|leak| leak.host.clone()).collect::<BTreeSet<_>>();
    for connection in &observation.log.connections {
        let leak = connected(case, observation, connection);
        found.extend(leak.filter(|leak| hosts.insert(leak.host.clone())));
    }
    found.extend(by_webrtc(case, observation));
    found.extend(behind_proxy(case, observation));
    found.extend(by_open_sockets(case, observation));
    let has_request = |url: &str| found.iter().any(|known| known.url == url);
    let mut named = named_by_page(case, &observation.named, 0);
    let at_ms = since(observation, end(observation));
    named.extend(named_by_page(case, &observation.named_later, at_ms));
    named.retain(|leak| !has_request(&leak.url));
    found.extend(named);
    let mut known = BTreeSet::new();
    found.retain(|leak| known.insert((leak.url.clone(), leak.kind)));
    found.sort_by_key(|leak| leak.at_ms);
    let (mut leaks, mut allowed): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|leak| !case.allows(&leak.host));
    shorten(&mut leaks);
    shorten(&mut allowed);
    (leaks, allowed)
}

/// Removes surplus entries of a host and kind, so that the first entry of each is listed, however late it is.
fn shorten(listed: &mut Vec<Leak>) {
    let of_leak = |leak: &Leak| (leak.host.clone(), leak.kind);
    let kinds = listed.iter().map(of_leak).collect::<BTreeSet<_>>();
    let mut further = MAX_LISTED.saturating_sub(kinds.len());
    let mut counts = BTreeMap::new();
    listed.retain(|leak| {
        let count = counts.entry(of_leak(leak)).or_insert(0_usize);
        *count += 1;
        let number = *count;
        let is_further = (2..=MAX_OF_KIND).contains(&number) && further > 0;
        further -= usize::from(is_further);
        number == 1 || is_further
    });
    listed.truncate(MAX_LISTED);
}

fn requested(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    let seen = &observation.seen;
    let requests = observation
        .log
        .requests
        .iter()
        .filter(|request| request.is_sent && request.by_page && case.is_foreign(&request.url));
    let leaks = requests.filter_map(|request| {
        let of = |seen: &&&Seen| seen.cause(&request.url).is_some();
        let other = || case.seen.iter().find(of).and_then(|seen| seen.cause(&request.url));
        let cause = seen.cause(&request.url).or_else(other);
        if !is_counted(observation, request.at_ms)
            && !is_request_of_withdrawal(case, observation, request, cause)
        {
            return None;
        }
        let is_object = observation.named.objects.contains(&request.url);
        let is_worker = seen.workers.contains(&request.url);
        let kind = Kind::of(request, cause, is_object, is_worker);
        Some(Leak {
            host: host_of(&request.url)?,
            url: request.url.clone(),
            kind,
            at_ms: since(observation, request.at_ms),
            initiator: cause.and_then(|cause| cause.initiator.clone()),
            identifier: None,
        })
    });
    leaks.collect()
}

fn connected(case: &Case<'_>, observation: &Observation, connection: &Connecting) -> Option<Leak> {
    let kind = if connection.is_transport { Kind::Other } else { Kind::Preconnect };
    let host = host_of(&connection.origin)?;
    let is_service = case.service.is_some_and(|service| service.host == host);
    let is_leak = is_counted(observation, connection.at_ms) && case.is_other_site(&host);
    (is_leak && !is_service).then(|| Leak {
        url: connection.origin.clone(),
        host,
        kind,
        at_ms: since(observation, connection.at_ms),
        initiator: None,
        identifier: None,
    })
}

/// Icons and manifests that the page names: a browser with a window loads all of them, a headless one does not.
fn named_by_page(case: &Case<'_>, named: &Named, at_ms: u64) -> Vec<Leak> {
    let icons = named.icons.iter().map(|url| (url, Kind::Image));
    let manifests = named.manifests.iter().map(|url| (url, Kind::Other));
    let foreign = icons.chain(manifests).filter(|(url, _)| case.is_foreign(url));
    let leaks = foreign.filter_map(|(url, kind)| {
        Some(Leak {
            host: host_of(url)?,
            url: url.clone(),
            kind,
            at_ms,
            initiator: Some(Initiator { url: case.url.to_owned(), line: 1 }),
            identifier: None,
        })
    });
    leaks.collect()
}

/// Messages without consent through WebSockets that were opened while everything was permitted.
fn by_open_sockets(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    let messages = observation.seen.messages.values();
    let counted = messages.filter(|sent| sent.at_ms > 0.0 && is_counted(observation, sent.at_ms));
    let leaks = counted.filter(|sent| case.is_foreign(&sent.url)).filter_map(|sent| {
        Some(Leak {
            host: host_of(&sent.url)?,
            url: sent.url.clone(),
            kind: Kind::WebSocket,
            at_ms: since(observation, sent.at_ms),
            initiator: observation.seen.cause(&sent.url).and_then(|cause| cause.initiator.clone()),
            identifier: None,
        })
    });
    leaks.collect()
}

fn by_webrtc(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    let mut hosts = webrtc::Hosts::default();
    let leaks = observation.log.unnamed.iter().filter_map(|entry| {
        let is_before = observation.permitted.is_some_and(|(from, _)| entry.at_ms < from);
        let servers =
            if is_before { &observation.webrtc_before } else { &observation.webrtc_servers };
        // An address keeps its first host, so hosts are also assigned while everything is permitted.
        let host = hosts.of(entry.address, servers, |host| case.is_other_site(host))?;
        let is_leak = is_counted(observation, entry.at_ms) && case.is_other_site(&host);
        is_leak.then(|| webrtc_leak(observation, host, entry.address.port(), entry.at_ms))
    });
    leaks.collect()
}

/// WebRTC servers that a page named without consent. A browser behind a proxy sends nothing to them.
fn behind_proxy(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    if !observation.is_proxied {
        return Vec::new();
    }
    let mut named = observation.webrtc_servers.clone();
    if observation.permitted.is_some() {
        // A server that was named again after the withdrawal occurs twice in `named`, so one occurrence remains.
        for server in &observation.webrtc_permitted {
            if let Some(at) = named.iter().position(|known| known == server) {
                named.swap_remove(at);
            }
        }
        if !observation.has_chosen {
            named.clear();
        }
        named.extend(observation.webrtc_before.iter().cloned());
    }
    let foreign = named.into_iter().filter(|(host, _)| case.is_other_site(host));
    let at_ms = end(observation);
    foreign.map(|(host, port)| webrtc_leak(observation, host, port, at_ms)).collect()
}

fn webrtc_leak(observation: &Observation, host: String, port: u16, at_ms: f64) -> Leak {
    Leak {
        url: format!("stun:{host}:{port}"),
        host,
        kind: Kind::WebRtc,
        at_ms: since(observation, at_ms),
        initiator: None,
        identifier: None,
    }
}

/// The end of a visit, for leaks whose time is unknown.
pub fn end(observation: &Observation) -> f64 {
    if observation.ended_ms.is_finite() { observation.ended_ms } else { observation.started_ms }
}

/// Whether a time is within the visit, and outside the time in which everything was permitted.
pub fn is_counted(observation: &Observation, at_ms: f64) -> bool {
    let is_permitted = observation.permitted.is_some_and(|(from, to)| (from..=to).contains(&at_ms));
    at_ms <= observation.ended_ms && !is_permitted
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a visit is short")]
pub fn since(observation: &Observation, at_ms: f64) -> u64 {
    (at_ms - observation.started_ms).max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaks to hosts with these numbers, one per millisecond.
    fn leaks(hosts: impl Iterator<Item = usize>) -> Vec<Leak> {
        let leak = |(at_ms, number): (u64, usize)| Leak {
            url: format!("https://host{number}.test/{at_ms}"),
            host: format!("host{number}.test"),
            kind: Kind::Fetch,
            at_ms,
            initiator: None,
            identifier: None,
        };
        (0..).zip(hosts).map(leak).collect()
    }

    fn hosts(listed: &[Leak]) -> BTreeSet<&str> {
        listed.iter().map(|leak| leak.host.as_str()).collect()
    }

    #[test]
    fn a_host_that_appears_late_is_listed() {
        let early = (0..20).flat_map(|host| std::iter::repeat_n(host, MAX_OF_KIND));
        let mut listed = leaks(early.chain([20, 20, 21]));
        shorten(&mut listed);
        assert_eq!((listed.len(), hosts(&listed).len()), (MAX_LISTED, 22));
        assert!(listed.is_sorted_by_key(|leak| leak.at_ms));
        assert_eq!(listed[MAX_LISTED - 1].host, "host21.test");
    }

    #[test]
    fn a_host_has_a_hundred_entries_of_a_kind_and_a_list_a_thousand() {
        let mut listed = leaks(std::iter::repeat_n(0, MAX_OF_KIND + 1).chain([1]));
        shorten(&mut listed);
        assert_eq!((listed.len(), hosts(&listed).len()), (MAX_OF_KIND + 1, 2));
        let mut listed = leaks(0..=MAX_LISTED);
        shorten(&mut listed);
        assert_eq!((listed.len(), hosts(&listed).len()), (MAX_LISTED, MAX_LISTED));
    }
}
