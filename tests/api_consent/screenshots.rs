//! Screenshots of the popup over HTTP. `tests/watch/screenshots.rs` takes them with a browser.

use assent::infra::Infra;
use assent::policies::screenshots::due::{self, Due, find_popup};
use assent::policies::screenshots::taken::{Picture, store_taken};
use assent::proof::log::Log;
use assent::types::device::Device;
use assent::types::locales;
use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

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
    log.append_pending().await.unwrap();
    let logged = list("?language=de").await.expect(200)["screenshots"][0].clone();
    assert_eq!(logged["list_sha256"], german.list_sha256());
    assert!(logged["log_entry"].is_i64(), "{logged}");
    let public = PublicLog::read(&app.client, &app.base).await.expect("a log");
    assert!(public.has("screenshots", &german.list_sha256()));
    assert!(public.has("screenshots", &english.list_sha256()));
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
    let tables =
        ["popup_forms", "popup_screenshots", "popup_screenshot_files", "popup_screenshots_due"];
    for table in tables {
        assert_eq!(count(&app, table).await, 0, "{table}");
    }
}

async fn take(node: &Infra) -> Option<Due> {
    due::take(&node.pool, &node.clock).await.unwrap()
}

async fn failures(node: &Infra) -> Option<i32> {
    take(node).await.map(|due| due.failures)
}

/// Stores the same picture in each language on each device.
async fn store_all(node: &Infra, due: &Due) -> bool {
    let popup = find_popup(&node.pool, &node.clock, &due.pixel_id).await.unwrap().unwrap();
    let of_locale = |locale| {
        Device::ALL.iter().map(move |&device| Picture { locale, device, png: b"one".to_vec() })
    };
    let pictures = locales::all().flat_map(of_locale).collect::<Vec<_>>();
    store_taken(&node.pool, &node.clock, due, popup.policy, [7; 32], pictures).await.unwrap()
}

fn look(radius: i32) -> Value {
    let usual = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    with(&usual, "appearance", json!({"radius": radius}))
}

#[tokio::test]
async fn an_attempt_is_of_one_node_and_counts_even_if_the_node_dies() {
    let (app, ann, site) = app_with_site().await;
    let node = infra(&app.database, app.clock.clone(), &[]);
    let configure = async |radius| {
        app.configure(&ann.key, &site.pixel_id, look(radius)).await.expect(200);
    };
    assert_eq!(failures(&node).await, Some(0));
    assert_eq!(failures(&node).await, None, "another node has it");
    app.clock.advance(Duration::minutes(10));
    let second = take(&node).await.unwrap();
    assert_eq!(second.failures, 1, "the first node died");
    due::put_back(&node.pool, &node.clock, &second).await.unwrap();
    let third = take(&node).await.unwrap();
    assert_eq!(third.failures, 1, "an end of the service is no failure");
    configure(2).await;
    assert_eq!(failures(&node).await, None, "the pictures of another form are being taken");
    app.clock.advance(Duration::minutes(10));
    let new = take(&node).await.unwrap();
    assert_eq!(new.failures, 0);
    assert!(!store_all(&node, &third).await, "the popup has another form");
    due::try_later(&node.pool, &node.clock, &new).await.unwrap();
    assert_eq!(failures(&node).await, None);
    configure(3).await;
    assert_eq!(failures(&node).await, Some(0), "a new form begins anew");
}

#[tokio::test]
async fn popups_wait_while_the_account_is_suspended_and_after_ten_forms_of_a_day() {
    let (app, ann, site) = app_with_site().await;
    let node = infra(&app.database, app.clock.clone(), &[]);
    app.set_status(&ann.account_id, "suspended").await;
    assert_eq!(failures(&node).await, None);
    app.set_status(&ann.account_id, "active").await;
    for _ in 0..10 {
        app.store_picture(&site.pixel_id, (1, "de", "phone")).await;
        app.clock.advance(Duration::seconds(1));
    }
    assert_eq!(failures(&node).await, None);
    app.clock.advance(Duration::hours(2));
    assert_eq!(failures(&node).await, None);
    app.clock.advance(Duration::hours(23));
    assert_eq!(failures(&node).await, Some(0));
}

#[tokio::test]
async fn a_form_is_one_entry_of_the_log_and_its_equal_pictures_are_stored_once() {
    let (app, ann, site) = app_with_site().await;
    let node = infra(&app.database, app.clock.clone(), &[]);
    let due = take(&node).await.unwrap();
    app.clock.advance(Duration::milliseconds(2_500));
    assert!(store_all(&node, &due).await);
    assert!(take(&node).await.is_none());
    assert_eq!(count(&app, "popup_screenshot_files").await, 1);
    let listed = app.read(&ann.key, &path(&site.pixel_id)).await.expect(200);
    let listed = listed["screenshots"].as_array().unwrap();
    assert_eq!(listed.len(), 2 * locales::all().count());
    let field = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    let line = |one: &Value| {
        ["language", "device", "notice", "sha256"].map(|name| field(one, name)).join(" ")
    };
    let mut lines = listed.iter().map(line).collect::<Vec<_>>();
    lines.sort();
    let text = format!(
        "assent/screenshots/v1\npixel {}\npolicy {}\nscript {}\nconfigured {}\n\
         taken 2026-03-10T12:00:02.500Z\n{}\n",
        site.pixel_id,
        site.policy_hash,
        "07".repeat(32),
        field(&listed[0], "configured_at"),
        lines.join("\n"),
    );
    let sha256 = hex::encode(Sha256::digest(&text));
    for one in listed {
        assert_eq!(
            (&one["list_sha256"], &one["script"]),
            (&json!(sha256), &json!("07".repeat(32)))
        );
    }
    let noted = "SELECT encode(sha256, 'hex') FROM publications WHERE kind LIKE 'screenshot%'";
    let noted = sqlx::query_scalar::<_, String>(noted).fetch_all(&app.pool).await.unwrap();
    assert_eq!(noted, [sha256]);
}

#[tokio::test]
async fn the_newest_forms_and_the_last_form_of_each_version_are_kept() {
    let (app, _, site) = app_with_site().await;
    let node = infra(&app.database, app.clock.clone(), &[]);
    for version in [8, 9, 9].into_iter().chain([1; 12]) {
        app.store_picture(&site.pixel_id, (version, "de", "phone")).await;
        app.clock.advance(Duration::seconds(1));
    }
    app.clock.advance(Duration::hours(25));
    sqlx::query("UPDATE popup_screenshots_due SET configured_at = $1")
        .bind(app.clock.now())
        .execute(&app.pool)
        .await
        .unwrap();
    let due = take(&node).await.unwrap();
    assert!(store_all(&node, &due).await);
    let kept = "SELECT policy_version FROM popup_forms ORDER BY configured_at";
    let kept = sqlx::query_scalar::<_, i32>(kept).fetch_all(&app.pool).await.unwrap();
    assert_eq!(kept, [8, 9].into_iter().chain([1; 10]).collect::<Vec<_>>());
    assert_eq!(count(&app, "popup_screenshot_files").await, 12);
}
