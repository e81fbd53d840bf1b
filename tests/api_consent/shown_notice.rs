//! Receipts are stored with the shown language and the hashes of the shown notice and script.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::visitors::{fields, with};
use crate::support::{Answer, App};

fn sha256(text: &str) -> Value {
    json!(hex::encode(Sha256::digest(text)))
}

/// The tag in pieces: before its configuration, the configuration, and after it.
async fn tag(app: &App, site: &Site) -> (String, Value, String) {
    let text = app.get(&format!("/px/{}.js", site.pixel_id)).await.text;
    let start = text.find(r#"{"base":"#).expect("a configuration");
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let config = values.next().unwrap().unwrap();
    let end = start + values.byte_offset();
    (text[..start].to_owned(), config, text[end..].to_owned())
}

async fn plain_notice(app: &App, path: &str) -> Answer {
    Answer::of(app.request(Method::GET, path).header("accept", "text/plain")).await
}

/// The latest choice's `shown`, by each of the ways in which it can be read.
async fn kept(app: &App, key: &str, site: &Site, visitor: &str) -> Value {
    let event = app.log(key, &site.pixel_id).await.swap_remove(0);
    let line = app.export(key, site).await.pop().unwrap();
    let whose = json!({"pixel_id": site.pixel_id, "visitor_id": visitor});
    let history = app.post("/v1/consent/history", whose).await.expect(200);
    for read in [&line, &history["receipts"][0]] {
        assert_eq!(read["receipt"], event["receipt"]);
        assert_eq!(read.get("shown"), event.get("shown"));
    }
    assert_eq!(fields(&event["receipt"]).len(), 8);
    assert!(app.verifies(&event["receipt"], event["signature"].as_str().unwrap()).await);
    event["shown"].clone()
}

#[tokio::test]
async fn a_choice_keeps_the_hashes_of_the_notice_and_the_script_that_were_shown() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let (head, config, tail) = tag(&app, &site).await;
    let script = sha256(&format!("{head}__ASSENT_CONFIG__{tail}"));
    for (visitor, language) in [("ann", "en"), ("bob", "de"), ("cid", "zh-Hant"), ("dan", "de")] {
        let shown = json!({"language": language, "script": config["build"]});
        app.recorded(&with(&site.acceptance(visitor), "shown", shown)).await;
        let hash = &site.policy_hash;
        let path = format!("/v1/policy/{}?hash={hash}&lang={language}", site.pixel_id);
        let notice = plain_notice(&app, &path).await;
        assert_eq!(notice.header("content-type"), Some("text/plain; charset=utf-8"));
        let expected = json!({"language": language, "notice": sha256(&notice.text), "script": script,
                "act": null, "seen": null, "automated": null});
        assert_eq!(kept(&app, &key, &site, visitor).await, expected);
    }
}

#[tokio::test]
async fn the_notice_is_the_one_of_the_version_that_was_answered() {
    let app = App::spawn().await;
    let (key, mut site) = shop(&app).await;
    let first = site.policy_hash.clone();
    let shown = json!({"language": "fr"});
    let mut seen = Vec::new();
    for _ in 0..2 {
        app.recorded(&with(&site.acceptance("ann"), "shown", shown.clone())).await;
        seen.push(kept(&app, &key, &site, "ann").await["notice"].clone());
        let configured = app.reconfigured(&key, &site, "Other Ltd").await;
        site.policy_hash = configured["policy_hash"].as_str().unwrap().to_owned();
    }
    assert_ne!(seen[0], seen[1]);
    let path = format!("/v1/policy/{}?hash={first}&lang=fr", site.pixel_id);
    assert_eq!(seen[0], sha256(&plain_notice(&app, &path).await.text));
    // A no counts also from a page that still shows the version before.
    let no = with(&site.refusal("ann", "withdrawn"), "policy_version_hash", json!(first));
    app.recorded(&with(&no, "shown", shown)).await;
    let kept = kept(&app, &key, &site, "ann").await;
    assert_eq!(kept["language"], "fr");
    assert_eq!((&kept["notice"], &kept["script"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn an_invalid_shown_field_is_left_out_and_the_choice_is_recorded() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    for odd in [
        json!(null),
        json!(7),
        json!("de"),
        json!([]),
        json!({}),
        json!({"script": "00000000"}),
        json!({"language": 7}),
        json!({"language": ""}),
        json!({"language": "xx"}),
        json!({"language": "DE"}),
        json!({"language": "de-AT"}),
        json!({"language": "de", "script": 7}),
        json!({"language": "x".repeat(10_000)}),
    ] {
        let mut body = site.acceptance("ann");
        body["shown"] = odd.clone();
        app.recorded(&body).await;
        assert_eq!(kept(&app, &key, &site, "ann").await, Value::Null, "{odd}");
    }
    for script in [json!(null), json!(""), json!("00000000"), json!("x".repeat(10_000))] {
        let shown = json!({"language": "de", "script": script, "more": 1});
        app.recorded(&with(&site.acceptance("ann"), "shown", shown)).await;
        let kept = kept(&app, &key, &site, "ann").await;
        assert_eq!((&kept["language"], &kept["script"]), (&json!("de"), &Value::Null));
        assert!(kept["notice"].is_string());
    }
}

async fn served_by_another_node(app: &App, build: &str, digest: &str) {
    sqlx::query("INSERT INTO script_builds (build, sha256) VALUES ($1, $2)")
        .bind(build)
        .bind(hex::decode(digest).unwrap())
        .execute(&app.pool)
        .await
        .unwrap();
}

#[tokio::test]
async fn builds_of_other_nodes_are_known_and_unknown_ones_are_seldom_looked_for() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let (_, config, _) = tag(&app, &site).await;
    let own = "SELECT build FROM script_builds";
    let own = sqlx::query_scalar::<_, String>(own).fetch_all(&app.pool).await.unwrap();
    assert_eq!(json!(own), json!([config["build"]]));

    let script = async |build: &str| {
        let shown = json!({"language": "en", "script": build});
        app.recorded(&with(&site.acceptance("ann"), "shown", shown)).await;
        kept(&app, &key, &site, "ann").await["script"].clone()
    };
    let [one, two] = ["0a", "0b"].map(|byte| byte.repeat(32));
    served_by_another_node(&app, "0a0a0a0a", &one).await;
    assert_eq!(script("0a0a0a0a").await, json!(one));
    // Somebody has just looked.
    served_by_another_node(&app, "0b0b0b0b", &two).await;
    assert_eq!(script("0b0b0b0b").await, Value::Null);
    app.clock.advance(Duration::seconds(1));
    assert_eq!(script("0b0b0b0b").await, json!(two));
    // A known build needs no query, and a choice needs none in any case.
    app.clock.advance(Duration::seconds(1));
    sqlx::query("ALTER TABLE script_builds RENAME TO lost").execute(&app.pool).await.unwrap();
    assert_eq!(script("0c0c0c0c").await, Value::Null);
    assert_eq!(script("0a0a0a0a").await, json!(one));
}

#[tokio::test]
async fn a_choice_said_again_keeps_what_was_shown_first() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let choice = with(&site.acceptance("ann"), "choice_id", json!(uuid::Uuid::from_u128(7)));
    let first = app.recorded(&with(&choice, "shown", json!({"language": "de"}))).await;
    assert_eq!(app.recorded(&with(&choice, "shown", json!({"language": "fr"}))).await, first);
    assert_eq!(kept(&app, &key, &site, "ann").await["language"], "de");
}

#[tokio::test]
async fn a_notice_is_a_page_if_the_client_prefers_html() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let path = format!("/v1/policy/{}", site.pixel_id);
    for (accept, kind) in [
        ("text/plain", "text/plain; charset=utf-8"),
        ("text/plain, */*;q=0.1", "text/plain; charset=utf-8"),
        ("text/html, text/plain", "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
    ] {
        let answer = Answer::of(app.request(Method::GET, &path).header("accept", accept)).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{accept}");
    }
}
