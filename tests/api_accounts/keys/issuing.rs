//! Issuing keys, and who a key belongs to: one test per row and per refusal.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::visitors::fields;
use crate::support::{Answer, App};

async fn who(app: &App, header: &str, value: &str) -> Answer {
    Answer::of(app.request(Method::GET, "/v1/whoami").header(header, value)).await
}

async fn issue(app: &App, header: &str, value: &str) -> Answer {
    Answer::of(app.request(Method::POST, "/v1/api-keys").header(header, value)).await
}

#[tokio::test]
async fn a_confirmed_signup_gets_a_key() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let issued = app.issue_key(&ann.account_id, &ann.signup_token).await.expect(201);
    assert_eq!(fields(&issued), ["api_key", "prefix"]);
    let key = issued["api_key"].as_str().unwrap();
    assert!(key.starts_with("px_") && key.len() >= 43, "{key}");
    assert!(key[3..].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
    assert_eq!(issued["prefix"], key[..12]);
    assert_ne!(key, ann.key);
}

#[tokio::test]
async fn a_key_issues_another_one_and_both_work() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let issued = issue(&app, "authorization", &format!("Bearer {}", ann.key)).await.expect(201);
    let second = issued["api_key"].as_str().unwrap();
    let third = issue(&app, "x-api-key", second).await.expect(201);
    for key in [&ann.key, second, third["api_key"].as_str().unwrap()] {
        let who = who(&app, "x-api-key", key).await.expect(200);
        assert_eq!(who["account_id"], json!(ann.account_id));
        assert_eq!(who["key_prefix"], key[..12]);
    }
}

#[tokio::test]
async fn a_key_is_not_issued_to_nobody() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let path = format!("/v1/api-keys?account_id={}", ann.account_id);
    for path in ["/v1/api-keys", &path] {
        let answer = Answer::of(app.request(Method::POST, path)).await;
        answer.refused(401, "api key or signup token required");
    }
}

#[tokio::test]
async fn a_signup_token_must_be_the_accounts_own() {
    let app = App::spawn().await;
    let [ann, bob] = [app.account("ann@example.com").await, app.account("bob@example.com").await];
    for token in ["st_unknown", &bob.signup_token, &ann.key] {
        app.issue_key(&ann.account_id, token).await.refused(401, "signup token required");
    }
    for id in ["acc_unknown", "no%20id"] {
        app.issue_key(id, &ann.signup_token).await.refused(401, "signup token required");
    }
}

#[tokio::test]
async fn a_signup_token_needs_its_account_id() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for id in ["", "%20"] {
        app.issue_key(id, &ann.signup_token).await.refused(400, "account_id is required");
    }
    issue(&app, "x-signup-token", &ann.signup_token).await.refused(400, "account_id is required");
}

#[tokio::test]
async fn a_pending_account_gets_no_key() {
    let app = App::spawn().await;
    let opened = app.sign_up("ann@example.com").await;
    let (id, token) =
        (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str().unwrap());
    app.issue_key(id, token).await.refused(403, "account is not active");
    let (_, pending) = app.pending_account("pending@example.com").await;
    issue(&app, "x-api-key", &pending).await.refused(403, "account is not active");
    let suspended = app.suspended_key().await;
    assert_eq!(issue(&app, "x-api-key", &suspended).await.status, 403);
}

#[tokio::test]
async fn an_active_account_confirms_its_address_before_its_first_key() {
    let app = App::spawn().await;
    let opened = app.sign_up("ann@example.com").await;
    let (id, token) =
        (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str().unwrap());
    app.set_status(id, "active").await;
    app.issue_key(id, token).await.refused(403, "confirm your email before creating an API key");
}

#[tokio::test]
async fn an_active_account_that_holds_a_key_gets_another_before_it_is_confirmed() {
    let app = App::spawn().await;
    let (id, key) = app.pending_account("ann@example.com").await;
    app.set_status(&id, "active").await;
    issue(&app, "x-api-key", &key).await.expect(201);
}

#[tokio::test]
async fn a_bad_key_issues_none() {
    let app = App::spawn().await;
    let revoked = app.revoked_key().await;
    issue(&app, "authorization", "Basic eDp5").await.refused(401, "api key required");
    issue(&app, "authorization", "").await.refused(401, "api key required");
    issue(&app, "authorization", "Bearer ").await.refused(401, "api key required");
    issue(&app, "authorization", "Bearer px_unknown").await.refused(401, "invalid api key");
    issue(&app, "authorization", "Bearer nonsense").await.refused(401, "invalid api key");
    let bearer = format!("Bearer {revoked}");
    issue(&app, "authorization", &bearer).await.refused(401, "api key revoked");
}

#[tokio::test]
async fn a_key_tells_whose_it_is() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let who = who(&app, "authorization", &format!("Bearer {}", ann.key)).await.expect(200);
    assert_eq!(who["account_id"], json!(ann.account_id));
    assert_eq!(who["plan"], "free");
    assert_eq!(who["status"], "active");
    assert_eq!(who["key_prefix"], ann.key[..12]);
}

#[tokio::test]
async fn a_key_of_a_pending_account_tells_whose_it_is() {
    let app = App::spawn().await;
    let (_, pending) = app.pending_account("pending@example.com").await;
    assert_eq!(who(&app, "x-api-key", &pending).await.expect(200)["status"], "pending_email");
}

#[tokio::test]
async fn whoami_requires_a_valid_key() {
    let app = App::spawn().await;
    let revoked = app.revoked_key().await;
    app.get("/v1/whoami").await.refused(401, "api key required");
    for header in ["", "Bearer", "Bearer ", "Basic eDp5", "px_unknown", "Token px_unknown"] {
        who(&app, "authorization", header).await.refused(401, "api key required");
    }
    who(&app, "x-api-key", " ").await.refused(401, "api key required");
    for key in ["px_unknown", "nonsense", "px_'; DROP TABLE accounts; --", &"x".repeat(4000)] {
        who(&app, "x-api-key", key).await.refused(401, "invalid api key");
        who(&app, "authorization", &format!("Bearer {key}")).await.refused(401, "invalid api key");
    }
    who(&app, "x-api-key", &revoked).await.refused(401, "api key revoked");
    who(&app, "authorization", &format!("Bearer {revoked}")).await.refused(401, "api key revoked");
}

#[tokio::test]
async fn a_key_with_one_changed_character_is_invalid() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let last = if ann.key.ends_with('a') { "b" } else { "a" };
    let changed = format!("{}{last}", &ann.key[..ann.key.len() - 1]);
    for key in [changed.as_str(), &ann.key[..12], &ann.key.to_lowercase(), &format!("{}a", ann.key)]
    {
        who(&app, "x-api-key", key).await.refused(401, "invalid api key");
    }
}

#[tokio::test]
async fn a_key_is_sent_as_bearer_of_any_case_or_as_x_api_key() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for scheme in ["Bearer", "bearer", "BEARER", "Bearer "] {
        who(&app, "authorization", &format!("{scheme} {}", ann.key)).await.expect(200);
    }
    who(&app, "x-api-key", &ann.key).await.expect(200);
    who(&app, "X-API-KEY", &format!(" {} ", ann.key)).await.expect(200);
}

#[tokio::test]
async fn the_answers_that_hold_secrets_are_not_kept_by_caches() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let issued = app.issue_key(&ann.account_id, &ann.signup_token).await;
    assert_eq!(issued.header("cache-control"), Some("no-store"));
    let who = app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await;
    assert_eq!(who.header("cache-control"), Some("no-store"));
}
