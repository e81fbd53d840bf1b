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
use crate::support::{Answer, App};

pub const VISITOR: &str = "visitor-of-a-test";

pub fn test_id(site: &Site) -> String {
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

pub async fn test_receipts(app: &App) -> i64 {
    let rows = sqlx::query_scalar("SELECT count(*) FROM test_receipts");
    rows.fetch_one(&app.pool).await.unwrap()
}

/// The tables with a row that has one of these texts.
pub async fn tables_with(app: &App, texts: &[&str]) -> Vec<String> {
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
pub async fn hooks() -> (Hooks, Value) {
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
