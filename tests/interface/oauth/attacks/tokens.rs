//! Attacks with codes, refresh tokens and access tokens.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Changes, count};
use crate::support::console::Browser;
use crate::support::oauth::{Tokens, VERIFIER};
use crate::support::tools::{call, refused};
use crate::support::{Answer, App};

#[tokio::test]
async fn codes_in_the_wrong_hands() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let other = app.agent().await;
    let mut browser = app.browser_of(&ann.key).await;
    let wrong = "another-verifier-that-is-also-long-enough-0123456789";
    let short = "x".repeat(42);
    let long = "x".repeat(129);
    let spaced = format!("{}  ", &VERIFIER[..44]);
    let table: Vec<(&str, Changes<'_>, &str)> = vec![
        ("foreign app", vec![("client_id", Some(&*other.client_id))], "invalid_grant"),
        ("unknown app", vec![("client_id", Some("oc_unknown"))], "invalid_grant"),
        ("no app", vec![("client_id", None)], "invalid_client"),
        ("wrong verifier", vec![("code_verifier", Some(wrong))], "invalid_grant"),
        ("no verifier", vec![("code_verifier", None)], "invalid_request"),
        ("empty verifier", vec![("code_verifier", Some(""))], "invalid_request"),
        ("short verifier", vec![("code_verifier", Some(&*short))], "invalid_request"),
        ("long verifier", vec![("code_verifier", Some(&*long))], "invalid_request"),
        ("spaces", vec![("code_verifier", Some(&*spaced))], "invalid_request"),
        (
            "other address",
            vec![("redirect_uri", Some("https://evil.example/callback"))],
            "invalid_grant",
        ),
        ("other resource", vec![("resource", Some("https://other.example/mcp"))], "invalid_target"),
        ("other grant", vec![("grant_type", Some("password"))], "unsupported_grant_type"),
        (
            "client grant",
            vec![("grant_type", Some("client_credentials"))],
            "unsupported_grant_type",
        ),
        ("no grant", vec![("grant_type", None)], "invalid_request"),
        ("code as refresh token", vec![("grant_type", Some("refresh_token"))], "invalid_request"),
        ("no code", vec![("code", None)], "invalid_request"),
        ("changed code", vec![("code", Some("oac_unknown"))], "invalid_grant"),
    ];
    for (name, changes, error) in table {
        let code = agent.code(&mut browser, "operate").await;
        let answer = agent.redeem_with(&code, &changes).await;
        let status = if error == "invalid_client" { 401 } else { 400 };
        assert_eq!(answer.expect(status)["error"], error, "{name}");
        let changed = changes.iter().any(|(changed, _)| *changed == "code");
        if error == "invalid_grant" && !changed {
            let late = agent.redeem(&code).await;
            assert_eq!(late.expect(400)["error"], "invalid_grant", "{name} used the code up");
        }
    }
    let code = agent.code(&mut browser, "operate").await;
    app.clock.advance(Duration::seconds(60));
    assert_eq!(agent.redeem(&code).await.expect(400)["error"], "invalid_grant", "too late");
    let code = agent.code(&mut browser, "operate").await;
    let twice = format!("grant_type=authorization_code&code={code}&code={code}&client_id=x");
    let request = app.request(Method::POST, "/oauth/token").body(twice);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(Answer::of(request).await.expect(400)["error"], "invalid_request");
    let json = json!({"grant_type": "authorization_code", "code": code});
    assert_eq!(app.post("/oauth/token", json).await.expect(400)["error"], "invalid_request");
    assert_eq!(count(&app, "grants").await, 0);
    app.clock.advance(Duration::seconds(-60));
    Tokens::of(&agent.redeem(&agent.code(&mut browser, "operate").await).await);
}

#[tokio::test]
async fn a_code_or_a_refresh_token_that_is_used_twice_ends_everything() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let mut browser = app.browser_of(&ann.key).await;
    let code = agent.code(&mut browser, "operate").await;
    let tokens = Tokens::of(&agent.redeem(&code).await);
    assert!(app.takes(&tokens.access).await);
    assert_eq!(agent.redeem(&code).await.expect(400)["error"], "invalid_grant");
    assert!(!app.takes(&tokens.access).await);
    assert_eq!(agent.refresh(&tokens.refresh).await.expect(400)["error"], "invalid_grant");

    let first = agent.connect(&mut browser, "operate").await;
    let second = Tokens::of(&agent.refresh(&first.refresh).await);
    let third = Tokens::of(&agent.refresh(&second.refresh).await);
    assert!(app.takes(&third.access).await);
    assert_eq!(agent.refresh(&first.refresh).await.expect(400)["error"], "invalid_grant");
    for token in [&first.access, &second.access, &third.access] {
        assert!(!app.takes(token).await);
    }
    assert_eq!(agent.refresh(&third.refresh).await.expect(400)["error"], "invalid_grant");
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200);
    // Events of the same moment have no order.
    let mut events = events["events"].as_array().unwrap().iter();
    let disconnected = events.find(|event| event["kind"] == "app_disconnected").unwrap();
    assert_eq!(disconnected["actor"], "service");
}

#[tokio::test]
async fn of_requests_at_the_same_time_one_succeeds() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let mut browser = app.browser_of(&ann.key).await;
    let code = agent.code(&mut browser, "operate").await;
    let all = futures_util::future::join_all((0..8).map(|_| agent.redeem(&code))).await;
    assert_eq!(all.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(all.iter().all(|answer| [200, 400].contains(&answer.status)));
    let tokens = agent.connect(&mut browser, "operate").await;
    let all = (0..8).map(|_| agent.refresh(&tokens.refresh));
    let all = futures_util::future::join_all(all).await;
    assert_eq!(all.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(all.iter().all(|answer| [200, 400].contains(&answer.status)));
    assert!(!app.takes(&tokens.access).await, "reuse ends the grant, also at the same time");
}

#[tokio::test]
async fn refresh_tokens_in_the_wrong_hands() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (agent, tokens) = app.connected(&ann.key, "operate").await;
    let other = app.agent().await;
    let foreign = app.url("/v1");
    let table: Vec<(&str, Changes<'_>, &str)> = vec![
        ("foreign app", vec![("client_id", Some(&*other.client_id))], "invalid_grant"),
        ("no app", vec![("client_id", None)], "invalid_client"),
        ("more scope", vec![("scope", Some("full"))], "invalid_scope"),
        ("other scope", vec![("scope", Some("read"))], "invalid_scope"),
        ("added scope", vec![("scope", Some("operate full"))], "invalid_scope"),
        ("other resource", vec![("resource", Some(&*foreign))], "invalid_target"),
        ("access token", vec![("refresh_token", Some(&*tokens.access))], "invalid_grant"),
        ("unknown", vec![("refresh_token", Some("ort_unknown"))], "invalid_grant"),
        ("an API key", vec![("refresh_token", Some(&*ann.key))], "invalid_grant"),
        ("none", vec![("refresh_token", None)], "invalid_request"),
    ];
    for (name, changes, error) in table {
        let answer = agent.refresh_with(&tokens.refresh, &changes).await;
        let status = if error == "invalid_client" { 401 } else { 400 };
        assert_eq!(answer.expect(status)["error"], error, "{name}");
    }
    // None of them used the token up.
    let next =
        Tokens::of(&agent.refresh_with(&tokens.refresh, &[("scope", Some("operate"))]).await);
    assert!(app.takes(&next.access).await);
    assert!(!app.takes(&next.refresh).await, "a refresh token opens nothing");
}

#[tokio::test]
async fn a_token_is_valid_at_the_tool_server_only() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    let (_, tokens) = app.connected(&ann.key, "full").await;
    for (method, path) in [
        (Method::GET, "/v1/whoami".to_owned()),
        (Method::GET, "/v1/pixels".to_owned()),
        (Method::GET, format!("/v1/pixels/{pixel}/consent")),
        (Method::POST, "/v1/api-keys".to_owned()),
        (Method::GET, "/v1/api-keys".to_owned()),
        (Method::GET, "/v1/grants".to_owned()),
        (Method::GET, "/v1/account/export".to_owned()),
        (Method::DELETE, format!("/v1/pixels/{pixel}")),
    ] {
        for header in ["authorization", "x-api-key"] {
            let value = match header {
                "authorization" => format!("Bearer {}", tokens.access),
                _ => tokens.access.clone(),
            };
            let answer = Answer::of(app.request(method.clone(), &path).header(header, value)).await;
            assert!([401, 403].contains(&answer.status), "{method} {path}: {answer:?}");
        }
    }
    let mut browser = Browser::new(&app);
    let fields = [("api_key", &*tokens.access)];
    assert_ne!(browser.post("/console/sign-in/key", &fields).await.status, 303);
    browser.cookies.insert("assent-session".to_owned(), tokens.access.clone());
    assert_eq!(browser.get("/console").await.status, 303);
    // It makes no key, which would outlive it, and an argument is no place for it.
    let made = app.tool_by(&tokens.access, "issue_api_key", json!({"name": "x"})).await.expect(200);
    assert_eq!(made["result"]["isError"], true, "{made}");
    let keys = app.call(Method::GET, "/v1/api-keys", &ann.key, Value::Null).await.expect(200);
    assert_eq!(keys["api_keys"].as_array().unwrap().len(), 1);
    let result = call(&app, "list_pixels", json!({"api_key": tokens.access})).await;
    refused(&result, 403, "invalid api key");
}
