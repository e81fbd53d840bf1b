//! One choice for all subdomains: its configuration, what the tag is told, and what the notice says.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::{Answer, App, tools};

fn plain() -> Value {
    json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]})
}

fn sharing(share: bool) -> Value {
    with(&plain(), "share_subdomains", json!(share))
}

/// The configuration in the tag of a pixel.
async fn tag(app: &App, pixel: &str) -> Value {
    let text = app.get(&format!("/px/{pixel}.js")).await.text;
    let start = text.find(r#"{"base":"#).expect("a configuration");
    serde_json::Deserializer::from_str(&text[start..]).into_iter().next().unwrap().unwrap()
}

async fn notice(app: &App, pixel: &str, lang: &str, accept: &str) -> String {
    let path = format!("/v1/policy/{pixel}?lang={lang}");
    let page = Answer::of(app.request(Method::GET, &path).header("accept", accept)).await;
    assert_eq!(page.status, 200, "{}", page.text);
    page.text
}

async fn read(app: &App, key: &str, pixel: &str) -> Value {
    let path = format!("/v1/pixels/{pixel}/consent/configuration");
    app.call(Method::GET, &path, key, Value::Null).await.expect(200)
}

async fn rename(app: &App, pixel: &str, host: &str) {
    let rename = "UPDATE pixels SET domain = $2 WHERE pixel_id = $1";
    sqlx::query(rename).bind(pixel).bind(host).execute(&app.pool).await.unwrap();
}

#[tokio::test]
async fn it_is_off_until_it_is_turned_on_and_then_stays_on() {
    let app = App::spawn().await;
    let (key, Site { pixel_id: pixel, .. }) = shop(&app).await;
    let first = app.configure(&key, &pixel, plain()).await.expect(200);
    assert_eq!(first["share_subdomains"], false);
    assert_eq!(tag(&app, &pixel).await.get("share"), None);
    let on = app.configure(&key, &pixel, sharing(true)).await.expect(200);
    assert_eq!(on, with(&first, "share_subdomains", json!(true)), "the policy is the same");
    assert_eq!(tag(&app, &pixel).await["share"], "shop.example");
    let kept = app.configure(&key, &pixel, plain()).await.expect(200);
    assert_eq!(kept["share_subdomains"], true);
    assert_eq!(read(&app, &key, &pixel).await["share_subdomains"], true);
    let other = app.pixel(&key, "other.example").await;
    assert_eq!(app.configure(&key, &other, plain()).await.expect(200)["share_subdomains"], false);
}

#[tokio::test]
async fn the_test_tag_neither_writes_nor_removes_the_shared_cookie() {
    let app = App::spawn().await;
    let (key, Site { pixel_id: pixel, .. }) = shop(&app).await;
    for share in [true, false] {
        app.configure(&key, &pixel, sharing(share)).await.expect(200);
        let named = if share { "shop.example" } else { "-shop.example" };
        assert_eq!(tag(&app, &pixel).await["share"], named);
        let test = tag(&app, &format!("test_{pixel}")).await;
        assert_eq!(test.get("share"), None, "{test}");
    }
}

#[tokio::test]
async fn turned_off_it_lets_the_tag_remove_the_cookie_for_a_year() {
    let app = App::spawn().await;
    let (key, Site { pixel_id: pixel, .. }) = shop(&app).await;
    app.configure(&key, &pixel, sharing(false)).await.expect(200);
    assert_eq!(tag(&app, &pixel).await.get("share"), None, "there has never been one");
    app.configure(&key, &pixel, sharing(true)).await.expect(200);
    assert_eq!(tag(&app, &pixel).await["share"], "shop.example");
    app.configure(&key, &pixel, sharing(false)).await.expect(200);
    for _ in 0..2 {
        assert_eq!(tag(&app, &pixel).await["share"], "-shop.example");
        app.clock.advance(Duration::days(182));
        // Turning it off again does not prolong that.
        app.configure(&key, &pixel, sharing(false)).await.expect(200);
    }
    app.clock.advance(Duration::days(3));
    let later = app.another_node(&[]).await;
    assert_eq!(tag(&later, &pixel).await.get("share"), None);
}

#[tokio::test]
async fn a_host_that_is_a_public_suffix_is_never_shared() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let own = app.pixel(&key, "localhost").await;
    let sentence = "must be false, because the pixel's host is a public suffix";
    let refusal = app.configure(&key, &own, sharing(true)).await.expect(400);
    assert_eq!(refusal["errors"][0]["loc"], json!(["body", "share_subdomains"]));
    assert_eq!(refusal["errors"][0]["msg"], sentence);
    app.configure(&key, &own, sharing(false)).await.expect(200);
    // Hosts become public suffixes when their owners ask for it.
    let later = app.pixel(&key, "pages.example").await;
    app.configure(&key, &later, sharing(true)).await.expect(200);
    for suffix in ["github.io", "co.uk"] {
        rename(&app, &later, suffix).await;
        let node = app.another_node(&[]).await;
        assert_eq!(tag(&node, &later).await.get("share"), None, "{suffix}");
        app.configure(&key, &later, sharing(true)).await.refused(400, "invalid request");
    }
    rename(&app, &later, "me.github.io").await;
    assert_eq!(tag(&app.another_node(&[]).await, &later).await["share"], "me.github.io");
}

#[tokio::test]
async fn another_value_than_true_or_false_is_refused() {
    let app = App::spawn().await;
    let (key, Site { pixel_id: pixel, .. }) = shop(&app).await;
    for value in [json!("yes"), json!(1), json!([true])] {
        let body = with(&plain(), "share_subdomains", value);
        let refusal = app.configure(&key, &pixel, body).await.expect(400);
        assert_eq!(refusal["errors"][0]["loc"], json!(["body", "share_subdomains"]));
    }
    assert_eq!(read(&app, &key, &pixel).await["share_subdomains"], false);
}

#[tokio::test]
async fn the_notice_says_it_in_every_language() {
    let app = App::spawn().await;
    let (key, Site { pixel_id: pixel, .. }) = shop(&app).await;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts-src/locales");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let locales = files.map(|file| {
        serde_json::from_str::<Value>(&std::fs::read_to_string(file).unwrap()).unwrap()
    });
    let locales = locales.collect::<Vec<_>>();
    assert_eq!(locales.len(), 39);
    for share in [false, true, false] {
        app.configure(&key, &pixel, sharing(share)).await.expect(200);
        for locale in &locales {
            let lang = locale["lang"].as_str().unwrap();
            let sentence = locale["policy"]["allSubdomains"].as_str().unwrap();
            assert!(
                sentence.contains("{site}") && sentence.contains("assent"),
                "{lang}: {sentence}"
            );
            let sentence = sentence.replace("{site}", "\u{2068}shop.example\u{2069}");
            for accept in ["text/html", "text/plain"] {
                let text = notice(&app, &pixel, lang, accept).await;
                assert_eq!(text.contains(&sentence), share, "{lang}, {accept}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_receipt_names_the_notice_that_was_shown() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let mut seen = Vec::new();
    for share in [false, true] {
        let body = with(
            &json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]}),
            "share_subdomains",
            json!(share),
        );
        let configured = app.configure(&key, &site.pixel_id, body).await.expect(200);
        let shown = json!({"language": "de"});
        let choice = with(&site.acceptance("ann"), "shown", shown);
        let hash = configured["policy_hash"].clone();
        app.recorded(&with(&choice, "policy_version_hash", hash)).await;
        let kept = app.log(&key, &site.pixel_id).await.swap_remove(0)["shown"]["notice"].clone();
        let text = notice(&app, &site.pixel_id, "de", "text/plain").await;
        assert_eq!(kept, json!(hex::encode(Sha256::digest(text))));
        seen.push(kept);
    }
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_rehearsal_of_the_tool_says_it_and_stores_nothing() {
    let app = App::spawn().await;
    let (key, Site { pixel_id: pixel, .. }) = shop(&app).await;
    let authorization = format!("Bearer {key}");
    let headers = [("authorization", authorization.as_str())];
    let request = with(&with(&sharing(true), "pixel_id", json!(pixel)), "dry_run", json!(true));
    let outcome = tools::call_with(&app, &headers, "configure_consent", request).await;
    let outcome = tools::done(&outcome);
    assert_eq!(outcome["share_subdomains"], true);
    assert!(outcome["notice"].as_str().unwrap().contains("all its subdomains"), "{outcome}");
    assert_eq!(read(&app, &key, &pixel).await["share_subdomains"], false);
    assert!(!notice(&app, &pixel, "en", "text/plain").await.contains("all its subdomains"));
}
