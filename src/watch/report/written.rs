//! Writes a report into its folder: complete, or not at all.

use std::io;
use std::path::Path;

use crate::clock::{Clock, rfc3339};
use crate::config::Secret;
use crate::proof::format::note::NoteSigner;
use crate::proof::format::watch_report::{JSON, SCHEMA};
use crate::watch::options::Options;

use super::bounded::fitting_json;
use super::folder::{HTML, JUNIT, SARIF, write_all};
use super::html::html;
use super::junit::junit;
use super::model::{BrowserFacts, Outcome, Report};
use super::not_covered::not_covered;
use super::sarif::sarif;
use super::signature::sign;

/// The key name in signature lines of watchers.
const WATCHER: &str = "assent-watch";

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{0} cannot be written: {1}")]
    Unwritable(String, io::Error),
    #[error("the key of the watcher is not valid")]
    Key,
    #[error("the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes the report of a run, signed with the watcher's key or with one that is made for the run.
pub fn write(
    options: &Options,
    outcome: Outcome,
    key: Option<&Secret>,
    folder: &Path,
) -> Result<Report, ReportError> {
    let seed = match key {
        Some(key) => hex::decode(key.expose()).map_err(|_| ReportError::Key)?,
        None => rand::random::<[u8; 32]>().to_vec(),
    };
    let signer = NoteSigner::new(WATCHER, &seed).ok_or(ReportError::Key)?;
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        time: rfc3339(Clock::System.now()),
        watcher: signer.verifier().to_string(),
        browser: BrowserFacts { version: outcome.browser, sandbox: outcome.has_sandbox },
        seconds: options.observation.as_secs_f64(),
        not_covered: not_covered(options.exceptions.is_some()),
        pages: outcome.pages,
    };
    let pictures = report.take_pictures();
    let mut files = texts(&mut report)?;
    files.extend(pictures);
    let note = sign(&signer, &report.time, &files);
    write_all(folder, &files, &note)
        .map_err(|error| ReportError::Unwritable(folder.display().to_string(), error))?;
    Ok(report)
}

/// The files of a report except its pictures. All of them list the same leaks.
fn texts(report: &mut Report) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    // This may shorten the report, so the other files are written after it.
    let json = fitting_json(report)?;
    Ok(vec![
        (JSON.to_owned(), json),
        (HTML.to_owned(), html(report).into_bytes()),
        (SARIF.to_owned(), serde_json::to_vec_pretty(&sarif(report))?),
        (JUNIT.to_owned(), junit(report).into_bytes()),
    ])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::verdict::Listed;
    use crate::visit::Visit;
    use crate::watch::report::bounded::MAX_JSON;
    use crate::watch::report::not_covered::NOT_COVERED;
    use crate::watch::report::signature::verify;

    const LEAKS: usize = 1000;

    fn signer() -> NoteSigner {
        NoteSigner::new(WATCHER, &[7; 32]).unwrap()
    }

    /// A report with a thousand scripts with long addresses in each visit, of these hosts.
    fn long_report(host: impl Fn(Visit, usize) -> String) -> Report {
        let leak = |visit: Visit, number: usize| {
            let host = host(visit, number);
            let url = format!("https://{host}/{number}?{}", "x".repeat(2000));
            let initiator = json!({"url": url, "line": 7});
            json!({"url": url, "host": host, "kind": "script", "at_ms": 1, "initiator": initiator})
        };
        let visits = Visit::ALL.map(|visit| {
            let leaks = (0..LEAKS).map(|number| leak(visit, number)).collect::<Vec<_>>();
            json!({
                "visit": visit.name(), "silent": false, "unobserved": null, "leaks": leaks,
                "allowed": [], "kept": [], "cookies": [], "storage": [], "screenshot": null,
            })
        });
        let report = json!({
            "schema": SCHEMA, "program": "1.0.0", "time": "2026-03-01T00:00:00.000Z",
            "watcher": signer().verifier().to_string(),
            "browser": {"version": "Chrome/1", "sandbox": true}, "seconds": 4.0,
            "not_covered": NOT_COVERED,
            "pages": [{
                "url": "https://shop.example/", "service": null, "tag": null, "visits": visits,
            }],
        });
        serde_json::from_value(report).unwrap()
    }

    fn text<'f>(files: &'f [(String, Vec<u8>)], name: &str) -> &'f str {
        let (_, bytes) = files.iter().find(|(known, _)| known == name).unwrap();
        std::str::from_utf8(bytes).unwrap()
    }

    /// A report, its files by name, and the hosts that it names.
    type Fitting = (Report, Vec<(String, Vec<u8>)>, BTreeSet<String>);

    /// Writes a report, whose files must fit and agree.
    fn fitting(mut report: Report) -> Fitting {
        let files = texts(&mut report).unwrap();
        let json = text(&files, JSON);
        assert!(json.len() <= MAX_JSON, "{} bytes", json.len());
        let read = serde_json::from_str::<Report>(json).unwrap();
        assert_eq!((read.exit_code(), read.pages[0].visits.len()), (1, 6));
        let visits = || read.pages[0].visits.iter();
        assert!(visits().all(|visit| visit.silent == Some(false) && !visit.leaks.is_empty()));
        let leaks = || visits().flat_map(|visit| &visit.leaks);
        assert!(leaks().all(|leak| leak.url.starts_with(&format!("https://{}/", leak.host))));
        let sarif = serde_json::from_str::<Value>(text(&files, SARIF)).unwrap();
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), leaks().count());
        for result in results {
            let location = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            assert!(location.as_str().is_some_and(|uri| uri.is_ascii()), "{location}");
        }
        let hosts = leaks().map(|leak| leak.host.clone()).collect::<BTreeSet<_>>();
        for name in [HTML, SARIF, JUNIT] {
            let text = text(&files, name);
            assert!(hosts.iter().all(|host| text.contains(host.as_str())), "{name}");
        }
        (read, files, hosts)
    }

    #[test]
    fn a_long_report_fits_and_names_every_host() {
        for count in [10, 400, LEAKS] {
            let report = long_report(|_, number| format!("host-{}.example", number % count));
            let (read, files, hosts) = fitting(report);
            assert_eq!(hosts.len(), count);
            let listed = read.pages[0].visits.iter().map(|visit| visit.leaks.len()).sum::<usize>();
            let sentence = format!(
                "Entries that are left out: {}. Leaking hosts that are not named: 0.",
                6 * LEAKS - listed
            );
            assert!(listed < 6 * LEAKS && read.not_covered.len() == NOT_COVERED.len() + 1);
            let html = text(&files, HTML);
            assert!(read.not_covered[NOT_COVERED.len()].contains(&sentence), "{sentence}");
            assert!(html.contains(&sentence), "{sentence}");
            assert!(!html.contains("data-assent"), "a part of an address cannot be pasted");
        }
    }

    #[test]
    fn a_report_with_other_hosts_in_every_visit_fits_and_counts_those_that_are_missing() {
        let long = "x".repeat(40);
        let host =
            |visit: Visit, number: usize| format!("{}-{number}.{long}.example", visit.name());
        let report = long_report(host);
        let (read, _, hosts) = fitting(report);
        let missing = format!("not named: {}.", 6 * LEAKS - hosts.len());
        assert!(read.not_covered.last().unwrap().contains(&missing), "{:?}", read.not_covered);
    }

    #[test]
    fn long_names_and_lists_of_other_entries_fit() {
        let mut report = long_report(|_, _| "t.example".to_owned());
        let entry = |number: usize, store: &str| {
            let (name, host) = ("é".repeat(1000), format!("{number}.example"));
            json!({"name": name, "host": host, "store": store, "lifetime_s": null, "reason": "r"})
        };
        let list = |store: &str| {
            let entries = (0..200).map(|number| entry(number, store)).collect::<Vec<_>>();
            serde_json::from_value::<Vec<Listed>>(json!(entries)).unwrap()
        };
        for visit in &mut report.pages[0].visits {
            (visit.kept, visit.cookies) = (list("cookie"), list("cookie"));
            visit.storage = list("local_storage");
        }
        let (_, _, hosts) = fitting(report);
        assert_eq!(hosts, BTreeSet::from(["t.example".to_owned()]));
    }

    #[test]
    fn elements_are_left_out_before_hosts() {
        let mut report = long_report(|_, number| format!("host-{number}.example"));
        let page = &mut report.pages[0];
        for leak in page.visits.iter_mut().flat_map(|visit| &mut visit.leaks) {
            leak.url = format!("https://{}/s.js", leak.host);
        }
        let elements = page.visits[0].leaks.iter().map(|leak| {
            let attributes = json!({"title": "x".repeat(900)});
            json!({"url": leak.url, "kind": "script", "attributes": attributes})
        });
        let elements = elements.collect::<Vec<_>>();
        page.elements = serde_json::from_value(json!(elements)).unwrap();
        let (read, files, hosts) = fitting(report);
        let left = &read.pages[0].elements;
        assert!(hosts.len() == LEAKS && (1..=50).contains(&left.len()), "{} elements", left.len());
        let line = format!("{}&quot; title=&quot;xxx", left[0].url);
        assert!(text(&files, HTML).contains(&line), "{line}");
    }

    #[test]
    fn elements_without_a_whole_address_are_left_out() {
        let mut report = long_report(|_, _| "t.example".to_owned());
        let leak = &report.pages[0].visits[0].leaks[0];
        let element = json!([{"url": leak.url, "kind": "script", "attributes": {}}]);
        report.pages[0].elements = serde_json::from_value(element).unwrap();
        let (read, files, _) = fitting(report);
        assert!(read.pages[0].elements.is_empty());
        assert!(!text(&files, JSON).contains("\"elements\""));
    }

    #[test]
    fn a_report_that_fits_is_left_as_it_is() {
        let mut report = long_report(|_, _| "t.example".to_owned());
        for visit in &mut report.pages[0].visits {
            visit.leaks.truncate(10);
        }
        let whole = serde_json::to_vec_pretty(&report).unwrap();
        let files = texts(&mut report).unwrap();
        assert_eq!(text(&files, JSON).as_bytes(), whole);
        assert!(text(&files, HTML).contains("data-assent"));
    }

    #[test]
    fn a_shortened_report_is_signed_as_it_was_written() {
        let mut report = long_report(|_, number| format!("host-{number}.example"));
        let files = texts(&mut report).unwrap();
        let note = sign(&signer(), &report.time, &files);
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), &files, &note).unwrap();
        assert_eq!(verify(folder.path(), None).unwrap().files, 4);
        let json = text(&files, JSON).replacen("host-7.example", "host-8.example", 1);
        std::fs::write(folder.path().join(JSON), json).unwrap();
        assert!(verify(folder.path(), None).is_err());
    }
}
