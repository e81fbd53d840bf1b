//! The dashboard and the alert rules speak of metrics that the service has.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::scrape::Scrape;
use crate::support::server::client;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::witnesses::{policy_file, process_cosigner};
use crate::support::{Answer, Process};

const DASHBOARD: &str = include_str!("../../../deploy/grafana-dashboard.json");
const OPERATING: &str = include_str!("../../../docs/operating.md");
const ALERTS: &str = include_str!("../../../deploy/alerts.yml");

/// Labels that Prometheus itself adds.
const ADDED: [&str; 3] = ["instance", "job", "le"];

async fn scrape() -> Scrape {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("METRICS_ADDRESS", "127.0.0.1:0");
    // A witness has its own samples, from the start.
    let folder = tempfile::tempdir().unwrap();
    let line = format!("witness w {} http://127.0.0.1:9\nquorum none\n", process_cosigner());
    command.env(LOG_KEY.0, LOG_KEY.1).env("LOG_WITNESSES", policy_file(folder.path(), &line));
    let node = Process::start(command).await;
    Answer::of(client().get(node.url("/healthz"))).await.expect(200);
    node.scrape().await
}

/// A metric as an expression names it: its name, and the labels that it asks for.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mention {
    name: String,
    labels: Vec<String>,
}

/// All metrics that a text names.
fn mentions(text: &str) -> BTreeSet<Mention> {
    let is_word = |character: &char| character.is_ascii_lowercase() || *character == '_';
    let found = text.match_indices("assent_").map(|(at, _)| {
        let name = text[at..].chars().take_while(is_word).collect::<String>();
        let rest = text[at + name.len()..].strip_prefix('{');
        let matchers = rest.and_then(|rest| rest.split_once('}')).map_or("", |(inside, _)| inside);
        let labels = matchers.split(',').filter_map(|matcher| {
            let name = matcher.trim().chars().take_while(is_word).collect::<String>();
            (!name.is_empty()).then_some(name)
        });
        Mention { name, labels: labels.collect() }
    });
    found.collect()
}

/// The labels by which a text groups.
fn groupings(text: &str) -> BTreeSet<String> {
    let groups = text.match_indices(" by (").filter_map(|(at, by)| {
        let (inside, _) = text[at + by.len()..].split_once(')')?;
        Some(inside.split(',').map(|label| label.trim().to_owned()))
    });
    groups.flatten().collect()
}

fn is_true_to(scrape: &Scrape, text: &str) {
    for Mention { name, labels } in mentions(text) {
        assert!(scrape.value(&name, &[]).is_some(), "there is no {name} in\n{}", scrape.text);
        for label in labels.iter().filter(|label| !ADDED.contains(&label.as_str())) {
            assert!(scrape.has_label(&name, label), "{name} has no label {label}");
        }
    }
    for label in groupings(text).iter().filter(|label| !ADDED.contains(&label.as_str())) {
        let is_known = scrape.names().any(|name| scrape.has_label(name, label));
        assert!(is_known, "no metric has a label {label}");
    }
}

fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| matches!(name.as_str(), "expr" | "query")) {
                    Some(text) => found.push(text.to_owned()),
                    None => expressions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[test]
fn the_check_sees_names_labels_and_groups() {
    let text = r#"sum by (kind, le) (rate(assent_a_total{x=~"1|2",y!="3"}[5m])) / assent_b"#;
    let mention = |name: &str, labels: &[&str]| Mention {
        name: name.to_owned(),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
    };
    let expected = [mention("assent_a_total", &["x", "y"]), mention("assent_b", &[])];
    assert_eq!(mentions(text), BTreeSet::from(expected));
    assert_eq!(groupings(text), BTreeSet::from(["kind".to_owned(), "le".to_owned()]));
}

#[tokio::test]
async fn the_dashboard_asks_for_metrics_that_are_there_and_shows_all_of_them() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    assert!(found.len() > 20, "{found:?}");
    let scrape = scrape().await;
    let text = found.join("\n");
    is_true_to(&scrape, &text);
    let shown = mentions(&text).into_iter().map(|mention| mention.name).collect::<BTreeSet<_>>();
    for name in scrape.names() {
        let ends = ["_bucket", "_sum", "_count"].map(|end| name.strip_suffix(end));
        let family = ends.into_iter().flatten().next().unwrap_or(name);
        assert!(shown.iter().any(|shown| shown.starts_with(family)), "{name} is on no panel");
    }
}

#[tokio::test]
async fn the_alert_rules_ask_for_metrics_that_are_there() {
    let rules = ALERTS.lines().filter(|line| !line.trim_start().starts_with('#'));
    let rules = rules.collect::<Vec<_>>().join("\n");
    assert!(mentions(&rules).len() >= 8);
    is_true_to(&scrape().await, &rules);
}

#[test]
fn every_alarm_names_the_section_that_explains_it() {
    let field = |name: &str| {
        let lines = ALERTS.lines().filter_map(move |line| {
            let line = line.trim_start().trim_start_matches("- ");
            line.strip_prefix(name)?.strip_prefix(": ")
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (alarms, runbooks) = (field("alert"), field("runbook"));
    let anchor = |alarm: &String| format!("docs/operating.md#{}", alarm.to_lowercase());
    assert_eq!(runbooks, alarms.iter().map(anchor).collect::<Vec<_>>());
    assert_eq!(alarms.len(), 15);
    let (_, explained) = OPERATING.split_once("\n## Alarms\n").expect("a section on alarms");
    let explained = explained.lines().filter_map(|line| line.strip_prefix("### "));
    let explained = explained.collect::<BTreeSet<_>>();
    assert_eq!(explained, alarms.iter().map(String::as_str).collect());
}
