//! The guide: every command of it, run as it is written, and the files that programs look for.

use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::{App, MailServer, fresh_address};

/// The reader's values, in the order in which the guide asks for them.
struct Reader {
    values: Vec<(&'static str, String)>,
}

impl Reader {
    fn note(&mut self, placeholder: &'static str, value: &Value) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.values.push((placeholder, value));
    }

    /// A command with the reader's values in it, run in a shell; its answer.
    fn run(&self, command: &str) -> Value {
        let filled =
            self.values.iter().fold(command.to_owned(), |command, (placeholder, value)| {
                command.replace(placeholder, value)
            });
        let output = Command::new("bash").args(["-c", &filled]).output().unwrap();
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{filled}\n{answer}"))
    }
}

/// The commands of the guide, in their order.
fn commands(markdown: &str) -> Vec<&str> {
    let blocks = markdown.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_guide_works_as_it_is_written() {
    let site = HttpsSite::start(&["shop.test"]).await;
    let resolve = format!("shop.test={}", site.address);
    let app = App::spawn_with(&[
        ("SMTP_URL", &MailServer::shared().url),
        ("INSTALL_CHECK_RESOLVE", &resolve),
        ("INSTALL_CHECK_CA_FILE", ca_file()),
    ])
    .await;
    let guide = app.get("/guide.md").await;
    assert_eq!(guide.header("content-type"), Some("text/markdown; charset=utf-8"));
    let [open, confirm, issue, create, configure, check, log, verify, ask, lesser] =
        commands(&guide.text)[..]
    else {
        panic!("the guide has other commands than this test knows")
    };
    let email = fresh_address("guide");
    let mut reader = Reader {
        values: vec![
            ("you@example.com", email.clone()),
            ("Your name", "Ann".to_owned()),
            ("shop.example", "shop.test".to_owned()),
        ],
    };

    let opened = reader.run(open);
    reader.note("ACCOUNT_ID", &opened["account_id"]);
    reader.note("SIGNUP_TOKEN", &opened["signup_token"]);
    reader.values.push(("123456", MailServer::shared().newest(&email).await.code()));
    let confirmed = reader.run(confirm);
    assert!(confirmed["api_key"].is_string(), "{confirmed}");
    reader.note("API_KEY", &reader.run(issue)["api_key"]);
    reader.note("PIXEL_ID", &reader.run(create)["pixel_id"]);
    let configured = reader.run(configure);
    let snippet = configured["snippet"].as_str().unwrap();
    let line =
        |number: usize| guide.text.split("```html\n").nth(number).unwrap().lines().next().unwrap();
    let pixel = reader.values.last().unwrap().1.clone();
    assert_eq!(line(1).replace("PIXEL_ID", &pixel), snippet);
    let path = format!("/v1/pixels/{pixel}");
    let key = confirmed["api_key"].as_str().unwrap();
    let created = app.call(Method::GET, &path, key, Value::Null).await.expect(200);
    assert_eq!(line(2).replace("PIXEL_ID", &pixel), created["test_snippet"].as_str().unwrap());
    site.answer("shop.test/", Reply::page(snippet));
    assert_eq!(reader.run(check)["install_status"], "installed");

    let choice = json!({
        "pixel_id": pixel, "visitor_id": "visitor-1", "url": "https://shop.test/",
        "consent": "accepted", "affirmative": true, "purposes": ["resolution"],
        "policy_version_hash": configured["policy_hash"],
    });
    app.recorded(&choice).await;
    let event = reader.run(log)["events"][0].clone();
    reader.values.push(("VISITOR_ID", "visitor-1".to_owned()));
    reader.note("\"SIGNATURE\"", &Value::String(event["signature"].to_string()));
    reader.note("RECEIPT", &event["receipt"]);
    assert_eq!(reader.run(verify)["valid"], true);
    assert_eq!(reader.run(ask)["permitted"], true);
    reader.note("API_KEY", &reader.run(lesser)["api_key"]);
    assert!(reader.values.pop().unwrap().1.starts_with("px_"));
}

#[tokio::test]
async fn the_page_says_what_the_markdown_says_with_fields_for_the_readers_values() {
    let app = App::spawn().await;
    let page = app.get("/guide").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let markdown = app.get("/guide.md").await.text;
    for heading in markdown.lines().filter_map(|line| line.strip_prefix("## ")) {
        assert!(page.text.contains(&format!("\">{heading}</h2>")), "{heading}");
    }
    for field in ["email", "name", "domain", "code", "account", "token", "key", "pixel"] {
        assert!(page.text.contains(&format!("<span data-fill=\"{field}\">")), "{field}");
        assert!(page.text.contains(&format!("name=\"{field}\"")), "{field}");
    }
    assert!(page.text.contains(&format!("{}/v1/accounts", app.base)));
    assert_eq!(app.get("/assets/guide.js").await.status, 200);
}

#[tokio::test]
async fn every_link_of_llms_txt_stands_under_a_heading() {
    let app = App::spawn().await;
    let text = app.get("/llms.txt").await.text;
    // llmstxt.org: a name, a summary, prose, then lists of links, each under a heading.
    let mut lines = text.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next(), Some("# Assent"));
    assert!(lines.next().unwrap().starts_with("> "));
    let (before, lists) = text.split_once("\n## ").expect("headings");
    assert!(!before.contains("]("), "{before}");
    let items = lists.lines().filter(|line| line.contains("]("));
    for item in items {
        assert!(item.starts_with("- [") && item.contains("): "), "{item}");
    }
    assert!(text.contains("\n## Optional\n"));
}

#[tokio::test]
async fn the_guide_installs_the_tool_server_in_three_editors() {
    let app = App::spawn().await;
    let (guide, server) = (app.get("/guide.md").await.text, app.url("/mcp"));
    assert!(guide.contains(&format!("`claude mcp add --transport http assent {server}`")));
    let settings = |before: &str, after: &str| {
        let (_, rest) = guide.split_once(before).unwrap_or_else(|| panic!("{before}: {guide}"));
        let (text, _) = rest.split_once(after).unwrap_or_else(|| panic!("{after}: {guide}"));
        serde_json::from_str::<Value>(text).unwrap()
    };
    let entry = json!({"type": "http", "url": server});
    let code = settings("- VS Code: `code --add-mcp '", "'`, or");
    assert_eq!(code, json!({"name": "assent", "type": "http", "url": server}));
    let file = settings("'`, or\n  `", "` in `.vscode/mcp.json`");
    assert_eq!(file, json!({"servers": {"assent": entry}}));
    let cursor = settings("- Cursor: `", "` in `.cursor/mcp.json`");
    assert_eq!(cursor, json!({"mcpServers": {"assent": {"url": server}}}));
}

#[tokio::test]
async fn values_of_the_reader_never_change_the_services_own_address() {
    let app = App::spawn_with(&[("BASE_URL", "https://consent.shop.example")]).await;
    let page = app.get("/guide").await.text;
    assert!(page.contains("curl -sS https://consent.shop.example/v1/accounts"), "{page}");
    assert!(page.contains("<span data-fill=\"domain\">shop.example</span>"));
}

#[tokio::test]
async fn every_address_of_the_guide_and_of_llms_txt_is_there() {
    let app = App::spawn().await;
    let texts = [app.get("/guide.md").await.text, app.get("/llms.txt").await.text];
    let mut seen = 0;
    for link in texts.iter().flat_map(|text| text.split("](").skip(1)) {
        let link = link.split(')').next().unwrap();
        let path = link.strip_prefix(&app.base).unwrap_or_else(|| panic!("{link}"));
        let answer = app.get(path).await;
        assert!(answer.status == 200 || path == "/mcp", "{link} is {}", answer.status);
        seen += 1;
    }
    assert!(seen >= 10, "{seen} links");
}

#[tokio::test]
async fn programs_find_what_they_look_for_under_its_well_known_name() {
    let app = App::spawn_with(&[("BASE_URL", "https://consent.example")]).await;
    let security = app.get("/.well-known/security.txt").await;
    assert_eq!(security.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(security.text.contains("Contact: mailto:security@consent.example\n"));
    assert!(security.text.contains("Expires: 2026-09-06T12:00:00.000Z\n"), "{}", security.text);
    assert!(
        security.text.contains("Canonical: https://consent.example/.well-known/security.txt\n")
    );
    let gpc = app.get("/.well-known/gpc.json").await.expect(200);
    assert_eq!(gpc["gpc"], true);
    let day = gpc["lastUpdate"].as_str().unwrap();
    assert!(chrono::NaiveDate::parse_from_str(day, "%Y-%m-%d").is_ok(), "{day}");
    let robots = app.get("/robots.txt").await;
    assert!(robots.text.starts_with("User-agent: *\n") && robots.text.contains("Disallow: /v1/\n"));
    let icon = app.get("/favicon.ico").await;
    assert_eq!((icon.status, icon.header("content-type")), (200, Some("image/svg+xml")));
}
