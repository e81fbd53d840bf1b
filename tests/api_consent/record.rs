//! Recording choices: one test per row, per reason to ignore, and per form of a wrong site.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::visitors::{fields, with};
use crate::support::{Answer, App};

/// Fails unless the answer is an empty 204.
#[track_caller]
pub fn ignored(answer: &Answer) {
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
}

pub async fn nothing_is_stored(app: &App, key: &str, site: &Site) {
    assert_eq!(app.log(key, &site.pixel_id).await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_acceptance_is_recorded_with_a_signed_receipt() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let body = with(
        &site.acceptance("visitor-1"),
        "purposes",
        json!(["resolution", "analytics", "resolution"]),
    );
    let answer = app.recorded(&body).await;
    let expected = [
        "policy_version_hash",
        "purposes",
        "receipt",
        "receipt_id",
        "recorded",
        "signature",
        "signature_alg",
    ];
    assert_eq!(fields(&answer), expected);
    assert_eq!(answer["recorded"], true);
    assert_eq!(answer["policy_version_hash"], json!(site.policy_hash));
    assert_eq!(answer["purposes"], json!(["analytics", "resolution"]));
    assert_eq!(answer["signature_alg"], "hmac-sha256");
    let receipt = json!({
        "pixel_id": site.pixel_id,
        "receipt_id": answer["receipt_id"],
        "visitor_id": "visitor-1",
        "origin": "https://shop.example",
        "consent_state": "accepted",
        "policy_hash": site.policy_hash,
        "purposes": ["analytics", "resolution"],
        "recorded_at": "2026-03-10T12:00:00.000Z",
    });
    assert_eq!(answer["receipt"], receipt);
    let id = answer["receipt_id"].as_str().unwrap().parse::<uuid::Uuid>().unwrap();
    assert_eq!(id.get_version_num(), 7);
    let signature = answer["signature"].as_str().unwrap();
    assert!(signature.len() == 64 && !signature.contains(|c: char| c.is_ascii_uppercase()));
    assert!(app.verifies(&receipt, signature).await);
    assert!(!answer.to_string().contains("receipt-secret"));
}

#[tokio::test]
async fn a_decline_and_a_withdrawal_are_recorded_without_purposes() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for state in ["declined", "withdrawn"] {
        let body = with(
            &site.refusal("visitor-1", state),
            "purposes",
            json!(["resolution", "unheard_of"]),
        );
        let answer = app.recorded(&body).await;
        assert_eq!(answer["purposes"], json!([]));
        assert_eq!(answer["receipt"]["purposes"], json!([]));
        assert_eq!(answer["receipt"]["consent_state"], state);
        assert_eq!(answer["receipt"]["policy_hash"], json!(site.policy_hash));
    }
}

#[tokio::test]
async fn a_stale_hash_never_stops_a_decline_or_a_withdrawal() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for state in ["declined", "withdrawn"] {
        let body = with(&site.refusal("visitor-1", state), "policy_version_hash", json!("stale"));
        let answer = app.recorded(&body).await;
        assert_eq!(answer["policy_version_hash"], json!(site.policy_hash));
    }
}

#[tokio::test]
async fn the_second_path_is_served_by_the_same_handler() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let answer = app.post("/api/v1/pixel/fire", site.acceptance("visitor-1")).await.expect(202);
    let check = app.check(&site.pixel_id, "visitor-1").await;
    assert_eq!(check["receipt"], answer["receipt"]);
    ignored(&app.post("/api/v1/pixel/fire", json!([])).await);
    let elsewhere = with(&site.acceptance("v"), "url", json!("https://evil.example/"));
    app.post("/api/v1/pixel/fire", elsewhere).await.expect(403);
}

#[tokio::test]
async fn a_choice_is_read_whatever_its_content_type_says() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for content_type in ["text/plain;charset=UTF-8", "application/octet-stream", "application/json"]
    {
        let request =
            app.request(Method::POST, "/v1/consent/record").header("content-type", content_type);
        Answer::of(request.body(site.acceptance("visitor-1").to_string())).await.expect(202);
    }
    let untyped = app.request(Method::POST, "/v1/consent/record");
    Answer::of(untyped.body(site.acceptance("visitor-1").to_string())).await.expect(202);
}

#[tokio::test]
async fn a_choice_of_the_wrong_shape_is_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let fine = site.acceptance("visitor-1");
    for bytes in
        [&b""[..], b"{", b"no json", b"[]", b"null", b"7", b"\"text\"", b"{}", b"{\"a\":\"\xff\"}"]
    {
        let request = app.request(Method::POST, "/v1/consent/record").body(bytes);
        ignored(&Answer::of(request).await);
    }
    for (field, value) in [
        ("pixel_id", json!(1)),
        ("visitor_id", json!([])),
        ("url", json!({})),
        ("consent", json!(true)),
        ("affirmative", json!("true")),
        ("affirmative", json!(1)),
        ("policy_version_hash", json!(1)),
        ("purposes", json!("resolution")),
        ("purposes", json!([1])),
        ("gpc", json!("no")),
        ("choice_id", json!("not a uuid")),
        ("choice_id", json!(1)),
    ] {
        ignored(&app.record(&with(&fine, field, value)).await);
    }
    let twice = fine.to_string().replacen('{', r#"{"consent":"declined","#, 1);
    ignored(&Answer::of(app.request(Method::POST, "/v1/consent/record").body(twice)).await);
    nothing_is_stored(&app, &key, &site).await;
}

#[tokio::test]
async fn unknown_and_missing_states_are_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    for state in [json!("Accepted"), json!("pending"), json!(""), Value::Null] {
        ignored(&app.record(&with(&site.acceptance("visitor-1"), "consent", state)).await);
    }
    nothing_is_stored(&app, &key, &site).await;
}

#[tokio::test]
async fn a_choice_without_ids_is_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let fine = site.acceptance("visitor-1");
    for pixel in [Value::Null, json!(""), json!("no id"), json!("x".repeat(81))] {
        ignored(&app.record(&with(&fine, "pixel_id", pixel)).await);
    }
    for visitor in
        [Value::Null, json!(""), json!("a b"), json!("ä"), json!("a/b"), json!("x".repeat(129))]
    {
        ignored(&app.record(&with(&fine, "visitor_id", visitor)).await);
    }
    nothing_is_stored(&app, &key, &site).await;
    app.recorded(&site.acceptance(&format!("{}-_", "aZ09".repeat(31)))).await;
    app.recorded(&site.acceptance(&"x".repeat(128))).await;
    app.recorded(&site.acceptance("x")).await;
}

#[tokio::test]
async fn a_choice_for_an_unknown_pixel_is_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    ignored(&app.record(&with(&site.acceptance("visitor-1"), "pixel_id", json!("unknown"))).await);
    nothing_is_stored(&app, &key, &site).await;
}

#[tokio::test]
async fn a_choice_for_a_pixel_without_consent_is_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let never = app.pixel(&key, "never.example").await;
    let body = with(&site.refusal("visitor-1", "declined"), "pixel_id", json!(never));
    ignored(&app.record(&with(&body, "url", json!("https://never.example/"))).await);
    app.turn_consent_off(&site.pixel_id).await;
    let node = app.another_node(&[]).await;
    for body in
        [site.acceptance("v"), site.refusal("v", "declined"), site.refusal("v", "withdrawn")]
    {
        ignored(&node.record(&body).await);
    }
    nothing_is_stored(&app, &key, &site).await;
}

#[tokio::test]
async fn a_choice_for_a_suspended_account_is_ignored() {
    let app = App::spawn().await;
    let shop = app.account("shop@example.com").await;
    let site = app.consent_site(&shop.key, "shop.example").await;
    app.set_status(&shop.account_id, "suspended").await;
    let node = app.another_node(&[]).await;
    ignored(&node.record(&site.acceptance("visitor-1")).await);
    ignored(&node.record(&site.refusal("visitor-1", "declined")).await);
}

#[tokio::test]
async fn an_acceptance_that_is_not_affirmative_is_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    for affirmative in [json!(false), Value::Null] {
        ignored(&app.record(&with(&site.acceptance("v"), "affirmative", affirmative)).await);
    }
    nothing_is_stored(&app, &key, &site).await;
}

#[tokio::test]
async fn an_acceptance_of_another_policy_than_the_current_is_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let upper = site.policy_hash.to_uppercase();
    for hash in [
        Value::Null,
        json!(""),
        json!("stale"),
        json!(upper),
        json!(format!("{} ", site.policy_hash)),
    ] {
        ignored(&app.record(&with(&site.acceptance("v"), "policy_version_hash", hash)).await);
    }
    nothing_is_stored(&app, &key, &site).await;
}

#[tokio::test]
async fn after_a_new_policy_only_its_hash_is_accepted() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    app.recorded(&site.acceptance("before")).await;
    let body = json!({"controller_name": "Other Ltd", "purposes": ["resolution", "analytics"]});
    let configured = app.configure(&key, &site.pixel_id, body).await.expect(200);
    ignored(&app.record(&site.acceptance("after")).await);
    let current =
        with(&site.acceptance("after"), "policy_version_hash", configured["policy_hash"].clone());
    app.recorded(&current).await;
}

#[tokio::test]
async fn an_acceptance_of_purposes_that_are_not_asked_for_is_ignored() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    for purposes in [
        Value::Null,
        json!([]),
        json!(["newsletter"]),
        json!(["resolution", "newsletter"]),
        json!(["resolution", "unheard_of"]),
        json!(["Resolution"]),
        json!([""]),
    ] {
        ignored(&app.record(&with(&site.acceptance("v"), "purposes", purposes)).await);
    }
    nothing_is_stored(&app, &key, &site).await;
    app.recorded(&with(&site.acceptance("v"), "purposes", json!(["analytics"]))).await;
}

#[tokio::test]
async fn global_privacy_control_in_the_body_stops_every_choice() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    for body in
        [site.acceptance("v"), site.refusal("v", "declined"), site.refusal("v", "withdrawn")]
    {
        ignored(&app.record(&with(&body, "gpc", json!(true))).await);
    }
    nothing_is_stored(&app, &key, &site).await;
    app.recorded(&with(&site.acceptance("v"), "gpc", json!(false))).await;
}

#[tokio::test]
async fn global_privacy_control_in_the_header_stops_acceptances_only() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let send = |body: Value, signal: &'static str| {
        let request = app.request(Method::POST, "/v1/consent/record").header("sec-gpc", signal);
        Answer::of(request.json(&body))
    };
    ignored(&send(site.acceptance("v"), "1").await);
    nothing_is_stored(&app, &key, &site).await;
    send(site.refusal("v", "declined"), "1").await.expect(202);
    send(site.refusal("v", "withdrawn"), "1").await.expect(202);
    send(site.acceptance("v"), "0").await.expect(202);
}

#[tokio::test]
async fn an_alias_is_recorded_under_the_canonical_id() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    app.add_alias(&site.pixel_id, "shop-alias").await;
    let body = with(&site.acceptance("visitor-1"), "pixel_id", json!("shop-alias"));
    let answer = app.recorded(&body).await;
    assert_eq!(answer["receipt"]["pixel_id"], json!(site.pixel_id));
    assert_eq!(app.log(&key, &site.pixel_id).await[0]["pixel_id"], json!(site.pixel_id));
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["permitted"], true);
}

#[tokio::test]
async fn the_same_choice_sent_again_is_answered_with_its_first_receipt() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let choice = json!("0190d9d4-9b6a-7c3e-8a55-0123456789ab");
    let body = with(&site.acceptance("visitor-1"), "choice_id", choice.clone());
    let first = app.recorded(&body).await;
    app.clock.advance(chrono::Duration::minutes(5));
    assert_eq!(app.recorded(&body).await, first);
    // As the tag writes such ids.
    let undashed = with(&body, "choice_id", json!("0190d9d49b6a7c3e8a550123456789ab"));
    assert_eq!(app.recorded(&undashed).await, first);
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 1);

    // Another pixel's choice of that id is another choice.
    let second_site = app.consent_site(&key, "second.example").await;
    let elsewhere =
        app.recorded(&with(&second_site.acceptance("visitor-1"), "choice_id", choice)).await;
    assert_ne!(elsewhere["receipt_id"], first["receipt_id"]);
}

#[tokio::test]
async fn a_withdrawal_with_the_id_of_the_acceptance_is_a_choice_of_its_own() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let named = |body| with(&body, "choice_id", json!("0190d9d4-9b6a-7c3e-8a55-0123456789ab"));
    let accepted = app.recorded(&named(site.acceptance("visitor-1"))).await;
    let withdrawal = named(site.refusal("visitor-1", "withdrawn"));
    let withdrawn = app.recorded(&withdrawal).await;
    assert_eq!(withdrawn["receipt"]["consent_state"], "withdrawn");
    assert_ne!(withdrawn["receipt_id"], accepted["receipt_id"]);
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["reason"], "declined_or_withdrawn");
    // Either of them sent again has its own receipt, and the later one still counts.
    assert_eq!(app.recorded(&withdrawal).await, withdrawn);
    assert_eq!(app.recorded(&named(site.acceptance("visitor-1"))).await, accepted);
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["permitted"], false);
    // Another visitor never gets a receipt that is not its own.
    let other = app.recorded(&named(site.acceptance("visitor-2"))).await;
    assert_eq!(other["receipt"]["visitor_id"], "visitor-2");
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 3);
}

#[tokio::test]
async fn choices_without_an_id_are_all_recorded() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let first = app.recorded(&site.acceptance("visitor-1")).await;
    let second = app.recorded(&site.acceptance("visitor-1")).await;
    assert_ne!(first["receipt_id"], second["receipt_id"]);
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 2);
}

#[tokio::test]
async fn a_choice_is_recorded_at_the_clocks_millisecond() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.clock.set("2026-12-31T23:59:59.999999Z".parse().unwrap());
    let answer = app.recorded(&site.acceptance("visitor-1")).await;
    assert_eq!(answer["receipt"]["recorded_at"], "2026-12-31T23:59:59.999Z");
    let check = app.check(&site.pixel_id, "visitor-1").await;
    assert_eq!(check["recorded_at"], "2026-12-31T23:59:59.999Z");
}

#[tokio::test]
async fn the_latest_choice_is_the_last_recorded_even_when_the_clock_runs_back() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    app.clock.advance(chrono::Duration::seconds(-30));
    app.recorded(&site.refusal("visitor-1", "withdrawn")).await;
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["reason"], "declined_or_withdrawn");
}
