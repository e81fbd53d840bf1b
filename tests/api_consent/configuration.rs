//! Configuring consent: one test per row and per refusal.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::visitors::with;
use crate::support::{Answer, App};

fn plain() -> Value {
    json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]})
}

fn full() -> Value {
    json!({
        "controller_name": "Shop Ltd",
        "controller_type": "organization",
        "controller_contact": "privacy@shop.example",
        "controller_jurisdiction": "EU",
        "rule_version": "GDPR 2016/679",
        "purposes": [
            "analytics", "resolution", "newsletter", "email_sharing", "phone_sharing",
            "partner_email", "partner_calls", "partner_sms",
        ],
        "data_sharing": true,
        "contact_channels": ["email", "phone", "sms", "agentic"],
        "disclosed_parties": ["Partner One", "Partner Two"],
        "site_policy_url": "https://shop.example/privacy",
    })
}

/// An account with a pixel whose consent has not been configured.
async fn shop(app: &App) -> (String, String) {
    let key = app.account("shop@example.com").await.key;
    let pixel = app.pixel(&key, "shop.example").await;
    (key, pixel)
}

#[tokio::test]
async fn a_configuration_turns_consent_on_and_publishes_the_first_policy() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let configured = app.configure(&key, &pixel, plain()).await.expect(200);
    let hash = configured["policy_hash"].as_str().unwrap();
    assert!(hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    let expected = json!({
        "pixel_id": pixel,
        "consent_enabled": true,
        "policy_version": 1,
        "policy_hash": hash,
        "policy_url": format!("{}/v1/policy/{pixel}", app.base),
        "snippet": format!(r#"<script async src="{}/px/{pixel}.js"></script>"#, app.base),
        "purposes": ["analytics", "resolution"],
        "dropped_purposes": [],
        "consent_days": 182,
        "contacts_need_act": false,
        "contacts_need_consent": false,
        "test_hosts": [],
        "share_subdomains": false,
    });
    assert_eq!(configured, expected);
    assert_eq!(app.get(&format!("/px/{pixel}.js")).await.status, 200);
    assert_eq!(app.get(&format!("/v1/policy/{pixel}")).await.status, 200);
}

#[tokio::test]
async fn every_field_is_taken_and_every_one_but_none_changes_the_policy() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let first = app.configure(&key, &pixel, full()).await.expect(200);
    assert_eq!(first["purposes"].as_array().unwrap().len(), 8);
    let mut version = 1;
    for (field, value) in [
        ("controller_name", json!("Shop GmbH")),
        ("controller_type", json!("person")),
        ("controller_contact", json!("+49 30 123")),
        ("controller_jurisdiction", json!("UK")),
        ("rule_version", json!("CCPA")),
        ("purposes", json!(["resolution"])),
        ("data_sharing", json!(false)),
        ("contact_channels", json!(["email"])),
        ("disclosed_parties", json!(["Partner One"])),
        ("site_policy_url", json!("https://shop.example/legal")),
        ("consent_days", json!(90)),
    ] {
        version += 1;
        let changed = app.configure(&key, &pixel, with(&full(), field, value)).await.expect(200);
        assert_eq!(changed["policy_version"], version, "{field}");
        assert_ne!(changed["policy_hash"], first["policy_hash"], "{field}");
    }
    // The first text again is a version of its own, with the hash that names that text.
    let again = app.configure(&key, &pixel, full()).await.expect(200);
    assert_eq!(again["policy_version"], version + 1);
    assert_eq!(again["policy_hash"], first["policy_hash"]);
}

#[tokio::test]
async fn the_same_text_keeps_its_version_and_hash() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let first = app.configure(&key, &pixel, plain()).await.expect(200);
    app.clock.advance(chrono::Duration::days(1));
    for same in [
        plain(),
        with(&plain(), "purposes", json!(["analytics", "resolution", "analytics", "unheard_of"])),
        with(&plain(), "controller_name", json!("  Shop Ltd ")),
        with(&plain(), "controller_type", json!("company")),
        with(&plain(), "controller_contact", json!("")),
        with(&plain(), "data_sharing", json!(false)),
        with(&plain(), "contact_channels", json!(["telepathy"])),
        with(&plain(), "disclosed_parties", json!([])),
        with(&plain(), "site_policy_url", json!(" ")),
        with(&plain(), "consent_days", json!(182)),
        with(&plain(), "consent_days", Value::Null),
        with(&plain(), "appearance", json!({"radius": 4})),
        with(&plain(), "somebody_elses_field", json!(1)),
    ] {
        let mut again = app.configure(&key, &pixel, same.clone()).await.expect(200);
        again["dropped_purposes"] = first["dropped_purposes"].clone();
        assert_eq!(again, first, "{same}");
    }
}

#[tokio::test]
async fn the_same_text_has_the_same_hash_on_every_pixel() {
    let app = App::spawn().await;
    let (key, one) = shop(&app).await;
    let two = app.pixel(&key, "two.example").await;
    let hash = |answer: Value| answer["policy_hash"].clone();
    let first = hash(app.configure(&key, &one, full()).await.expect(200));
    assert_eq!(hash(app.configure(&key, &two, full()).await.expect(200)), first);
}

#[tokio::test]
async fn a_controller_name_is_required() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let nameless = with(&plain(), "controller_name", Value::Null);
    app.configure(&key, &pixel, nameless).await.refused(400, "controller name is required");
    for name in [json!(""), json!(" \t")] {
        let body = with(&plain(), "controller_name", name);
        app.configure(&key, &pixel, body).await.refused(400, "controller name is required");
    }
    let null = json!({"controller_name": null, "purposes": ["resolution"]});
    app.configure(&key, &pixel, null).await.refused(400, "controller name is required");
}

#[tokio::test]
async fn dropped_purposes_are_reported() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let answer = app.configure(&key, &pixel, plain()).await.expect(200);
    assert_eq!(answer["dropped_purposes"], json!([]));
    let purposes =
        json!(["unheard_of", "analytics", "Analytics", "unheard_of", "", "x".repeat(90)]);
    let body = with(&plain(), "purposes", purposes);
    let answer = app.configure(&key, &pixel, body).await.expect(200);
    let shortened = "x".repeat(64);
    assert_eq!(answer["dropped_purposes"], json!(["", "Analytics", "unheard_of", shortened]));
    assert_eq!(answer["purposes"], json!(["analytics"]));
}

#[tokio::test]
async fn at_least_one_known_purpose_is_required() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let without = with(&plain(), "purposes", Value::Null);
    app.configure(&key, &pixel, without).await.refused(400, "choose at least one purpose");
    for purposes in [json!([]), json!(["unheard_of"]), json!(["Resolution", ""])] {
        let body = with(&plain(), "purposes", purposes);
        app.configure(&key, &pixel, body).await.refused(400, "choose at least one purpose");
    }
    let null = json!({"controller_name": "Shop Ltd", "purposes": null});
    app.configure(&key, &pixel, null).await.refused(400, "choose at least one purpose");
}

#[tokio::test]
async fn a_controller_is_a_company_a_person_or_an_organization() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    for kind in ["company", "person", "organization"] {
        let body = with(&plain(), "controller_type", json!(kind));
        app.configure(&key, &pixel, body).await.expect(200);
    }
    for kind in ["Company", "state", "organisation"] {
        let body = with(&plain(), "controller_type", json!(kind));
        let answer = app.configure(&key, &pixel, body).await;
        answer.refused(400, "controller type must be company, person, or organization");
    }
}

#[tokio::test]
async fn a_policy_of_the_sites_own_is_an_https_link() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    for link in [
        "http://shop.example/privacy",
        "shop.example/privacy",
        "/privacy",
        "javascript:alert(1)",
        "https://",
        "https://user@shop.example/",
        &format!("https://shop.example/{}", "x".repeat(2000)),
    ] {
        let body = with(&plain(), "site_policy_url", json!(link));
        let answer = app.configure(&key, &pixel, body).await;
        answer.refused(400, "site policy url must be an https link");
    }
}

#[tokio::test]
async fn colours_that_cannot_be_read_are_refused() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let look = |text: &str| {
        let palette = json!({
            "background": "#ffffff", "text": text, "button": "#123456",
            "button_text": "#ffffff", "link": "#0000cc",
        });
        with(&plain(), "appearance", json!({"colors": {"light": palette}}))
    };
    app.configure(&key, &pixel, look("#222222")).await.expect(200);
    let answer = app.configure(&key, &pixel, look("#777777")).await;
    answer
        .refused(400, "appearance needs a contrast of at least 4.5:1 between text and background");
    for appearance in [
        json!({"colors": {"light": {"background": "white"}}}),
        json!({"radius": 25}),
        json!({"font": "x;}*{display:none"}),
        json!({"position": "everywhere"}),
        json!({"unheard_of": 1}),
        json!("big"),
    ] {
        let body = with(&plain(), "appearance", appearance);
        app.configure(&key, &pixel, body).await.refused(400, "invalid request");
    }
}

#[tokio::test]
async fn a_configuration_of_the_wrong_shape_is_an_invalid_request() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    for (field, value) in [
        ("controller_name", json!(1)),
        ("controller_name", json!("x".repeat(501))),
        ("controller_name", json!("two\nlines")),
        ("controller_type", json!(1)),
        ("controller_contact", json!([])),
        ("controller_jurisdiction", json!({})),
        ("rule_version", json!(2)),
        ("purposes", json!("resolution")),
        ("purposes", json!([1])),
        ("purposes", json!([null])),
        ("data_sharing", json!("yes")),
        ("contact_channels", json!("email")),
        ("disclosed_parties", json!("Partner")),
        ("disclosed_parties", json!(vec!["Partner"; 101])),
        ("site_policy_url", json!(1)),
        ("consent_days", json!(0)),
        ("consent_days", json!(-1)),
        ("consent_days", json!(366)),
        ("consent_days", json!(i64::MAX)),
        ("consent_days", json!(30.5)),
        ("consent_days", json!("30")),
    ] {
        let body = with(&plain(), field, value);
        app.configure(&key, &pixel, body).await.refused(400, "invalid request");
    }
    let path = format!("/v1/pixels/{pixel}/consent");
    for text in ["", "{", "[]", "null", "\"text\"", r#"{"purposes":[],"purposes":[]}"#] {
        let request = app.request(Method::POST, &path).bearer_auth(&key).body(text);
        Answer::of(request).await.refused(400, "invalid request");
    }
    let shown = app.call(Method::GET, &format!("/v1/pixels/{pixel}"), &key, Value::Null).await;
    assert_eq!(shown.expect(200)["consent_enabled"], false);
}

#[tokio::test]
async fn configuring_needs_an_active_account() {
    let app = App::spawn().await;
    app.refuses_all_but_active_accounts(Method::POST, "/v1/pixels/unknown/consent").await;
}

#[tokio::test]
async fn a_suspended_account_configures_nothing() {
    let app = App::spawn().await;
    let key = app.suspended_key().await;
    let answer = app.configure(&key, "unknown", plain()).await;
    assert_eq!(answer.status, 403, "{}", answer.text);
}

#[tokio::test]
async fn only_a_canonical_id_can_be_configured_and_read() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    app.add_alias(&pixel, "shop-alias").await;
    for unknown in ["shop-alias", "unknown", "no%20id", &"x".repeat(41)] {
        app.configure(&key, unknown, plain()).await.refused(404, "pixel not found");
        let path = format!("/v1/pixels/{unknown}/consent");
        let answer = app.call(Method::GET, &path, &key, Value::Null).await;
        answer.refused(404, "pixel not found");
    }
}

#[tokio::test]
async fn an_unlimited_key_configures_and_reads_every_pixel() {
    let app = App::spawn().await;
    let (_, pixel) = shop(&app).await;
    let operator = app.unlimited_account("operator@example.com").await;
    app.configure(&operator.key, &pixel, plain()).await.expect(200);
    assert!(app.log(&operator.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn another_node_serves_a_new_policy_within_moments() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    let node = app.another_node(&[]).await;
    let path = format!("/px/{pixel}.js");
    assert_eq!(node.get(&path).await.status, 404);
    let configured = app.configure(&key, &pixel, plain()).await.expect(200);
    let hash = configured["policy_hash"].as_str().unwrap();
    // Sooner than what is remembered would end by itself.
    for _ in 0..50 {
        let script = node.get(&path).await;
        if script.status == 200 && script.text.contains(hash) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the other node still serves what was");
}

#[tokio::test]
async fn an_account_past_its_trial_still_configures_and_reads() {
    let app = App::spawn().await;
    let (key, pixel) = shop(&app).await;
    app.clock.advance(chrono::Duration::days(60));
    app.configure(&key, &pixel, plain()).await.expect(200);
    app.log(&key, &pixel).await;
}
