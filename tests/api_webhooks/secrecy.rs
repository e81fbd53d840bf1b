//! The signing secret of a webhook is shown once to its creator; afterwards no transport, mail, body or
//! log line contains it.

use assent::clock::Clock;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::process::program;
use crate::support::sites::https_site::{Reply, ca_file};
use crate::support::tools::{call_with, done};
use crate::support::waiting::wait_until;
use crate::support::webhooks::{HOSTS, Hooks};
use crate::support::{Answer, MailServer, Process};

const A: &str = "hooks.example/a";
const CONSOLE: &str = "/console/account/deliveries";

/// Secrets, in every form in which they could show.
#[derive(Default)]
struct Secrets(Vec<String>);

impl Secrets {
    fn keep(&mut self, made: &Value) {
        let secret = made["secret"].as_str().expect("a secret");
        let encoded = secret.strip_prefix("whsec_").expect("its beginning");
        let bytes = BASE64_STANDARD.decode(encoded).expect("base64");
        self.0.extend([encoded.to_owned(), hex::encode(&bytes), format!("{bytes:?}")]);
    }

    #[track_caller]
    fn are_not_in(&self, what: &str, text: &str) {
        assert!(!text.is_empty(), "{what} says nothing");
        assert!(!text.contains("whsec_"), "{what}: {text}");
        for secret in &self.0 {
            assert!(!text.contains(secret.as_str()), "{what}: {text}");
        }
    }
}

/// A webhook with a secret and one before it, and a few deliveries.
async fn scene() -> (Hooks, Secrets, Value) {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::page("ok")).await;
    let path = format!("/v1/webhooks/{}/secret", made["endpoint_id"].as_str().unwrap());
    let rotated = hooks.call(Method::POST, &path, Value::Null).await.expect(200);
    let mut secrets = Secrets::default();
    secrets.keep(&made);
    secrets.keep(&rotated);
    hooks.happen(2).await;
    hooks.settled(&made["endpoint_id"]).await;
    (hooks, secrets, made["endpoint_id"].clone())
}

#[tokio::test]
async fn no_answer_shows_a_secret_again() {
    let (hooks, secrets, id) = scene().await;
    let path = format!("/v1/webhooks/{}", id.as_str().unwrap());
    let asked = [
        (Method::GET, "/v1/webhooks".to_owned(), Value::Null),
        (Method::GET, format!("{path}/deliveries"), Value::Null),
        (Method::PATCH, path.clone(), json!({"events": ["choice.recorded"]})),
        (Method::POST, format!("{path}/test"), Value::Null),
        (Method::POST, format!("{path}/replay"), json!({"since": "2026-03-01T00:00:00Z"})),
        (Method::GET, "/v1/account/events".to_owned(), Value::Null),
        (Method::GET, "/v1/account/export".to_owned(), Value::Null),
        (Method::GET, "/v1/whoami".to_owned(), Value::Null),
    ];
    for (method, path, body) in asked {
        let answer = hooks.call(method, &path, body).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
        secrets.are_not_in(&path, &answer.text);
    }
    let export = hooks.call(Method::GET, "/v1/account/export", Value::Null).await.text;
    assert!(export.contains("https://hooks.example/a"), "the webhook itself is exported");
    for seen in hooks.sent(A) {
        secrets.are_not_in("a delivery", &format!("{}{}", seen.head, seen.body));
    }
    for mail in MailServer::shared().inbox(&hooks.ann.email) {
        secrets.are_not_in("a mail", mail.text());
    }
}

#[tokio::test]
async fn no_tool_shows_a_secret_again() {
    let (hooks, secrets, id) = scene().await;
    let key = format!("Bearer {}", hooks.ann.key);
    let since = "2026-03-01T00:00:00Z";
    for (tool, arguments) in [
        ("list_webhooks", json!({})),
        ("list_webhook_deliveries", json!({"endpoint_id": id})),
        ("change_webhook", json!({"endpoint_id": id, "events": []})),
        ("test_webhook", json!({"endpoint_id": id})),
        ("replay_webhook", json!({"endpoint_id": id, "since": since})),
    ] {
        let headers = [("Authorization", key.as_str())];
        let result = call_with(&hooks.app, &headers, tool, arguments).await;
        done(&result);
        secrets.are_not_in(tool, &result.to_string());
    }
}

#[tokio::test]
async fn no_screen_shows_a_secret_again() {
    let (hooks, secrets, id) = scene().await;
    let mut browser = Browser::new(&hooks.app);
    browser.sign_in(&hooks.ann.email).await;
    let page = format!("{CONSOLE}/{}", id.as_str().unwrap());
    for address in [CONSOLE, &page, &format!("{page}/delete"), "/console/account/events"] {
        let shown = browser.page(address).await;
        secrets.are_not_in(address, &shown);
    }
    // A page that was made by a form cannot be read again by its address.
    let rotated = browser.submit(&page, &format!("{page}/rotate"), &[]).await;
    assert!(rotated.text.contains("whsec_"), "{}", rotated.text);
    assert!(rotated.header("cache-control").unwrap().contains("no-store"));
    let (_, secret) = rotated.text.split_once("whsec_").unwrap();
    let secret = secret.split('<').next().unwrap();
    leads_to(&browser.get(&format!("{page}/rotate")).await, &page);
    assert!(!browser.page(&page).await.contains(secret));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_of_the_log_shows_a_secret_not_even_in_a_search_for_an_error() {
    let hooks = Hooks::with_clock(Clock::System).await;
    let Hooks { app, infra, site, ann, shop } = hooks;
    let database = app.database.clone();
    drop(app);
    wait_until("this node has ended", async || infra.shutdown.has_begun()).await;
    site.answer(A, Reply::page("ok"));
    for format in ["text", "json"] {
        let mut command = program(&database.url);
        command.env("WEBHOOK_RESOLVE", site.resolve(&HOSTS)).env("WEBHOOK_CA_FILE", ca_file());
        command.env("LOG_FORMAT", format).env("RUST_LOG", "trace");
        let service = Process::start(command).await;
        let client = reqwest::Client::new();
        let call = async |method: Method, path: &str, body: Value| {
            let request = client.request(method, service.url(path)).bearer_auth(&ann.key);
            Answer::of(if body.is_null() { request } else { request.json(&body) }).await
        };
        let mut secrets = Secrets::default();
        let body = json!({"url": format!("https://{A}")});
        let made = call(Method::POST, "/v1/webhooks", body).await.expect(201);
        let path = format!("/v1/webhooks/{}", made["endpoint_id"].as_str().unwrap());
        let rotated = call(Method::POST, &format!("{path}/secret"), Value::Null).await.expect(200);
        secrets.keep(&made);
        secrets.keep(&rotated);
        let tried = call(Method::POST, &format!("{path}/test"), Value::Null).await.expect(200);
        assert_eq!(tried["state"], "delivered");
        let before = site.seen().len();
        let choice = shop.acceptance("visitor-1");
        call(Method::POST, "/v1/consent/record", choice).await.expect(202);
        wait_until("the choice is told", async || site.seen().len() > before).await;
        // Once more for the log of a database that refuses what it is sent.
        let statement = "ALTER TABLE webhook_endpoints ADD CHECK (format <> 'slack') NOT VALID";
        sqlx::raw_sql(statement).execute(&database.pool()).await.unwrap();
        let body = json!({"url": format!("https://{A}"), "format": "slack"});
        assert_eq!(call(Method::POST, "/v1/webhooks", body).await.status, 500);
        let log = service.log();
        assert!(log.contains("INSERT INTO webhook_endpoints"), "this is no search");
        secrets.are_not_in(format, &log);
        call(Method::DELETE, &path, Value::Null).await.expect(204);
    }
}

#[tokio::test]
async fn a_read_scope_sees_no_webhook_address_in_full() {
    let hooks = Hooks::start().await;
    for url in [
        "https://hooks.slack.com/services/T000/B000/secret-of-slack",
        "https://discord.com/api/webhooks/1/secret-of-discord",
        "https://hooks.zapier.com/hooks/catch/1/secret-of-zapier/?token=secret-of-zapier",
    ] {
        hooks.call(Method::POST, "/v1/webhooks", json!({"url": url})).await.expect(201);
    }
    let key = hooks.call(Method::POST, "/v1/api-keys", json!({"scope": "read"})).await.expect(201);
    let key = key["api_key"].as_str().unwrap();
    let read = hooks.app.call(Method::GET, "/v1/webhooks", key, Value::Null).await;
    let urls = read.expect(200)["webhooks"].as_array().unwrap().clone();
    // Created at the same moment of the tests' clock, so their order is undefined.
    let mut urls = urls.iter().map(|webhook| webhook["url"].as_str().unwrap()).collect::<Vec<_>>();
    urls.sort_unstable();
    let hosts =
        ["https://discord.com/…", "https://hooks.slack.com/…", "https://hooks.zapier.com/…"];
    assert_eq!(urls, hosts);
    let tool = call_with(&hooks.app, &[], "list_webhooks", json!({"api_key": key})).await;
    assert_eq!(done(&tool)["webhooks"], read.json()["webhooks"]);
    let all = hooks.call(Method::GET, "/v1/webhooks", Value::Null).await;
    assert!(all.text.contains("secret-of-slack"), "{}", all.text);

    let reader = crate::support::fresh_address("reader");
    let insert = "INSERT INTO members (member_id, account_id, email, role, created_at)
        VALUES (gen_random_uuid(), $1, $2, 'read', $3)";
    let insert = sqlx::query(insert).bind(&hooks.ann.account_id).bind(&reader);
    insert.bind(hooks.app.clock.now()).execute(&hooks.app.pool).await.unwrap();
    let mut browser = Browser::new(&hooks.app);
    browser.sign_in(&reader).await;
    let page = browser.page(CONSOLE).await;
    assert!(page.contains("hooks.slack.com") && !page.contains("secret-of"), "{page}");
    let first = page.split("href=\"/console/account/deliveries/").nth(1).unwrap();
    let first = format!("{CONSOLE}/{}", first.split('"').next().unwrap());
    assert!(!browser.page(&first).await.contains("secret-of"));
}
