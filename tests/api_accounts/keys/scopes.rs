//! Scopes of API keys: everything, reversible work, or reading only.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::process::{program, run, said};
use crate::support::tools::{call, done, list, refused};
use crate::support::{Account, Answer, App};

const REFUSAL: &str = "key scope does not allow this";

/// The rule, in the terms of the interface.
fn may(scope: &str, method: &str, path: &str) -> bool {
    let about_the_account =
        ["/v1/account", "/v1/api-keys", "/v1/grants", "/v1/suppressions", "/v1/billing"];
    let is_below = |start: &str| path == start || path.starts_with(&format!("{start}/"));
    let governs = ["/checkout", "/portal", "/activate", "/complete"];
    match scope {
        "full" => true,
        "read" => method == "get" && path != "/v1/account/export",
        "operate" => {
            method != "delete"
                && !about_the_account.iter().any(|start| is_below(start))
                && !governs.iter().any(|end| path.ends_with(end))
                && !path.ends_with("/shared-links")
                && (method != "post" || !path.contains("/move"))
                && (method, path) != ("post", "/v1/accounts")
                && (method, path) != ("post", "/v1/webhooks")
                && !(is_below("/v1/webhooks") && (method == "patch" || path.ends_with("/secret")))
        }
        _ => unreachable!(),
    }
}

async fn key_of_scope(app: &App, account: &Account, scope: &str) -> String {
    let body = json!({"scope": scope, "name": scope});
    let issued = app.call(Method::POST, "/v1/api-keys", &account.key, body).await.expect(201);
    issued["api_key"].as_str().unwrap().to_owned()
}

async fn keys_of_all_scopes(app: &App, account: &Account) -> Vec<(&'static str, String)> {
    let mut keys = Vec::new();
    for scope in ["read", "operate", "full"] {
        keys.push((scope, key_of_scope(app, account, scope).await));
    }
    keys
}

/// Method, path and id of every operation that is described and looks at keys.
fn operations(description: &Value) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let paths = description["paths"].as_object().unwrap().iter();
    for (path, item) in paths.filter(|(path, _)| path.contains("/v1/")) {
        for (method, operation) in item.as_object().unwrap() {
            let securities = operation["security"].as_array().into_iter().flatten();
            let takes_key = securities.clone().any(|security| security.get("api_key").is_some());
            if takes_key || operation["operationId"] == "create_account" {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                found.push((method.clone(), path.clone(), id));
            }
        }
    }
    found
}

/// A path in which nothing but the account is there: the scope is judged before anything is looked up.
fn filled(path: &str, account_id: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{account_id}" => account_id,
        part if part.starts_with('{') => "nothing",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn sentence(answer: &Answer) -> Option<String> {
    let body = serde_json::from_str::<Value>(&answer.text).ok()?;
    body["detail"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn every_operation_is_for_the_scopes_that_the_rule_names() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    let description = app.get("/openapi.json").await.expect(200);
    let operations = operations(&description);
    assert!(operations.len() >= 40, "{}", operations.len());
    for (scope, key) in keys_of_all_scopes(&app, &operator).await {
        for (method, path, id) in &operations {
            // The account is gone after it.
            if (scope, id.as_str()) == ("full", "delete_account") {
                continue;
            }
            let verb = method.to_uppercase().parse().unwrap();
            let mut request = app.request(verb, &filled(path, &operator.account_id));
            // The owner of the key matters for some of these requests only.
            match id.as_str() {
                "order_code" => request = request.json(&json!({"purpose": "keys"})),
                "create_account" => {
                    let email = format!("{scope}@example.com");
                    request = request.json(&json!({"email": email, "display_name": "New"}));
                }
                _ => {}
            }
            let answer = Answer::of(request.bearer_auth(&key)).await;
            let is_refused = sentence(&answer).as_deref() == Some(REFUSAL);
            let expected = !may(scope, method, path);
            assert_eq!(is_refused, expected, "{scope}: {method} {path}: {}", answer.text);
            assert!(!is_refused || answer.status == 403, "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn tools_are_for_the_same_scopes() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    let operations = operations(&app.get("/openapi.json").await.expect(200));
    let tools = list(&app, "/mcp/x/all", None).await;
    let mut checked = 0;
    for (scope, key) in keys_of_all_scopes(&app, &operator).await {
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            let known = operations.iter().find(|(_, _, id)| id == name);
            let (Some((method, path, _)), false) = (known, name == "delete_account") else {
                continue;
            };
            let mut arguments = json!({"api_key": key});
            if tool["inputSchema"]["properties"].get("account_id").is_some()
                && name != "issue_api_key"
            {
                arguments["account_id"] = json!(operator.account_id);
            }
            if name == "order_code" {
                arguments["purpose"] = json!("keys");
            }
            // The owner of the key determines how the arguments are read.
            if name == "create_account" {
                arguments["email"] = json!("new@example.com");
                arguments["display_name"] = json!("New");
            }
            let result = call(&app, name, arguments).await;
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            assert_eq!(text == REFUSAL, !may(scope, method, path), "{scope}: {name}: {result}");
            checked += 1;
        }
    }
    assert!(checked > 90, "{checked}");
}

#[tokio::test]
async fn a_key_may_do_everything_unless_it_is_issued_for_less() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let issue = |body: Value| app.call(Method::POST, "/v1/api-keys", &ann.key, body);
    issue(json!({"name": "plain"})).await.expect(201);
    issue(json!({"name": "null", "scope": null})).await.expect(201);
    let reading = key_of_scope(&app, &ann, "read").await;
    for scope in [json!("admin"), json!("FULL"), json!(""), json!(7), json!(["read"])] {
        issue(json!({"scope": scope})).await.invalid(&["body", "scope"]);
    }
    let token = app.request(Method::POST, &format!("/v1/api-keys?account_id={}", ann.account_id));
    let token = token.header("x-signup-token", &ann.signup_token);
    Answer::of(token.json(&json!({"scope": "operate", "name": "token"}))).await.expect(201);

    let listed = app.call(Method::GET, "/v1/api-keys", &reading, Value::Null).await.expect(200);
    let keys = listed["api_keys"].as_array().unwrap();
    let mut scopes = keys.iter().map(|key| (&key["name"], &key["scope"])).collect::<Vec<_>>();
    scopes.sort_by_key(|(name, _)| name.to_string());
    let expected = [
        (json!("null"), json!("full")),
        (json!("plain"), json!("full")),
        (json!("read"), json!("read")),
        (json!("token"), json!("operate")),
        (Value::Null, json!("full")),
    ];
    assert_eq!(scopes, expected.iter().map(|(name, scope)| (name, scope)).collect::<Vec<_>>());
    let who = app.call(Method::GET, "/v1/whoami", &reading, Value::Null).await.expect(200);
    assert_eq!(who["key_scope"], "read");
    let (_, output, _) = {
        let mut command = program(&app.database.url);
        command.args(["keys", &ann.account_id]);
        said(&run(command).await)
    };
    assert!(output.contains("  operate  issued"), "{output}");
}

#[tokio::test]
async fn a_lesser_key_does_its_own_work_and_brings_no_greater_one() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let [reading, operating] =
        [key_of_scope(&app, &ann, "read").await, key_of_scope(&app, &ann, "operate").await];
    let pixel = json!({"domain": "shop.example"});
    app.call(Method::POST, "/v1/pixels", &reading, pixel.clone()).await.refused(403, REFUSAL);
    let made = app.call(Method::POST, "/v1/pixels", &operating, pixel).await.expect(201);
    let path = format!("/v1/pixels/{}", made["pixel_id"].as_str().unwrap());
    app.call(Method::GET, &path, &reading, Value::Null).await.expect(200);
    for key in [&reading, &operating] {
        app.call(Method::DELETE, &path, key, Value::Null).await.refused(403, REFUSAL);
        let order = json!({"scope": "read"});
        app.call(Method::POST, "/v1/api-keys", key, order).await.refused(403, REFUSAL);
        let ending = format!("/v1/api-keys/{}", &ann.key[..12]);
        app.call(Method::DELETE, &ending, key, Value::Null).await.refused(403, REFUSAL);
        refused(&call(&app, "issue_api_key", json!({"api_key": key})).await, 403, REFUSAL);
    }
    done(&call(&app, "list_pixels", json!({"api_key": reading})).await);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
}

#[tokio::test]
async fn the_scope_is_judged_after_the_account_and_before_what_is_asked_about() {
    let app = App::spawn().await;
    let [ann, bob] = [app.account("ann@example.com").await, app.account("bob@example.com").await];
    let reading = key_of_scope(&app, &ann, "read").await;
    let theirs = app.pixel(&bob.key, "bob.example").await;
    // Its own, another's, nobody's: a key that may not ask learns nothing.
    for pixel_id in [theirs.as_str(), "unknown"] {
        let path = format!("/v1/pixels/{pixel_id}");
        app.call(Method::DELETE, &path, &reading, Value::Null).await.refused(403, REFUSAL);
    }
    let broken = app.request(Method::POST, "/v1/pixels").bearer_auth(&reading).body("{");
    Answer::of(broken).await.refused(403, REFUSAL);
    app.set_status(&ann.account_id, "suspended").await;
    let path = format!("/v1/pixels/{theirs}");
    let standing = app.call(Method::DELETE, &path, &reading, Value::Null).await;
    standing.refused(403, "account is not in good standing");
    let keys = app.call(Method::POST, "/v1/api-keys", &reading, Value::Null).await;
    keys.refused(403, "account is not active");
}

#[tokio::test]
async fn refusals_of_scope_do_not_count_as_keys_that_fail() {
    let app = App::spawn_with(&[("RATE_LIMITS", "on")]).await;
    let ann = app.account("ann@example.com").await;
    let reading = key_of_scope(&app, &ann, "read").await;
    for _ in 0..70 {
        let refused = app.call(Method::DELETE, "/v1/suppressions/x", &reading, Value::Null).await;
        refused.refused(403, REFUSAL);
    }
}
