//! What a model pays for the tools: the lists, the instructions and the usual answers, in tokens
//! (characters of compact JSON / 4). The figures are printed; `--no-capture` shows them.

use serde_json::{Value, json};

use crate::support::tools::{call, list, message, post};
use crate::support::{Answer, App};

fn tokens(value: &Value) -> usize {
    value.to_string().chars().count().div_ceil(4)
}

#[tokio::test]
async fn the_lists_stay_within_their_budgets() {
    let app = App::spawn().await;
    for (path, most) in [
        ("/mcp", 4_200),
        ("/mcp/readonly", 5_400),
        ("/mcp/x/pixels", 3_700),
        ("/mcp/x/contacts", 2_000),
        ("/mcp/x/privacy", 3_050),
        ("/mcp/x/webhooks", 1_900),
        ("/mcp/x/account", 4_100),
        ("/mcp/x/all", 49_500),
    ] {
        let tools = list(&app, path, None).await;
        let (count, spent) = (tools.len(), tokens(&json!(tools)));
        println!("{path}: {count} tools, {spent} tokens");
        assert!(spent < most, "{path}: {spent} tokens");
        assert!(path != "/mcp" || count <= 20, "{count} tools");
        for tool in &tools {
            assert!(tool["title"].is_string(), "{}", tool["name"]);
            assert_eq!(tool["annotations"]["title"], tool["title"], "{}", tool["name"]);
            assert!(path == "/mcp/x/all" || tool.get("outputSchema").is_none(), "{tool}");
        }
    }
}

#[tokio::test]
async fn the_instructions_fit_and_begin_with_the_rule_about_secrets() {
    let app = App::spawn().await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let answer = Answer::of(post(&app).json(&message("initialize", hello))).await.expect(200);
    let instructions = answer["result"]["instructions"].as_str().unwrap();
    println!("instructions: {} bytes", instructions.len());
    assert!(instructions.len() <= 1_900, "{}", instructions.len());
    assert!(instructions.starts_with("Never put a key or a token"), "{instructions}");
}

#[tokio::test]
async fn usual_answers_stay_within_their_budgets() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    for number in 0..10 {
        app.recorded(&site.acceptance(&format!("visitor-{number}"))).await;
    }
    let about = |more: Value| {
        let mut arguments = json!({"pixel_id": site.pixel_id, "api_key": ann.key});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (tool, arguments, most) in [
        ("read_consent_log", about(json!({})), 700),
        ("read_consent_log", about(json!({"detail": "full"})), 2_300),
        ("read_consent_stats", about(json!({})), 150),
        ("check_consent", json!({"pixel_id": site.pixel_id, "visitor_id": "visitor-1"}), 300),
        ("whoami", json!({"api_key": ann.key}), 150),
        ("show_pixel", about(json!({})), 300),
        ("find_tools", json!({"query": "erase a person's contact"}), 1_200),
        ("find_tools", json!({}), 4_700),
    ] {
        let result = call(&app, tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let spent = text.chars().count().div_ceil(4);
        println!("{tool}: {spent} tokens");
        assert!(spent < most, "{tool}: {spent} tokens");
    }
}
