//! `report.sarif`: SARIF 2.1.0, one result per leak.

use serde_json::{Value, json};
use url::Url;

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
    let cause = leak.initiator.as_ref().and_then(|it| Some((artifact(&it.url)?, it.line)));
    let (uri, line) = cause.unwrap_or_else(|| (artifact(&page.url).unwrap_or_default(), 1));
    let name = leak.identifier.as_ref().map_or("", |facts| &facts.name);
    let address = leak.url.split(['?', '#']).next().unwrap_or_default();
    let visit_name = visit.visit.name();
    let fingerprint =
        [&page.url, visit_name, leak.kind.name(), &leak.host, address, name].join("|");
    json!({
        "ruleId": leak.kind.name(),
        "level": "error",
        "message": {"text": sentence(page, visit, leak)},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri}, "region": {"startLine": line},
        }}],
        "partialFingerprints": {"leak/v2": fingerprint},
        "properties": {
            "visit": visit_name, "host": leak.host, "url": leak.url, "at_ms": leak.at_ms,
            "initiator": leak.initiator,
        },
    })
}

/// Host and path of an address as a relative reference: GitHub rejects a file in which an address has another scheme
/// than the checkout. `None` for other texts, because a script can give itself any name.
fn artifact(url: &str) -> Option<String> {
    let url = Url::parse(url.trim_end_matches(REST)).ok()?;
    let host = url.host_str().filter(|host| host.contains(|symbol: char| symbol != '.'))?;
    let address = format!("{host}{}", url.path().trim_end_matches('/'));
    let is_valid =
        |symbol: char| symbol.is_ascii_alphanumeric() || "/.-_~!$&'()*+,;=@".contains(symbol);
    Some(address.replace(|symbol| !is_valid(symbol), "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_relative_references() {
        let addresses = [
            ("https://shop.example/", Some("shop.example")),
            ("http://localhost:3000/a b/ü.js?v=1#l", Some("localhost/a_20b/_C3_BC.js")),
            ("http://[::1]/app.js", Some("___1_/app.js")),
            ("https://cdn.example/long%2…", Some("cdn.example/long_2")),
            ("https://cdn.example/_next/[slug]/page.js", Some("cdn.example/_next/_slug_/page.js")),
            ("webpack-internal:///./src/[slug]/page.js", None),
            ("webpack://../page.js", None),
            ("my file.js", None),
        ];
        for (address, artifact_of) in addresses {
            assert_eq!(artifact(address).as_deref(), artifact_of, "{address}");
        }
    }
}
