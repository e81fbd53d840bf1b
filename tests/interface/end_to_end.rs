//! The main job from end to end, as an integrator and a visitor live through it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, App, MailServer, fresh_address};

#[tokio::test]
async fn from_a_signup_to_a_receipt_that_verifies() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");

    // Ann signs up and waits for her mail.
    let body = json!({"email": email, "display_name": "Ann", "external_user_id": "crm-7"});
    let opened = app.post("/v1/accounts", body).await.expect(201);
    let account = opened["account_id"].as_str().unwrap();
    let token = opened["signup_token"].as_str().unwrap();
    app.issue_key(account, token).await.refused(403, "account is not active");
    let mail = MailServer::shared().newest(&email).await;

    // She types the code in, and later opens the link as well.
    let body = json!({"code": mail.code(), "signup_token": token});
    let confirmed = app.post(&format!("/v1/accounts/{account}/confirm"), body).await.expect(200);
    assert!(app.get(&mail.link()).await.text.contains("Email confirmed"));
    let request = app.request(Method::GET, &format!("/v1/accounts/{account}"));
    let status = Answer::of(request.header("x-signup-token", token)).await.expect(200);
    assert_eq!((&status["status"], &status["email_verified"]), (&json!("active"), &json!(true)));

    // One key came with the confirmation, another she asks for.
    let first_key = confirmed["api_key"].as_str().unwrap();
    let key = app.issue_key(account, token).await.expect(201)["api_key"].clone();
    let key = key.as_str().unwrap();
    for key in [first_key, key] {
        let who = app.call(Method::GET, "/v1/whoami", key, Value::Null).await.expect(200);
        assert_eq!(who["account_id"], account);
    }

    // A pixel for her shop, with the popup on.
    let body = json!({"domain": "https://www.Shop.example"});
    let pixel = app.call(Method::POST, "/v1/pixels", key, body).await.expect(201);
    assert_eq!(pixel["domain"], "shop.example");
    let pixel = pixel["pixel_id"].as_str().unwrap();
    let body = json!({"controller_name": "Ann's Shop", "purposes": ["resolution", "analytics"]});
    let configured = app.configure(key, pixel, body).await.expect(200);
    let tag = configured["snippet"].as_str().unwrap();
    let source = tag.split('"').nth(1).unwrap().strip_prefix(&app.base).unwrap();
    let script = app.get(source).await;
    assert_eq!(script.status, 200);
    let policy_url = configured["policy_url"].as_str().unwrap().strip_prefix(&app.base).unwrap();
    assert!(app.get(policy_url).await.text.contains("Ann&#x27;s Shop"));

    // A visitor accepts one purpose.
    assert_eq!(app.check(pixel, "visitor-1").await["reason"], "no_consent_record");
    let hash = &configured["policy_hash"];
    assert!(script.text.contains(hash.as_str().unwrap()));
    let choice = json!({
        "pixel_id": pixel, "visitor_id": "visitor-1", "url": "https://shop.example/cart",
        "consent": "accepted", "affirmative": true, "policy_version_hash": hash,
        "purposes": ["resolution"],
    });
    let recorded = app.recorded(&choice).await;
    let check = app.check(pixel, "visitor-1").await;
    assert_eq!((&check["permitted"], &check["reason"]), (&json!(true), &json!("ok")));
    let query = format!("pixel_id={pixel}&host=www.shop.example");
    let tag_pixel =
        format!("/external_api/install-pixel/tag-pixel?{}", query.replace("pixel_id", "pid"));
    assert_eq!(app.get(&tag_pixel).await.expect(200), json!({"pixel_id": pixel}));

    // The receipt is the one of the log, and the service's own.
    let receipt = app.receipt(pixel, "visitor-1").await.expect(200);
    assert_eq!(receipt["valid"], true);
    assert_eq!(receipt["receipt"], recorded["receipt"]);
    let log = app.log(key, pixel).await;
    assert_eq!(log[0]["receipt"], recorded["receipt"]);
    let signature = receipt["signature"].as_str().unwrap();
    assert!(app.verifies(&receipt["receipt"], signature).await);

    // One changed character, and it is nobody's.
    let mut forged = receipt["receipt"].clone();
    forged["visitor_id"] = json!("visitor-2");
    assert!(!app.verifies(&forged, signature).await);

    // The visitor takes it back.
    let withdrawal = json!({
        "pixel_id": pixel, "visitor_id": "visitor-1", "url": "https://shop.example/cart",
        "consent": "withdrawn",
    });
    app.recorded(&withdrawal).await;
    let check = app.check(pixel, "visitor-1").await;
    assert_eq!(check["reason"], "declined_or_withdrawn");
    assert!(app.verifies(&receipt["receipt"], signature).await);
}

#[tokio::test]
async fn without_a_mail_server_the_link_of_the_answer_does_it() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    assert_eq!(app.receipt(&site.pixel_id, "visitor-1").await.expect(200)["valid"], true);
}
