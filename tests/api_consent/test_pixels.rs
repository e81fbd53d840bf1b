//! Choices under the test id of a pixel: they are recorded and checked like any other, and found nowhere else.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::contacts::{bound, person};
use crate::support::sites::https_site::Reply;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::{choice, with};
use crate::support::waiting::wait_until;
use crate::support::webhooks::Hooks;
use crate::support::{Account, Answer, App, tools};

const VISITOR: &str = "visitor-of-a-test";

fn test_id(site: &Site) -> String {
    format!("test_{}", site.pixel_id)
}

/// A choice on a page of a developer's machine.
pub fn tried(site: &Site, body: &Value) -> Value {
    with(&with(body, "pixel_id", json!(test_id(site))), "url", json!("http://localhost:3000/cart"))
}

fn tried_acceptance(site: &Site, visitor: &str) -> Value {
    tried(site, &site.acceptance(visitor))
}

async fn history(app: &App, pixel: &str, visitor: &str) -> Value {
    let body = json!({"pixel_id": pixel, "visitor_id": visitor});
    app.post("/v1/consent/history", body).await.expect(200)
}

async fn test_receipts(app: &App) -> i64 {
    let rows = sqlx::query_scalar("SELECT count(*) FROM test_receipts");
    rows.fetch_one(&app.pool).await.unwrap()
}

/// The tables with a row that has one of these texts.
async fn tables_with(app: &App, texts: &[&str]) -> Vec<String> {
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    let tables = sqlx::query_scalar::<_, String>(tables).fetch_all(&app.pool).await.unwrap();
    let mut found = Vec::new();
    for table in tables {
        let rows = format!("SELECT t::text FROM \"{table}\" AS t");
        let rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(rows));
        let rows = rows.fetch_all(&app.pool).await.unwrap();
        if rows.iter().any(|row| texts.iter().any(|text| row.contains(text))) {
            found.push(table);
        }
    }
    found
}

/// A site with a webhook and a public log, one real choice and test choices of two visitors.
async fn hooks() -> (Hooks, Value) {
    let hooks = Hooks::start_with(&[LOG_KEY]).await;
    hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    hooks.app.recorded(&hooks.shop.acceptance("real-visitor")).await;
    hooks.arrived("hooks.example/a", 1).await;
    let tested = hooks.app.recorded(&tried_acceptance(&hooks.shop, VISITOR)).await;
    let refusal = tried(&hooks.shop, &hooks.shop.refusal("real-visitor", "declined"));
    hooks.app.recorded(&refusal).await;
    (hooks, tested)
}

#[tokio::test]
async fn a_test_choice_is_in_one_table_whatever_else_happens_to_choices() {
    let (hooks, tested) = hooks().await;
    let app = &hooks.app;
    app.some_rounds().await;
    let receipt_id = tested["receipt_id"].as_str().unwrap();
    assert_eq!(tables_with(app, &[VISITOR, receipt_id]).await, ["test_receipts"]);
    assert_eq!(test_receipts(app).await, 2);
    // One leaf and one event: those of the real choice.
    let leaves = sqlx::query_scalar::<_, String>("SELECT pixel_id FROM log_leaves");
    assert_eq!(leaves.fetch_all(&app.pool).await.unwrap(), [&*hooks.shop.pixel_id]);
    assert_eq!(hooks.sent("hooks.example/a").len(), 1);
}

/// Ids that a reader may be given: of a test choice, or of nobody.
struct Asked<'a> {
    visitor_id: &'a str,
    receipt_id: &'a str,
}

const NOBODY: Asked<'_> =
    Asked { visitor_id: "visitor-of-no-test", receipt_id: "018f5a3c-0000-7000-8000-000000000000" };

impl Asked<'_> {
    fn is_in(&self, text: &str) -> bool {
        text.contains(self.visitor_id) || text.contains(self.receipt_id)
    }

    /// The text as it would be about nobody.
    fn hidden_in(&self, text: &str) -> String {
        text.replace(self.visitor_id, NOBODY.visitor_id).replace(self.receipt_id, NOBODY.receipt_id)
    }
}

/// Fails if an answer has an id of the test choice, unless it only repeats what was asked: the same
/// question about nobody then has the same answer.
async fn is_silent(
    what: &str,
    asked: &Asked<'_>,
    answer: &Answer,
    nobody: impl Future<Output = Answer>,
) {
    if asked.is_in(&answer.text) {
        let nobody = nobody.await;
        assert_eq!(answer.status, nobody.status, "{what}");
        assert_eq!(asked.hidden_in(&answer.lasting_text()), nobody.lasting_text(), "{what}");
    }
}

/// The addresses of all `GET` routes, with values in the place of their parameters.
async fn readers(app: &App, ann: &Account, site: &Site, asked: &Asked<'_>) -> Vec<String> {
    let described = app.get("/openapi.json").await.json();
    let paths = described["paths"].as_object().unwrap();
    let Asked { visitor_id, receipt_id } = asked;
    let mut addresses = Vec::new();
    for (path, operations) in paths {
        // Files of the log are named by numbers, and the links of mails are used once.
        let is_read = operations.get("get").is_some();
        if !is_read || path.starts_with("/log/") || path.starts_with("/v1/email/") {
            continue;
        }
        let path = path
            .replace("{pixel_id}", &site.pixel_id)
            .replace("{pixel}", &site.pixel_id)
            .replace("{account_id}", &ann.account_id)
            .replace("{visitor_id}", visitor_id)
            .replace("{action}", "viewed_product");
        let query = format!(
            "pixel_id={}&visitor_id={visitor_id}&receipt_id={receipt_id}&after=0",
            site.pixel_id
        );
        addresses.push(path.clone());
        addresses.push(format!("{path}?{query}"));
        addresses.push(format!("{path}?format=dpv"));
        addresses.push(format!("{path}?format=csv"));
    }
    assert!(addresses.len() > 200, "the routes were found");
    addresses
}

#[tokio::test]
async fn no_route_reads_a_test_choice_under_the_pixels_own_id() {
    let (hooks, tested) = hooks().await;
    let (app, ann, site) = (&hooks.app, &hooks.ann, &hooks.shop);
    let receipt_id = tested["receipt_id"].as_str().unwrap();
    let asked = Asked { visitor_id: VISITOR, receipt_id };
    let of_test = readers(app, ann, site, &asked).await;
    for (address, about_nobody) in of_test.iter().zip(readers(app, ann, site, &NOBODY).await) {
        let get = async |address: &str| app.call(Method::GET, address, &ann.key, Value::Null).await;
        is_silent(address, &asked, &get(address).await, get(&about_nobody)).await;
    }
    // What is read with a body.
    let receipts = |asked: &Asked<'_>| {
        [
            (
                "/v1/consent/history",
                json!({"pixel_id": site.pixel_id, "visitor_id": asked.visitor_id}),
            ),
            (
                "/v1/consent/erasure-requests/history",
                json!({"pixel_id": site.pixel_id, "visitor_id": asked.visitor_id}),
            ),
        ]
    };
    for ((path, body), (_, about_nobody)) in receipts(&asked).into_iter().zip(receipts(&NOBODY)) {
        let answer = app.post(path, body).await;
        is_silent(path, &asked, &answer, app.post(path, about_nobody)).await;
    }
}

#[tokio::test]
async fn no_tool_reads_a_test_choice_under_the_pixels_own_id() {
    let (hooks, tested) = hooks().await;
    let (app, ann, site) = (&hooks.app, &hooks.ann, &hooks.shop);
    let receipt_id = tested["receipt_id"].as_str().unwrap();
    let asked = Asked { visitor_id: VISITOR, receipt_id };
    let mut called = 0;
    for tool in tools::list(app, "/mcp/x/all", Some(&ann.key)).await {
        if tool["annotations"]["readOnlyHint"] != true {
            continue;
        }
        let name = tool["name"].as_str().unwrap();
        let known = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let call = async |asked: &Asked<'_>| {
            let values = [
                ("pixel_id", json!(site.pixel_id)),
                ("account_id", json!(ann.account_id)),
                ("visitor_id", json!(asked.visitor_id)),
                ("receipt_id", json!(asked.receipt_id)),
            ];
            let given = values.into_iter().filter(|(name, _)| known.contains_key(*name));
            let arguments = given.map(|(name, value)| (name.to_owned(), value)).collect::<Value>();
            let message = json!({"name": name, "arguments": arguments});
            let request = tools::post_to(app, "/mcp/x/all").bearer_auth(&ann.key);
            Answer::of(request.json(&tools::message("tools/call", message))).await
        };
        is_silent(name, &asked, &call(&asked).await, call(&NOBODY)).await;
        called += 1;
    }
    assert!(called > 20, "the tools were found: {called}");
}

#[tokio::test]
async fn logs_counts_exports_and_proofs_tell_of_the_real_choice_alone() {
    let (hooks, tested) = hooks().await;
    let (app, ann, site) = (&hooks.app, &hooks.ann, &hooks.shop);
    let base = format!("/v1/pixels/{}", site.pixel_id);
    let read = async |path: &str| app.read(&ann.key, path).await;
    assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 1);
    assert_eq!(app.export(&ann.key, site).await.len(), 2, "the choice, and its policy");
    let stats = read(&format!("{base}/consent/stats")).await.expect(200);
    assert_eq!(
        (&stats["totals"]["accepted"], &stats["totals"]["declined"]),
        (&json!(1), &json!(0))
    );
    let table = read(&format!("{base}/consent?format=csv")).await;
    assert!(!table.text.contains(VISITOR), "{}", table.text);
    let whole = read("/v1/account/export").await;
    assert!(whole.text.contains("real-visitor") && !whole.text.contains(VISITOR));
    assert!(!whole.text.contains("http://localhost:3000"), "{}", whole.text);
    // The log of the test id is nobody's.
    for rest in ["", "/consent", "/consent/stats", "/consent/export", "/contacts?after=0"] {
        let path = format!("/v1/pixels/{}{rest}", test_id(site));
        app.call(Method::GET, &path, &ann.key, Value::Null).await.refused(404, "pixel not found");
    }
    let proof = format!(
        "/v1/consent/proof?pixel_id={}&visitor_id={VISITOR}&receipt_id={}",
        test_id(site),
        tested["receipt_id"].as_str().unwrap()
    );
    assert_eq!(app.get(&proof).await.status, 404);
    // A popup that is shown under the test id is not counted.
    let shown =
        json!({"pixel_id": test_id(site), "visitor_id": VISITOR, "url": "http://localhost/"});
    assert_eq!(app.post("/v1/consent/shown", shown).await.status, 204);
    assert_eq!(tables_with(app, &[VISITOR]).await, ["test_receipts"]);
}

#[tokio::test]
async fn check_receipt_and_history_know_each_choice_under_one_id() {
    let (hooks, tested) = hooks().await;
    let (app, site) = (&hooks.app, &hooks.shop);
    let (real, test) = (site.pixel_id.as_str(), &*test_id(site));
    assert_eq!(tested["receipt"]["pixel_id"], test);
    assert_eq!(tested["receipt"]["origin"], "http://localhost:3000");
    // The same visitor accepted on the site, and declined in the test.
    for (pixel, visitor, reason) in [
        (test, VISITOR, "ok"),
        (real, VISITOR, "no_consent_record"),
        (real, "real-visitor", "ok"),
        (test, "real-visitor", "declined_or_withdrawn"),
        (test, "nobody", "no_consent_record"),
        ("test_unknown", VISITOR, "no_consent_record"),
        (&*format!("test_{test}"), VISITOR, "no_consent_record"),
    ] {
        let check = app.check(pixel, visitor).await;
        assert_eq!(check["reason"], reason, "{pixel} {visitor}");
        let receipt = app.receipt(pixel, visitor).await;
        let history = history(app, pixel, visitor).await;
        assert_eq!(history["reason"], reason, "{pixel} {visitor}");
        if reason == "no_consent_record" {
            assert_eq!(receipt.status, 404, "{pixel} {visitor}");
            assert_eq!(history["receipts"], json!([]));
            continue;
        }
        let receipt = receipt.expect(200);
        assert_eq!(
            (&receipt["valid"], &receipt["receipt"]["pixel_id"]),
            (&json!(true), &json!(pixel))
        );
        assert_eq!(history["receipts"].as_array().unwrap().len(), 1);
        assert_eq!(history["receipts"][0]["receipt"], receipt["receipt"]);
        let host = if pixel == test { "localhost" } else { "shop.example" };
        assert_eq!(history["site"], host);
        let notice = history["receipts"][0]["policy_url"].as_str().unwrap();
        assert_eq!(app.get(notice.strip_prefix(&app.base).unwrap()).await.status, 200);
    }
    assert!(app.verifies(&tested["receipt"], tested["signature"].as_str().unwrap()).await);
    // Withdrawn on the visitor's own page, which names the page's host.
    let refusal =
        with(&tried(site, &site.refusal(VISITOR, "withdrawn")), "url", json!("https://localhost/"));
    let request = app.request(Method::POST, "/v1/consent/record").header("origin", &app.base);
    Answer::of(request.json(&refusal)).await.expect(202);
    assert_eq!(app.check(test, VISITOR).await["reason"], "declined_or_withdrawn");
    hooks.call(Method::DELETE, &site.path(""), Value::Null).await.expect(204);
    assert_eq!(app.check(test, VISITOR).await["reason"], "consent_off");
}

#[tokio::test]
async fn the_rules_of_choices_hold_for_tests() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let yes = tried_acceptance(&site, "v1");
    for (field, value) in [
        ("affirmative", json!(false)),
        ("policy_version_hash", json!("0".repeat(64))),
        ("purposes", json!(["newsletter"])),
        ("gpc", json!(true)),
    ] {
        assert_eq!(app.record(&with(&yes, field, value)).await.status, 204, "{field}");
    }
    let gpc = app.request(Method::POST, "/v1/consent/record").header("sec-gpc", "1").json(&yes);
    assert_eq!(Answer::of(gpc).await.status, 204);
    assert_eq!(test_receipts(&app).await, 0);
    // A repeated choice has one receipt, also where a real one has its id.
    let named = with(&yes, "choice_id", choice(1));
    let real = app.recorded(&with(&site.acceptance("v1"), "choice_id", choice(1))).await;
    let first = app.recorded(&named).await;
    assert_eq!(app.recorded(&named).await["receipt"], first["receipt"]);
    assert_ne!(first["receipt_id"], real["receipt_id"]);
    assert_eq!(test_receipts(&app).await, 1);
    // An account on hold, and a popup that is off.
    app.turn_consent_off(&site.pixel_id).await;
    app.clock.advance(Duration::seconds(5));
    wait_until("the popup is off", async || app.record(&yes).await.status == 204).await;
    assert_eq!(app.get(&format!("/px/{}.js", test_id(&site))).await.status, 404);
}

#[tokio::test]
async fn test_choices_are_deleted_after_seven_days_and_real_ones_stay() {
    let (hooks, _) = hooks().await;
    let app = &hooks.app;
    app.clock.advance(Duration::days(7) - Duration::minutes(1));
    app.recorded(&tried_acceptance(&hooks.shop, "later")).await;
    // The hourly job may have run since the last advance.
    app.clock.advance(Duration::hours(2));
    wait_until("the older two are deleted", async || test_receipts(app).await == 1).await;
    assert_eq!(app.check(&test_id(&hooks.shop), "later").await["reason"], "ok");
    assert_eq!(app.check(&hooks.shop.pixel_id, "real-visitor").await["reason"], "ok");
}

#[tokio::test]
async fn the_newest_thousand_test_choices_are_kept() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    app.recorded(&tried_acceptance(&site, "first")).await;
    sqlx::query(
        "INSERT INTO test_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature)
         SELECT pixel_id, receipt_id, n::text, origin, consent_state, policy_hash, purposes,
             recorded_at, signature
         FROM test_receipts CROSS JOIN generate_series(1, 999) AS n",
    )
    .execute(&app.pool)
    .await
    .unwrap();
    app.recorded(&tried_acceptance(&site, "last")).await;
    assert_eq!(test_receipts(&app).await, 1_000);
    assert_eq!(app.check(&test_id(&site), "first").await["reason"], "no_consent_record");
    assert_eq!(app.check(&test_id(&site), "last").await["reason"], "ok");
}

#[tokio::test]
async fn erasing_deletes_test_choices_too() {
    let (hooks, _) = hooks().await;
    let (app, site) = (&hooks.app, &hooks.shop);
    app.recorded(&tried_acceptance(site, "asks")).await;
    let path = format!("/v1/pixels/{}/visitors/{VISITOR}", site.pixel_id);
    let erased = hooks.call(Method::DELETE, &path, Value::Null).await.expect(200);
    assert_eq!(erased["erased"]["receipts"], 0, "they are no receipts of the pixel");
    assert_eq!(tables_with(app, &[VISITOR]).await, [""; 0]);
    // A request from the visitor's page is carried out at once: nobody else has the data.
    let asked = json!({"pixel_id": test_id(site), "visitor_id": "asks"});
    app.post("/v1/consent/erasure-requests", asked).await.expect(202);
    assert_eq!(tables_with(app, &["asks"]).await, [""; 0]);
    assert_eq!(test_receipts(app).await, 1);
    let pixel = format!("/v1/pixels/{}", site.pixel_id);
    hooks.call(Method::DELETE, &pixel, Value::Null).await;
    assert_eq!(test_receipts(app).await, 0);
    let gone = app.check(&test_id(site), "real-visitor").await;
    assert_eq!(gone["reason"], "no_consent_record");
    assert_eq!(app.record(&tried_acceptance(site, VISITOR)).await.status, 204);
    assert_eq!(app.check(&site.pixel_id, "real-visitor").await["reason"], "consent_off");
}

#[tokio::test]
async fn deleting_the_account_deletes_test_choices_and_hosts() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let hosts = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"],
        "test_hosts": ["staging.shop.example"]});
    app.configure(&ann.key, &site.pixel_id, hosts).await.expect(200);
    app.recorded(&tried_acceptance(&site, VISITOR)).await;
    sqlx::query("DELETE FROM accounts WHERE account_id = $1")
        .bind(&ann.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
    assert_eq!(test_receipts(&app).await, 0);
    assert_eq!(tables_with(&app, &["staging.shop.example"]).await, [""; 0]);
}

#[tokio::test]
async fn nobody_is_stored_for_a_test_pixel() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let site = app.consent_site(&ann.key, "shop.example").await;
    app.recorded(&tried_acceptance(&site, VISITOR)).await;
    let items = json!([person(1), bound(2, VISITOR), {"hem": "", "contact": null}]);
    let stored = app.store(&ann.key, &test_id(&site), items.clone()).await.expect(200);
    let refused =
        json!([{"index": 0, "reason": "test_pixel"}, {"index": 1, "reason": "test_pixel"}]);
    let expected = json!({"pixel_id": test_id(&site), "stored": 0, "refused": refused});
    assert_eq!(stored, expected);
    app.store(&eve.key, &test_id(&site), items).await.refused(404, "pixel not found");
    // A permission of a test permits nothing on the site.
    let stored = app.store(&ann.key, &site.pixel_id, json!([bound(2, VISITOR)])).await.expect(200);
    assert_eq!(stored["refused"], json!([{"index": 0, "reason": "no_consent_record"}]));
    let whoami = app.read(&ann.key, "/v1/whoami").await.expect(200);
    assert!(!whoami.to_string().contains("\"contacts_used\":1"), "{whoami}");
    let contacts = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM contacts");
    assert_eq!(contacts.fetch_one(&app.pool).await.unwrap(), 0);
}
