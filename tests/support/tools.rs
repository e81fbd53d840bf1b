//! Calls of the tool server, by hand.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Answer, App};

/// A message as the protocol of 2025 sends it.
pub fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub fn post(app: &App) -> reqwest::RequestBuilder {
    post_to(app, "/mcp")
}

pub fn post_to(app: &App, path: &str) -> reqwest::RequestBuilder {
    app.request(Method::POST, path).header("Accept", "application/json, text/event-stream")
}

/// The list of tools at an address, for a key if there is one.
pub async fn list(app: &App, path: &str, key: Option<&str>) -> Vec<Value> {
    let request = post_to(app, path).json(&message("tools/list", json!({})));
    let request = match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    let listed = Answer::of(request).await.expect(200);
    listed["result"]["tools"].as_array().unwrap().clone()
}

/// Calls a tool and returns the result, an error included.
pub async fn call(app: &App, tool: &str, arguments: Value) -> Value {
    call_with(app, &[], tool, arguments).await
}

/// As [`call`], with headers. What is refused before the tool runs is read as the tool's own refusal.
pub async fn call_with(app: &App, headers: &[(&str, &str)], tool: &str, arguments: Value) -> Value {
    let message = message("tools/call", json!({"name": tool, "arguments": arguments}));
    let request =
        headers.iter().fold(post(app), |request, (name, value)| request.header(*name, *value));
    let answer = Answer::of(request.json(&message)).await;
    if matches!(answer.status, 401 | 403) {
        assert!(answer.header("www-authenticate").is_some(), "{answer:?}");
        let problem = answer.json();
        let texts = [problem["detail"].as_str().unwrap(), &answer.text];
        let texts = texts.map(|text| json!({"type": "text", "text": text}));
        return json!({"isError": true, "content": texts});
    }
    answer.expect(200)["result"].clone()
}

#[track_caller]
pub fn refused(result: &Value, status: u16, sentence: &str) {
    assert_eq!(result["isError"], true, "{result}");
    // A list of errors of the arguments may follow.
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text == sentence || text.starts_with(&format!("{sentence} (")), "{result}");
    let problem: Value =
        serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&problem["status"], &problem["detail"]), (&json!(status), &json!(sentence)));
    assert!(problem["code"].is_string() && problem["request_id"].is_string(), "{problem}");
    assert_eq!(result.get("structuredContent"), None);
}

#[track_caller]
pub fn done(result: &Value) -> &Value {
    assert_ne!(result["isError"], true, "{result}");
    &result["structuredContent"]
}
