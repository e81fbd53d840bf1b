//! Lists each leak of a report once, with all visits in which it was seen.

use std::collections::{BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::verdict::Leak;
use crate::watch::report::{Page, Report};

const MAX_LINES: usize = 100;

/// A leak, and the visits in which it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct LeakLine {
    /// The host requested or connected to; for an identifier its owner.
    pub host: String,
    /// For example `script`, `image` or `cookie`.
    pub kind: String,
    pub url: String,
    /// The name of a cookie or an entry of storage.
    #[schema(required = true)]
    pub name: Option<String>,
    pub visits: Vec<String>,
    /// The script or document that caused it, where it is known.
    #[schema(required = true)]
    pub script: Option<String>,
    #[schema(required = true)]
    pub line: Option<u64>,
    /// The line to paste instead, which waits for consent; for scripts and frames.
    #[schema(required = true)]
    pub gated: Option<String>,
}

impl LeakLine {
    fn of(found: Found<'_>, gated: Option<String>) -> Self {
        let Found { leak, visits, .. } = found;
        Self {
            host: leak.host.clone(),
            kind: leak.kind.name().to_owned(),
            url: leak.url.clone(),
            name: leak.identifier.as_ref().map(|facts| facts.name.clone()),
            visits,
            script: leak.initiator.as_ref().map(|cause| cause.url.clone()),
            line: leak.initiator.as_ref().map(|cause| cause.line),
            gated,
        }
    }
}

/// A leak, by the index of its page, and the visits in which it was seen.
struct Found<'r> {
    page: usize,
    leak: &'r Leak,
    visits: Vec<String>,
}

/// The leaks, at most 100: if there are more, the first one of each host and kind comes before others.
pub fn lines_of(report: &Report) -> Vec<LeakLine> {
    let mut found = all_of(report);
    if found.len() > MAX_LINES {
        let mut named = HashSet::new();
        let is_first = |found: &Found<'_>| named.insert((found.leak.host.clone(), found.leak.kind));
        let (first, others) = found.into_iter().partition::<Vec<_>, _>(is_first);
        found = first;
        found.extend(others);
        found.truncate(MAX_LINES);
    }
    let gated = report.pages.iter().map(Page::gated_lines).collect::<Vec<_>>();
    let lines = found.into_iter().map(|found| {
        let line = gated[found.page].line(found.leak);
        LeakLine::of(found, line)
    });
    lines.collect()
}

fn all_of(report: &Report) -> Vec<Found<'_>> {
    let mut all = Vec::<Found<'_>>::new();
    let mut known = HashMap::new();
    let pages = report.pages.iter().enumerate();
    for (page, visit) in pages.flat_map(|(at, page)| page.visits.iter().map(move |it| (at, it))) {
        let visit_name = visit.visit.name();
        for leak in &visit.leaks {
            let name = leak.identifier.as_ref().map(|facts| &facts.name);
            let at = *known.entry((&leak.host, leak.kind, &leak.url, name)).or_insert(all.len());
            if at == all.len() {
                all.push(Found { page, leak, visits: Vec::new() });
            }
            let visits = &mut all[at].visits;
            if visits.last().is_none_or(|last| last != visit_name) {
                visits.push(visit_name.to_owned());
            }
        }
    }
    all
}

/// The hosts that a report lists separately because they are allowed.
pub fn allowed_hosts(report: &Report) -> Vec<String> {
    let visits = report.pages.iter().flat_map(|page| &page.visits);
    let hosts = visits.flat_map(|visit| visit.allowed.iter().map(|leak| &leak.host));
    // PostgreSQL cannot store a zero byte in text.
    let hosts = hosts.filter(|host| !host.contains('\0')).collect::<BTreeSet<_>>();
    hosts.into_iter().take(MAX_LINES).cloned().collect()
}

/// Sentences about the visits that do not count as observed.
pub fn unobserved(report: &Report) -> Vec<String> {
    let visits = report.pages.iter().flat_map(|page| &page.visits);
    let unobserved = visits.filter(|visit| visit.silent.is_none()).map(|visit| {
        let reason = visit.unobserved.as_deref().unwrap_or("no reason is known");
        format!("{}: {reason}", visit.visit.name())
    });
    unobserved.take(MAX_LINES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A report with these scripts, each as host and number, in two visits.
    fn report(scripts: &[(&str, usize)]) -> Report {
        let leak = |(host, number): &(&str, usize)| {
            let url = format!("https://{host}/{number}.js");
            json!({"url": url, "host": host, "kind": "script", "at_ms": 1, "initiator": null})
        };
        let leaks = scripts.iter().map(leak).collect::<Vec<_>>();
        let visits = ["untouched", "gpc"].map(|visit| {
            json!({
                "visit": visit, "silent": false, "unobserved": null, "leaks": leaks, "allowed": [],
                "kept": [], "cookies": [], "storage": [], "screenshot": null,
            })
        });
        let report = json!({
            "schema": "assent/watch/v1", "program": "1", "time": "", "watcher": "",
            "browser": {"version": "", "sandbox": true}, "seconds": 1.0, "not_covered": [],
            "pages": [{
                "url": "https://shop.example/", "service": null, "tag": null, "visits": visits,
            }],
        });
        serde_json::from_value(report).unwrap()
    }

    #[test]
    fn a_leak_is_one_line_for_all_visits_in_the_order_of_the_report() {
        let lines = lines_of(&report(&[("a.example", 1), ("b.example", 1), ("a.example", 2)]));
        let urls = lines.iter().map(|line| line.url.as_str()).collect::<Vec<_>>();
        let expected =
            ["https://a.example/1.js", "https://b.example/1.js", "https://a.example/2.js"];
        assert_eq!(urls, expected);
        assert!(lines.iter().all(|line| line.visits == ["untouched", "gpc"]), "{lines:?}");
    }

    #[test]
    fn every_host_is_named_before_more_addresses_of_one_of_them() {
        let many = (0..200).map(|number| ("a.example", number));
        let scripts = many.chain([("b.example", 1), ("c.example", 1)]).collect::<Vec<_>>();
        let lines = lines_of(&report(&scripts));
        assert_eq!(lines.len(), MAX_LINES);
        let hosts = lines.iter().take(4).map(|line| line.host.as_str()).collect::<Vec<_>>();
        assert_eq!(hosts, ["a.example", "b.example", "c.example", "a.example"]);
    }

    #[test]
    fn a_line_to_paste_has_the_purpose_and_the_attributes_of_its_page() {
        let mut second = report(&[("a.example", 1), ("c.example", 1)]).pages;
        let mut report = report(&[("a.example", 1), ("b.example", 1)]);
        report.pages.append(&mut second);
        let tag = json!({"url": "u", "pixel": "p", "sha256": null, "purposes": ["newsletter"]});
        report.pages[1].tag = serde_json::from_value(tag).unwrap();
        let url = "https://c.example/1.js";
        let elements = json!([{"url": url, "kind": "script", "attributes": {"async": ""}}]);
        report.pages[1].elements = serde_json::from_value(elements).unwrap();
        let lines = lines_of(&report);
        let gated = lines.iter().map(|line| line.gated.as_deref().unwrap()).collect::<Vec<_>>();
        let line = |purpose: &str, host: &str, more: &str| {
            format!(
                "<script type=\"text/plain\" data-assent=\"{purpose}\" \
                 src=\"https://{host}/1.js\"{more}></script>"
            )
        };
        let expected = [
            line("analytics", "a.example", ""),
            line("analytics", "b.example", ""),
            line("newsletter", "c.example", " async"),
        ];
        assert_eq!(gated, expected);
    }
}
