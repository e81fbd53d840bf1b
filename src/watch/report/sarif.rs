//! `report.sarif`: SARIF 2.1.0, one result per leak.

use serde_json::{Value, json};

use super::model::{Page, Report, VisitReport, sentence};
use super::shortened::REST;
use crate::verdict::{Kind, Leak};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub fn sarif(report: &Report) -> Value {
    let results = report.pages.iter().flat_map(|page| {
        page.visits
            .iter()
            .flat_map(move |visit| visit.leaks.iter().map(move |leak| result(page, visit, leak)))
    });
    let results = results.collect::<Vec<_>>();
    let rules = Kind::ALL.iter().map(|kind| {
        json!({
            "id": kind.name(),
            "shortDescription": {"text": format!("A leak of kind {}", kind.name())},
            "defaultConfiguration": {"level": "error"},
        })
    });
    let unobserved = report.pages.iter().flat_map(|page| {
        page.visits.iter().filter_map(move |visit| {
            let reason = visit.unobserved.as_ref()?;
            let text = format!("{}: {}: {reason}", page.url, visit.visit.name());
            Some(json!({"level": "warning", "message": {"text": text}}))
        })
    });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "assent watch", "version": report.program,
                "rules": rules.collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": report.exit_code() != 2,
                "endTimeUtc": report.time,
                "toolExecutionNotifications": unobserved.collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    })
}

fn result(page: &Page, visit: &VisitReport, leak: &Leak) -> Value {
    let (uri, line) = match &leak.initiator {
        // An address without the rest is still valid; with an ellipsis it is not.
        Some(initiator) => (initiator.url.trim_end_matches(REST), initiator.line),
        None => (page.url.as_str(), 1),
    };
    json!({
        "ruleId": leak.kind.name(),
        "level": "error",
        "message": {"text": sentence(page, visit, leak)},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri}, "region": {"startLine": line},
        }}],
        "partialFingerprints": {
            "leak/v1": format!("{}|{}|{}|{}", page.url, visit.visit.name(), leak.kind.name(), leak.host),
        },
        "properties": {"visit": visit.visit.name(), "host": leak.host, "url": leak.url, "at_ms": leak.at_ms},
    })
}
