//! Screenshots of the popup over HTTP. `tests/watch/screenshots.rs` takes them with a browser.

use assent::proof::log::Log;
use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::{app_with_site, app_with_site_and};
use crate::support::server::infra;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::public_log::PublicLog;
use crate::support::visitors::with;
use crate::support::{Answer, App};

fn path(pixel_id: &str) -> String {
    format!("/v1/pixels/{pixel_id}/screenshots")
}

fn ids(list: &Value) -> Vec<&str> {
    let screenshots = list["screenshots"].as_array().unwrap().iter();
    screenshots.map(|one| one["screenshot_id"].as_str().unwrap()).collect()
}

async fn count(app: &App, table: &str) -> i64 {
    let statement = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(statement).fetch_one(&app.pool).await.unwrap()
}

#[tokio::test]
async fn pictures_are_listed_newest_first_and_read_as_they_were_taken() {
    let (app, ann, site) = app_with_site_and(&[LOG_KEY]).await;
    let path = path(&site.pixel_id);
    let list = async |query: &str| app.read(&ann.key, &format!("{path}{query}")).await;
    assert_eq!(list("").await.expect(200)["screenshots"], json!([]));
    let german = app.store_picture(&site.pixel_id, (1, "de", "phone")).await;
    app.clock.advance(Duration::seconds(1));
    let english = app.store_picture(&site.pixel_id, (2, "en", "desktop")).await;
    let (first, second) = (german.id.to_string(), english.id.to_string());
    let all = list("").await.expect(200);
    assert_eq!(ids(&all), [&second, &first]);
    assert_eq!(all["next_before"], Value::Null);
    let page = list("?limit=1").await.expect(200);
    assert_eq!((ids(&page), &page["next_before"]), (vec![&*second], &json!(second)));
    let german_ones = list("?language=de").await.expect(200);
    assert_eq!(ids(&german_ones), [&first]);
    let one = &german_ones["screenshots"][0];
    for (field, value) in [
        ("policy_version", json!(1)),
        ("language", json!("de")),
        ("device", json!("phone")),
        ("configured_at", json!("2026-03-10T12:00:00.000Z")),
        ("sha256", json!(german.sha256())),
    ] {
        assert_eq!(one[field], value, "{field}");
    }
    let read = app.request(Method::GET, &format!("{path}/{first}")).bearer_auth(&ann.key);
    let read = read.send().await.unwrap();
    assert_eq!(read.status().as_u16(), 200);
    assert_eq!(read.headers()["content-type"], "image/png");
    assert_eq!(read.bytes().await.unwrap(), german.png);
    for (query, field) in
        [("language=xx", "language"), ("limit=201", "limit"), ("before=x", "before")]
    {
        list(&format!("?{query}")).await.invalid(&["query", field]);
    }
    let log = Log::new(infra(&app.database, app.clock.clone(), &[LOG_KEY]));
    log.seal().await.unwrap();
    let entry = list("?language=de").await.expect(200)["screenshots"][0]["log_entry"].clone();
    assert!(entry.is_i64(), "{entry}");
    let public = PublicLog::read(&app.client, &app.base).await.expect("a log");
    assert!(public.has("screenshot", &german.sha256()));
    assert!(public.has("screenshot", &english.sha256()));
}

#[tokio::test]
async fn another_accounts_pixel_has_no_pictures() {
    let (app, ann, site) = app_with_site().await;
    let picture = app.store_picture(&site.pixel_id, (1, "de", "phone")).await;
    let eve = app.account("eve@example.com").await;
    let eves = app.pixel(&eve.key, "eve.example").await;
    let one = format!("{}/{}", path(&site.pixel_id), picture.id);
    for address in [path(&site.pixel_id), one.clone()] {
        app.read(&eve.key, &address).await.refused(404, "pixel not found");
    }
    let elsewhere = one.replace(&site.pixel_id, &eves);
    app.read(&eve.key, &elsewhere).await.refused(404, "screenshot not found");
    assert_eq!(app.read(&eve.key, &path(&eves)).await.expect(200)["screenshots"], json!([]));
    let unknown = format!("{}/unknown", path(&site.pixel_id));
    app.read(&ann.key, &unknown).await.refused(404, "screenshot not found");
}

#[tokio::test]
async fn a_popup_that_looks_or_says_otherwise_is_due_and_no_other() {
    let (app, ann, site) = app_with_site().await;
    let due = async || count(&app, "popup_screenshots_due").await;
    assert_eq!(due().await, 1);
    let usual = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    let round = json!({"radius": 4});
    for (field, value, is_due) in [
        ("rule_version", Value::Null, 0),
        ("contacts_need_act", json!(true), 0),
        ("appearance", round.clone(), 1),
        ("appearance", round, 0),
        ("share_subdomains", json!(true), 1),
        ("controller_name", json!("Other Ltd"), 1),
    ] {
        // As after its pictures were taken.
        sqlx::query("DELETE FROM popup_screenshots_due").execute(&app.pool).await.unwrap();
        app.turn_off(&ann.key, &site).await.expect(204);
        let body = with(&usual, field, value);
        app.configure(&ann.key, &site.pixel_id, body).await.expect(200);
        assert_eq!(due().await, is_due, "{field}");
    }
    let demo = app.request(Method::POST, "/demo/provision").body("domain=demo.example");
    assert_eq!(Answer::of(demo).await.status, 200);
    assert_eq!(due().await, 1, "a demo tag is not due");
}

#[tokio::test]
async fn pictures_are_deleted_with_their_pixel() {
    let (app, ann, site) = app_with_site().await;
    app.store_picture(&site.pixel_id, (1, "de", "phone")).await;
    let pixel = format!("/v1/pixels/{}", site.pixel_id);
    app.call(Method::DELETE, &pixel, &ann.key, Value::Null).await.expect(204);
    for table in ["popup_screenshots", "popup_screenshots_due"] {
        assert_eq!(count(&app, table).await, 0, "{table}");
    }
}
