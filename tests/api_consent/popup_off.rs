//! Turning the popup off, and who may: turn it off, count, export.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::{Answer, App};

#[tokio::test]
async fn turning_consent_off_takes_the_tag_away_at_once() {
    let (app, ann, site) = app_with_site().await;
    let script = format!("/px/{}.js", site.pixel_id);
    assert_eq!(app.get(&script).await.status, 200);
    let answer = app.turn_off(&ann.key, &site).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    app.get(&script).await.refused(404, "consent tag not found");
    app.get(&format!("/v1/policy/{}", site.pixel_id)).await.refused(404, "policy not found");
    app.post("/v1/consent/record", site.acceptance("visitor")).await.expect(204);
    app.post("/v1/consent/record", site.refusal("visitor", "declined")).await.expect(204);
    let pixel = app.read(&ann.key, &format!("/v1/pixels/{}", site.pixel_id)).await.expect(200);
    assert_eq!(pixel["consent_enabled"], false);
    assert!(pixel["snippet"].as_str().unwrap().contains("/pixel.js"));
}

#[tokio::test]
async fn receipts_and_policies_outlive_the_popup() {
    let (app, ann, site) = app_with_site().await;
    let saved = app.recorded(&site.acceptance("visitor")).await;
    app.turn_off(&ann.key, &site).await.expect(204);
    let query = format!("?pixel_id={}&visitor_id=visitor", site.pixel_id);
    let check = app.get(&format!("/v1/consent/check{query}")).await.expect(200);
    assert_eq!(check["permitted"], false);
    assert_eq!(check["reason"], "consent_off");
    assert_eq!(check["receipt"], saved["receipt"]);
    let body = json!({"receipt": saved["receipt"], "signature": saved["signature"]});
    assert_eq!(app.post("/v1/consent/verify", body).await.expect(200)["valid"], true);
    let events = app.read(&ann.key, &site.path("")).await.expect(200);
    assert_eq!(events["events"].as_array().unwrap().len(), 1);
    assert_eq!(app.export(&ann.key, &site).await.len(), 2);
    let named = format!("/v1/policy/{}?hash={}", site.pixel_id, site.policy_hash);
    assert_eq!(app.get(&named).await.status, 200);
}

#[tokio::test]
async fn turned_on_again_the_same_text_is_the_same_version() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("visitor")).await;
    app.turn_off(&ann.key, &site).await.expect(204);
    let again = app.reconfigured(&ann.key, &site, "Shop Ltd").await;
    assert_eq!(again["policy_version"], 1);
    assert_eq!(again["policy_hash"], json!(site.policy_hash));
    let query = format!("?pixel_id={}&visitor_id=visitor", site.pixel_id);
    assert_eq!(app.get(&format!("/v1/consent/check{query}")).await.expect(200)["reason"], "ok");
}

#[tokio::test]
async fn turning_off_what_is_off_changes_nothing() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel_id = app.pixel(&ann.key, "ann.example").await;
    let path = format!("/v1/pixels/{pixel_id}/consent");
    for _ in 0..2 {
        app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    }
}

#[tokio::test]
async fn an_unlimited_key_may_turn_off_any_popup_and_a_customers_only_its_own() {
    let (app, _, site) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    app.turn_off(&bob.key, &site).await.refused(404, "pixel not found");
    assert_eq!(app.get(&format!("/px/{}.js", site.pixel_id)).await.status, 200);
    let operator = app.unlimited_account("op@example.com").await;
    app.turn_off(&operator.key, &site).await.expect(204);
    assert_eq!(app.get(&format!("/px/{}.js", site.pixel_id)).await.status, 404);
}

#[tokio::test]
async fn each_route_asks_for_a_key_of_an_active_account() {
    let (app, ann, site) = app_with_site().await;
    for (method, rest) in [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
    {
        let path = site.path(rest);
        let call = |key: &'static str| app.call(method.clone(), &path, key, Value::Null);
        Answer::of(app.request(method.clone(), &path)).await.refused(401, "api key required");
        let basic = app.request(method.clone(), &path).header("Authorization", "Basic eDp5");
        Answer::of(basic).await.refused(401, "api key required");
        call("px_wrong").await.refused(401, "invalid api key");
        call("nonsense").await.refused(401, "invalid api key");
    }
    app.set_status(&ann.account_id, "suspended").await;
    for (method, rest) in [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
    {
        let answer = app.call(method, &site.path(rest), &ann.key, Value::Null).await;
        answer.refused(403, "account is not active");
    }
    app.set_status(&ann.account_id, "active").await;
    sqlx::query("UPDATE api_keys SET revoked_at = created_at").execute(&app.pool).await.unwrap();
    for (method, rest) in [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
    {
        let answer = app.call(method, &site.path(rest), &ann.key, Value::Null).await;
        answer.refused(401, "invalid api key");
    }
}

#[tokio::test]
async fn an_unknown_pixel_is_not_found_and_an_alias_is_none() {
    let (app, ann, site) = app_with_site().await;
    let alias: String =
        sqlx::query_scalar("SELECT alias FROM pixel_aliases").fetch_one(&app.pool).await.unwrap();
    assert_ne!(alias, site.pixel_id);
    for id in ["unknown", alias.as_str(), "a%00b", &"x".repeat(100)] {
        for (method, rest) in
            [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
        {
            let path = format!("/v1/pixels/{id}/consent{rest}");
            let answer = app.call(method, &path, &ann.key, Value::Null).await;
            answer.refused(404, "pixel not found");
        }
    }
}

#[tokio::test]
async fn head_of_an_export_and_of_stats_has_no_body() {
    let (app, ann, site) = app_with_site().await;
    for rest in ["/export", "/stats", ""] {
        let request = app.request(Method::HEAD, &site.path(rest)).bearer_auth(&ann.key);
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, ""), "{rest}");
    }
}
