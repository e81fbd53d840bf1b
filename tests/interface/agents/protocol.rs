//! The description of the tool server, and the texts that a model reads.

use serde_json::{Value, json};

use crate::support::tools::{list, message, post};
use crate::support::{Answer, App};

async fn ask(app: &App, method: &str, params: Value) -> Value {
    Answer::of(post(app).json(&message(method, params))).await.expect(200)["result"].clone()
}

#[tokio::test]
async fn the_list_of_tools_says_nothing_that_tells_a_model_nothing() {
    let app = App::spawn().await;
    for path in ["/mcp", "/mcp/x/account", "/mcp/readonly"] {
        let tools = json!(list(&app, path, None).await).to_string();
        for waste in ["$schema", "\"null\"", "\\n", "uint32", "int64", "outputSchema"] {
            assert!(!tools.contains(waste), "{path}: {waste}");
        }
    }
}

#[tokio::test]
async fn tools_have_the_names_of_the_operations() {
    let app = App::spawn().await;
    let description = app.get("/openapi.json").await.expect(200);
    let items = description["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let operations =
        operations.map(|operation| operation["operationId"].clone()).collect::<Vec<_>>();
    for tool in list(&app, "/mcp/x/all", None).await {
        assert!(operations.contains(&tool["name"]), "{}", tool["name"]);
    }
}

#[tokio::test]
async fn the_instructions_name_every_listed_tool_that_takes_no_credential() {
    let app = App::spawn().await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let instructions = ask(&app, "initialize", hello).await["instructions"].clone();
    let instructions = instructions.as_str().unwrap();
    for tool in list(&app, "/mcp", None).await {
        let takes = |name: &str| tool["inputSchema"]["properties"].get(name).is_some();
        if !takes("api_key") && !takes("signup_token") {
            let name = format!("`{}`", tool["name"].as_str().unwrap());
            assert!(instructions.contains(&name), "{name}");
        }
    }
}

#[tokio::test]
async fn answers_that_change_only_with_the_program_may_be_cached_for_an_hour() {
    let app = App::spawn().await;
    let guide = json!({"uri": format!("{}/guide.md", app.base)});
    for (method, params) in [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", guide),
    ] {
        let result = ask(&app, method, params).await;
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&json!(3_600_000), &json!("public")),
            "{method}"
        );
    }
    // A notice changes with its site.
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let notice = json!({"uri": format!("{}/v1/policy/{}", app.base, site.pixel_id)});
    let notice = ask(&app, "resources/read", notice).await;
    assert!(notice["contents"][0]["text"].is_string() && notice["ttlMs"] != 3_600_000, "{notice}");
}

/// Negotiates a version as clients do, and continues with the agreed one.
async fn agreed(app: &App, asked: &str) -> String {
    let hello = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let answer = Answer::of(post(app).json(&message("initialize", hello))).await.expect(200);
    let version = answer["result"]["protocolVersion"].as_str().unwrap().to_owned();
    for name in ["notifications/initialized", "tools/list"] {
        let mut message = message(name, json!({}));
        if name.starts_with("notifications/") {
            message.as_object_mut().unwrap().remove("id");
        }
        let request = post(app).header("MCP-Protocol-Version", &version);
        let answer = Answer::of(request.json(&message)).await;
        assert!(answer.status < 300, "{asked}, {name}: {}", answer.text);
    }
    version
}

#[tokio::test]
async fn the_newest_version_not_newer_than_the_requested_one_is_used() {
    let app = App::spawn().await;
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        // The only version that supports batches.
        ("2025-03-26", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-09-01", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        ("2024-10-07", "2024-11-05"),
        ("0.1", "2024-11-05"),
    ] {
        assert_eq!(agreed(&app, asked).await, spoken, "{asked}");
    }
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_invalid_and_no_unknown_method() {
    let app = App::spawn().await;
    for (method, params, said) in [
        (
            "tools/call",
            json!({"name": "list_plans", "arguments": "{}"}),
            "params.arguments: must be an object",
        ),
        (
            "tools/call",
            json!({"name": "list_plans", "arguments": [1]}),
            "params.arguments: must be an object",
        ),
        (
            "tools/call",
            json!({"name": "list_plans", "arguments": 7}),
            "params.arguments: must be an object",
        ),
        ("tools/call", json!({"arguments": {}}), "params.name: field required"),
        ("tools/call", json!({"name": ["list_plans"]}), "params.name: must be a string"),
        ("tools/call", json!({}), "params.name: field required"),
        ("tools/call", json!("list_plans"), "params: must be an object"),
        ("tools/call", json!(["list_plans", {}]), "params: must be an object"),
        ("resources/read", json!(7), "params: must be an object"),
        ("tools/call", Value::Null, "params: field required"),
        ("resources/read", json!({}), "params.uri: field required"),
        ("resources/read", json!({"uri": 7}), "params.uri: must be a string"),
        ("prompts/get", json!({"arguments": {}}), "params.name: field required"),
        (
            "prompts/get",
            json!({"name": "install_pixel", "arguments": []}),
            "params.arguments: must be an object",
        ),
        ("tools/list", json!({"cursor": 7}), "params.cursor: must be a string"),
        ("initialize", json!({"capabilities": {}}), "params.protocolVersion: field required"),
    ] {
        let answer = Answer::of(post(&app).json(&message(method, params.clone()))).await;
        assert_eq!(answer.status, 200, "{method} {params}: {}", answer.text);
        let error = &answer.expect(200)["error"];
        assert_eq!(error["code"], -32602, "{method} {params}: {error}");
        assert_eq!(error["message"], said, "{method} {params}");
    }
    let without = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"});
    let answer = Answer::of(post(&app).json(&without)).await.expect(200);
    assert_eq!(answer["error"]["code"], -32602);
    for unknown in ["tools/calls", "TOOLS/CALL", "resources/subscribe", "no/such/method"] {
        let answer = Answer::of(post(&app).json(&message(unknown, json!({})))).await;
        assert_eq!(answer.expect(200)["error"]["code"], -32601, "{unknown}");
    }
    // Valid parameters work, with and without arguments.
    for params in [json!({"name": "list_plans"}), json!({"name": "list_plans", "arguments": null})]
    {
        let result = ask(&app, "tools/call", params).await;
        assert!(result["structuredContent"]["plans"].is_array(), "{result}");
    }
}

/// The rules of the schema of 2025-12-11 for what is in it.
#[tokio::test]
async fn a_registry_reads_what_the_server_is() {
    let app = App::spawn_with(&[("BASE_URL", "https://consent.shop.example")]).await;
    let server = app.get("/server.json").await.expect(200);
    assert!(server["$schema"].as_str().unwrap().ends_with("/2025-12-11/server.schema.json"));
    assert_eq!(server["name"], "example.shop.consent/assent");
    assert!((1..=100).contains(&server["description"].as_str().unwrap().len()));
    assert!((1..=100).contains(&server["title"].as_str().unwrap().len()));
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(server["websiteUrl"], "https://consent.shop.example");
    let remote = &server["remotes"][0];
    assert_eq!(
        (&remote["type"], &remote["url"]),
        (&json!("streamable-http"), &json!("https://consent.shop.example/mcp"))
    );
    assert_eq!(
        (&remote["headers"][0]["name"], &remote["headers"][0]["isSecret"]),
        (&json!("Authorization"), &json!(true))
    );
}
