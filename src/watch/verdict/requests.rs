use std::collections::{BTreeMap, BTreeSet};

use crate::watch::devtools::{Initiator, Seen};
use crate::watch::net_log::Connecting;
use crate::watch::site::host_of;
use crate::watch::visit::Observation;

use super::case::Case;
use super::kinds::Kind;
use super::leaks::Leak;
use super::webrtc;

/// Addresses of one host and kind that a list has, and entries of a list in all.
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
    found.extend(unnamed(case, observation));
    found.extend(by_open_sockets(case, observation));
    let has_request = |url: &str| found.iter().any(|known| known.url == url);
    let mut named = named_by_page(case, observation);
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

fn shorten(listed: &mut Vec<Leak>) {
    let mut counts = BTreeMap::new();
    listed.retain(|leak| {
        let count = counts.entry((leak.host.clone(), leak.kind)).or_insert(0);
        *count += 1;
        *count <= MAX_OF_KIND
    });
    listed.truncate(MAX_LISTED);
}

fn requested(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    let seen = &observation.seen;
    let requests = observation.log.requests.iter().filter(|request| {
        let is_counted = is_counted(observation, request.at_ms);
        request.is_sent && request.by_page && is_counted && case.is_foreign(&request.url)
    });
    let leaks = requests.filter_map(|request| {
        let of = |seen: &&&Seen| seen.cause(&request.url).is_some();
        let other = || case.seen.iter().find(of).and_then(|seen| seen.cause(&request.url));
        let cause = seen.cause(&request.url).or_else(other);
        let is_object = observation.objects.contains(&request.url);
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

/// Icons and manifests, which a browser with a window loads with the page.
fn named_by_page(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    let icons = observation.icons.iter().map(|url| (url, Kind::Image));
    let manifests = observation.manifests.iter().map(|url| (url, Kind::Other));
    let foreign = icons
        .chain(manifests)
        .filter(|(url, _)| observation.permitted.is_none() && case.is_foreign(url));
    let leaks = foreign.filter_map(|(url, kind)| {
        Some(Leak {
            host: host_of(url)?,
            url: url.clone(),
            kind,
            at_ms: 0,
            initiator: Some(Initiator { url: case.url.to_owned(), line: 1 }),
            identifier: None,
        })
    });
    leaks.collect()
}

/// Messages through WebSockets that were opened while it was permitted.
fn by_open_sockets(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    let messages = observation.seen.messages.values();
    let counted = messages.filter(|sent| sent.at_ms > 0.0 && is_counted(observation, sent.at_ms));
    let leaks = counted.filter(|sent| case.is_foreign(&sent.url)).filter_map(|sent| {
        Some(Leak {
            host: host_of(&sent.url)?,
            url: sent.url.clone(),
            kind: Kind::WebSocket,
            at_ms: since(observation, sent.at_ms),
            initiator: None,
            identifier: None,
        })
    });
    leaks.collect()
}

fn unnamed(case: &Case<'_>, observation: &Observation) -> Vec<Leak> {
    let counted =
        observation.log.unnamed.iter().filter(|entry| is_counted(observation, entry.at_ms));
    let leaks = counted.filter_map(|entry| {
        let host = webrtc::host(entry.address, &observation.webrtc_servers)?;
        case.is_other_site(&host).then(|| Leak {
            url: format!("stun:{host}:{}", entry.address.port()),
            host,
            kind: Kind::WebRtc,
            at_ms: since(observation, entry.at_ms),
            initiator: None,
            identifier: None,
        })
    });
    leaks.collect()
}

/// Whether a time is within the visit and not while everything was permitted.
pub fn is_counted(observation: &Observation, at_ms: f64) -> bool {
    let is_permitted = observation.permitted.is_some_and(|(from, to)| (from..=to).contains(&at_ms));
    at_ms <= observation.ended_ms && !is_permitted
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a visit is short")]
pub fn since(observation: &Observation, at_ms: f64) -> u64 {
    (at_ms - observation.started_ms).max(0.0).round() as u64
}
