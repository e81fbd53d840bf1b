//! Pictures of the popup in the console and in the evidence of a choice.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::{app_with_site, app_with_site_and};
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::with;
use crate::support::waiting::wait_until;
use crate::support::{Account, App};

#[tokio::test]
async fn a_screen_shows_the_forms_of_the_popup_in_one_language() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let popup = format!("/console/sites/{}/popup", site.pixel_id);
    let address = format!("{popup}/screenshots");
    let versions = browser.page(&format!("{popup}/versions")).await;
    assert!(versions.contains(&format!("href=\"{address}\"")), "{versions}");
    let empty = browser.page(&address).await;
    assert!(empty.contains("No screenshots yet"), "{empty}");
    let waits = "The current version has no screenshots yet.";
    assert!(empty.contains(waits), "{empty}");
    sqlx::query("DELETE FROM popup_screenshots_due").execute(&app.pool).await.unwrap();
    assert!(!browser.page(&address).await.contains(waits));
    let old = app.store_picture(&site.pixel_id, (1, "de", "phone")).await;
    app.clock.advance(Duration::hours(1));
    let new = app.store_picture(&site.pixel_id, (2, "de", "phone")).await;
    let other = app.store_picture(&site.pixel_id, (2, "en", "phone")).await;
    let page = browser.page(&format!("{address}?language=de")).await;
    let offset_of = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    assert!(
        offset_of("Version 2, since 10 March 2026, 13:00") < offset_of("Version 1, since 10 March")
    );
    for picture in [&old, &new] {
        offset_of(&format!("src=\"{address}/{}\"", picture.id));
        offset_of(&picture.sha256());
        offset_of(&picture.list_sha256());
    }
    assert!(!page.contains(&other.sha256()), "{page}");
    assert!(browser.page(&address).await.contains(&other.sha256()), "English at first");

    let shown = browser.request(Method::GET, &format!("{address}/{}", old.id)).send().await;
    let shown = shown.unwrap();
    assert_eq!(shown.headers()["content-type"], "image/png");
    assert_eq!(shown.bytes().await.unwrap(), old.png);
    assert_eq!(browser.get(&format!("{address}/unknown")).await.status, 404);
    let eve = app.account("eve@example.com").await;
    let mut stranger = app.browser_of(&eve.key).await;
    for address in [address.clone(), format!("{address}/{}", old.id)] {
        assert_eq!(stranger.get(&address).await.status, 404, "{address}");
    }
}

fn unzipped(bytes: Vec<u8>) -> HashMap<String, Vec<u8>> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).expect("a ZIP");
    let names = zip.file_names().map(|name| name.unwrap().into_owned()).collect::<Vec<_>>();
    let read = |name: String| {
        let mut content = Vec::new();
        zip.by_name(&name).unwrap().read_to_end(&mut content).unwrap();
        (name, content)
    };
    names.into_iter().map(read).collect()
}

/// The files of the evidence of a choice.
async fn evidence(
    app: &App,
    ann: &Account,
    site: &Site,
    saved: &Value,
) -> HashMap<String, Vec<u8>> {
    let browser = app.browser_of(&ann.key).await;
    let receipt_id = saved["receipt_id"].as_str().unwrap();
    let path = format!("/console/sites/{}/choices/{receipt_id}/evidence.zip", site.pixel_id);
    let answer = browser.request(Method::GET, &path).send().await.unwrap();
    unzipped(answer.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn evidence_contains_the_popup_as_it_was_in_the_visitors_language() {
    let (app, ann, site) = app_with_site_and(&[LOG_KEY]).await;
    let store = async |language: &str, device: &str| {
        app.store_picture(&site.pixel_id, (1, language, device)).await
    };
    store("de", "phone").await;
    app.clock.advance(Duration::minutes(1));
    let (phone, desktop) = (store("de", "phone").await, store("de", "desktop").await);
    store("en", "phone").await;
    app.clock.advance(Duration::minutes(1));
    let build = sqlx::query_scalar::<_, String>("SELECT build FROM script_builds");
    let build = build.fetch_one(&app.pool).await.unwrap();
    let shown = json!({"language": "de", "script": build, "act": "pointer", "seen": "longer"});
    let saved = app.recorded(&with(&site.acceptance("v-1"), "shown", shown)).await;
    app.clock.advance(Duration::minutes(1));
    store("de", "phone").await;
    app.proof(&site, "v-1").await;
    let list = format!("/v1/pixels/{}/screenshots", site.pixel_id);
    let logged = async || {
        let list = app.read(&ann.key, &list).await.expect(200);
        list["screenshots"].as_array().unwrap().iter().all(|one| one["log_entry"].is_i64())
    };
    wait_until("the pictures are in the log", logged).await;
    let files = evidence(&app, &ann, &site, &saved).await;
    assert_eq!(files.len(), 10, "{:?}", files.keys());
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    assert_eq!(text("screenshots.txt"), phone.list);
    let proof = serde_json::from_str::<Value>(&text("screenshots.json")).unwrap();
    let entry = proof["entry"].as_str().unwrap();
    let wanted = format!("kind screenshots\nsha256 {}\n", phone.list_sha256());
    assert!(entry.contains(&wanted), "{entry}");
    assert!(proof["tlog_proof"].as_str().unwrap().starts_with("c2sp.org/tlog-proof@v1"));
    assert!(text("evidence.html").contains("with another build of the tag"));
    assert!(text("evidence.html").contains(&phone.list_sha256()));
    for (picture, device) in [(&desktop, "desktop"), (&phone, "phone")] {
        let (name, sha256) = (format!("popup-{device}.png"), picture.sha256());
        assert_eq!(files[&name], picture.png, "{name}");
        for page in ["evidence.html", "README.txt"] {
            assert!(text(page).contains(&name), "{name}: {}", text(page));
        }
        assert!(text("evidence.html").contains(&sha256));
    }
    assert!(text("evidence.html").contains("10 March 2026, 12:01"), "{}", text("evidence.html"));
}

#[tokio::test]
async fn evidence_has_no_picture_of_a_popup_that_was_perhaps_not_shown() {
    let (app, ann, site) = app_with_site().await;
    app.store_picture(&site.pixel_id, (1, "en", "phone")).await;
    app.store_picture(&site.pixel_id, (1, "de", "phone")).await;
    app.clock.advance(Duration::minutes(1));
    let reported = |body: Value, act: Value, seen: Value| {
        with(&body, "shown", json!({"language": "de", "act": act, "seen": seen}))
    };
    let shown = |body: Value, act: &str| reported(body, json!(act), json!("under_5s"));
    let has_pictures = async |body: Value| {
        let saved = app.recorded(&body).await;
        let files = evidence(&app, &ann, &site, &saved).await;
        files.keys().any(|name| name.starts_with("popup-") || name.starts_with("screenshots"))
    };
    assert!(has_pictures(shown(site.acceptance("v-1"), "pointer")).await);
    assert!(!has_pictures(site.acceptance("v-2")).await, "it is not known what was shown");
    // A refusal that names no policy.
    let other_notice = shown(site.refusal("v-3", "declined"), "pointer");
    assert!(!has_pictures(other_notice).await, "another notice was shown");
    let by_page = reported(site.acceptance("v-4"), json!("page"), Value::Null);
    assert!(!has_pictures(by_page).await, "nobody pressed a button");
    let always_allow = reported(site.acceptance("v-6"), json!("keyboard"), Value::Null);
    assert!(!has_pictures(always_allow).await, "it was a button of a placeholder");
    let signal = reported(site.refusal("v-7", "withdrawn"), Value::Null, Value::Null);
    assert!(!has_pictures(signal).await, "the browser sent Global Privacy Control");
    let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"],
        "appearance": {"radius": 4}});
    app.configure(&ann.key, &site.pixel_id, body).await.expect(200);
    let later = shown(site.acceptance("v-5"), "pointer");
    assert!(!has_pictures(later).await, "the new form has no pictures yet");
}
