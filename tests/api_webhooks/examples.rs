//! Every kind of event arrives at a real server with the body that the description shows, and fits the
//! schema that it names.
//!
//! The examples are written by `UPDATE_SNAPSHOTS=1 scripts/with-postgres cargo test --test api_webhooks
//! examples::`. What is made anew each time is compared by its position only.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use chrono::Duration;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::sites::install::check;
use crate::support::story::Site;
use crate::support::waiting::wait_until;
use crate::support::watch_reports::ReportMade;
use crate::support::{Account, App};

const FILE: &str = "src/web/docs/webhooks.json";
const BASE: &str = "https://assent.example";
const HOSTS: [&str; 2] = ["hooks.example", "shop.example"];
const PAGE: &str = "hooks.example/";
/// The SHA-256 of mara.lindqvist@example.com.
const MARA: &str = "66e53c17c167e9a90949e8119aaf6a9d579210ff74f3b70d2421eda408b1084d";
/// Fields whose values nobody can know before.
const MADE_ANEW: [&str; 6] =
    ["account_id", "pixel_id", "receipt_id", "report_id", "request_id", "signature"];

/// A shop whose endpoint receives all events.
struct Scene {
    app: App,
    site: HttpsSite,
    ann: Account,
    shop: Site,
}

impl Scene {
    async fn new() -> Self {
        let site = HttpsSite::start(&HOSTS).await;
        let resolve = site.resolve(&HOSTS);
        let settings = [
            ("WEBHOOK_RESOLVE", resolve.as_str()),
            ("WEBHOOK_CA_FILE", ca_file()),
            ("INSTALL_CHECK_RESOLVE", resolve.as_str()),
            ("INSTALL_CHECK_CA_FILE", ca_file()),
        ];
        let app = App::spawn_with(&settings).await;
        let ann = app.account("ann@shop.example").await;
        let shop = app.consent_site(&ann.key, "shop.example").await;
        site.answer(PAGE, Reply::Whole(204, String::new(), Vec::new()));
        let scene = Self { app, site, ann, shop };
        let endpoint = json!({"url": format!("https://{PAGE}")});
        scene.call(Method::POST, "/v1/webhooks", endpoint).await;
        scene
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.app.call(method, path, &self.ann.key, body).await;
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text);
        serde_json::from_str(&answer.text).unwrap_or_default()
    }

    /// One of everything happens.
    async fn everything_happens(&self) {
        let pixel = &self.shop.pixel_id;
        self.app.reconfigured(&self.ann.key, &self.shop, "Shop Ltd, Gothenburg").await;
        let minute = Duration::minutes(1);
        self.app.clock.advance(minute);
        let mut choice = self.shop.acceptance("visitor-1");
        let current = self.app.receipt(pixel, "visitor-1").await.text;
        assert!(!current.contains("accepted"), "nobody has chosen yet");
        let published =
            self.call(Method::GET, &self.shop.path("/configuration"), Value::Null).await;
        choice["policy_version_hash"] = published["versions"][0]["policy_hash"].clone();
        self.app.recorded(&choice).await;
        let contact = json!({
            "first_name": "Mara", "last_name": "Lindqvist", "email": "mara.lindqvist@example.com",
        });
        let item = json!({"hem": MARA, "visitor_id": "visitor-1", "contact": contact});
        for _ in 0..2 {
            self.app.clock.advance(minute);
            self.app.store(&self.ann.key, pixel, json!([item])).await.expect(200);
        }
        let request = json!({"pixel_id": pixel, "visitor_id": "visitor-1"});
        self.app.post("/v1/consent/erasure-requests", request).await.expect(202);
        let reports = format!("/v1/pixels/{pixel}/watch-reports");
        let made = || ReportMade::of("shop.example");
        let silent = made().at("2026-03-02T00:00:00.000Z");
        for report in [made().leaking_to("tracker.example"), silent] {
            self.call(Method::POST, &reports, report.body()).await;
        }
        let tag = format!("<script async src=\"{}/px/{pixel}.js\"></script>", self.app.base);
        self.site.answer("shop.example/", Reply::page(tag));
        check(&self.app, &self.ann.key, pixel).await.expect(200);
        sqlx::query("UPDATE contact_usage SET stored = 399").execute(&self.app.pool).await.unwrap();
        self.app.store_people(&self.ann.key, pixel, 2..3).await.expect(200);
        // All other events must be sent before the withdrawal: none of a person who withdrew is sent afterwards.
        self.arrived(10).await;
        self.app.clock.advance(minute);
        self.app.recorded(&self.shop.refusal("visitor-1", "withdrawn")).await;
        self.arrived(12).await;
    }

    async fn arrived(&self, count: usize) {
        let came = async || self.bodies().len() >= count;
        wait_until(&format!("{count} events"), came).await;
    }

    fn bodies(&self) -> Vec<Value> {
        let seen = self.site.seen().into_iter().filter(|seen| seen.page == PAGE);
        seen.map(|seen| serde_json::from_str(&seen.body).expect(&seen.body)).collect()
    }
}

/// The values in the examples that stand for generated ones.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    fn learn(&mut self, field: &str, real: &Value, shown: &Value) {
        match (real, shown) {
            (Value::Object(fields), _) => {
                fields.iter().for_each(|(name, value)| self.learn(name, value, &shown[name]));
            }
            (Value::Array(items), _) => {
                let items = items.iter().enumerate();
                items.for_each(|(index, item)| self.learn(field, item, &shown[index]));
            }
            (Value::String(real), Value::String(shown)) if MADE_ANEW.contains(&field) => {
                self.0.insert(real.clone(), shown.clone());
            }
            _ => {}
        }
    }

    fn shown(&self, real: &Value, base: &str) -> Value {
        let text = real.to_string().replace(base, BASE);
        let text = self.0.iter().fold(text, |text, (real, shown)| text.replace(real, shown));
        serde_json::from_str(&text).unwrap()
    }
}

/// Fails unless every body fits the schema of its kind in the description.
fn fits(document: &Value, bodies: &[Value]) {
    const PROGRAM: &str = r##"
import json, sys
from jsonschema import Draft202012Validator
given = json.load(sys.stdin)
for body in given["bodies"]:
    content = given["document"]["webhooks"][body["type"]]["post"]["requestBody"]["content"]
    schema = {**content["application/json"]["schema"], "components": given["document"]["components"]}
    for error in Draft202012Validator(schema).iter_errors(body):
        sys.exit(f"{body['type']}: {error.json_path}: {error.message}")
"##;
    let python = std::env::var("TEST_PYTHON").unwrap_or("python3".to_owned());
    let mut program = Command::new(python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let given = json!({"document": document, "bodies": bodies}).to_string();
    program.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn every_kind_of_event_arrives_as_it_is_described() {
    let scene = Scene::new().await;
    scene.everything_happens().await;
    let bodies = scene.bodies();
    let mut first = Map::new();
    for body in &bodies {
        first.entry(body["type"].as_str().unwrap()).or_insert(body.clone());
    }
    let pinned = std::fs::read_to_string(FILE).unwrap_or_default();
    let pinned = serde_json::from_str::<Value>(&pinned).unwrap_or_default();
    let mut names = Names::default();
    names.learn("", &Value::Object(first.clone()), &pinned);
    let shown = names.shown(&Value::Object(first.clone()), &scene.app.base);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(FILE, format!("{shown:#}\n")).unwrap();
    }
    let pinned = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(pinned == format!("{shown:#}\n"), "{FILE} says otherwise: {shown:#}");

    let document = scene.app.get("/openapi.json").await.expect(200);
    let described = document["webhooks"].as_object().expect("webhooks");
    assert_eq!(described.keys().collect::<Vec<_>>(), first.keys().collect::<Vec<_>>());
    fits(&document, &bodies);
    let example = |webhook: &Value| {
        webhook["post"]["requestBody"]["content"]["application/json"]["example"].clone()
    };
    fits(&document, &described.values().map(example).collect::<Vec<_>>());
}
