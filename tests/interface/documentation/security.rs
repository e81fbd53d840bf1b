//! `docs/security.md`: its promises, and whether every test that it names exists.

use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::client;
use crate::support::{Answer, App, Process};

const PROMISES: &str = include_str!("../../../docs/security.md");

/// Everything that stands between backticks.
fn quoted() -> impl Iterator<Item = &'static str> {
    PROMISES.split('`').skip(1).step_by(2)
}

/// Whether a Rust file has a test of that name.
fn has_test(file: &Path, name: &str) -> bool {
    let source = fs::read_to_string(file).unwrap_or_default();
    let before = source.split_once(&format!("fn {name}(")).map(|(before, _)| before);
    let attributes = before.and_then(|before| before.rsplit("\n\n").next());
    attributes.is_some_and(|attributes| attributes.contains("test"))
}

#[test]
fn every_test_that_the_promises_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = 0;
    for name in quoted().filter(|name| name.contains("::")) {
        let (module, test) = name.split_once("::").unwrap();
        let folders = ["tests", "src"];
        let names =
            [format!("{module}.rs"), format!("{module}/mod.rs"), format!("{module}/main.rs")];
        let in_folder = |folder: &&str| names.clone().map(|name| root.join(folder).join(name));
        assert!(
            folders.iter().flat_map(in_folder).any(|file| has_test(&file, test)),
            "there is no test {name}"
        );
        named += 1;
    }
    for name in quoted().filter(|name| name.contains(".spec.ts: ")) {
        let (file, title) = name.split_once(": ").unwrap();
        let specs = fs::read_to_string(root.join("tests/browser/specs").join(file)).unwrap();
        assert!(specs.contains(title), "there is no test {name}");
        named += 1;
    }
    assert!(named > 90, "{named}");
    let this_file = root.join("tests/interface/documentation/security.rs");
    assert!(!has_test(&this_file, "quoted"), "a function is no test");
}

#[test]
fn every_chapter_of_the_standard_has_its_section() {
    let sections = PROMISES.lines().filter_map(|line| line.strip_prefix("### V"));
    let numbers = sections.map(|section| section.split(' ').next().unwrap().parse::<u32>());
    assert_eq!(numbers.collect::<Result<Vec<_>, _>>().unwrap(), (1..=17).collect::<Vec<_>>());
}

#[tokio::test]
async fn every_answer_but_a_script_has_a_policy() {
    let app = App::spawn().await;
    let data = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
    for path in ["/healthz", "/v1/plans", "/v1/whoami", "/nowhere", "/v1/consent/check"] {
        let answer = app.get(path).await;
        assert_eq!(answer.header("content-security-policy"), Some(data), "{path}");
        assert_eq!(answer.headers.get_all("content-security-policy").iter().count(), 1);
        // Answers to visitors' scripts contain no links.
        let referrer = (path != "/v1/consent/check").then_some("strict-origin-when-cross-origin");
        assert_eq!(answer.header("referrer-policy"), referrer, "{path}");
    }
    for path in ["/", "/log", "/demo", "/site/pixel"] {
        let answer = app.get(path).await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("script-src 'self'"), "{path}: {policy}");
        for directive in ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(directive), "{path}: {policy}");
        }
    }
    assert_eq!(app.get("/pixel.js").await.header("content-security-policy"), None);
}

#[tokio::test]
async fn with_tls_browsers_are_instructed_to_stay_with_it() {
    let app = App::spawn_with(&[("BASE_URL", "https://consent.example")]).await;
    let plain = App::spawn().await;
    for path in ["/", "/healthz", "/nowhere", "/pixel.js"] {
        let answer = app.get(path).await;
        let stay = "max-age=63072000; includeSubDomains";
        assert_eq!(answer.header("strict-transport-security"), Some(stay), "{path}");
        assert_eq!(plain.get(path).await.header("strict-transport-security"), None, "{path}");
    }
}

#[tokio::test]
async fn refused_credentials_are_logged_without_being_repeated() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("LOG_FORMAT", "json");
    let service = Process::start(command).await;
    let request = client().request(Method::GET, service.url("/v1/whoami"));
    let answer = Answer::of(request.bearer_auth("px_a-key-of-nobody")).await;
    answer.refused(401, "invalid api key");
    is_logged(&service, &answer, "/v1/whoami").await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "whoami", "arguments": {"api_key": "px_a-key-of-nobody"}}});
    let request = client().request(Method::POST, service.url("/mcp")).json(&call);
    let request = request.header("Accept", "application/json, text/event-stream");
    is_logged(&service, &Answer::of(request).await, "/mcp").await;
    assert!(!service.log().contains("px_a-key-of-nobody"));
}

/// The refusal is a line of the log, with the request's id and route.
async fn is_logged(service: &Process, answer: &Answer, route: &str) {
    let id = answer.header("x-request-id").unwrap();
    for _ in 0..1_500 {
        let log = service.log();
        let mut lines = log.lines().filter(|line| line.contains(id));
        if let Some(line) = lines.find(|line| line.contains("\"refused\"")) {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&line["message"], &line["status"]), (&json!("refused"), &json!(401)));
            assert_eq!(line["detail"], "invalid api key");
            assert!(line["spans"].to_string().contains(&json!(route).to_string()), "{line}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the refusal is not logged: {}", service.log());
}
