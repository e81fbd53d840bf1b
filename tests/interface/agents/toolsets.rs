//! The lists of tools by address and by key, and the tools that call others.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::tools::{call, call_with, done, list, message, post_to, refused};
use crate::support::{Answer, App};

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn named(app: &App, path: &str, key: Option<&str>) -> Vec<String> {
    names(&list(app, path, key).await)
}

async fn key_of_scope(app: &App, key: &str, scope: &str) -> String {
    let body = json!({"scope": scope});
    let issued = app.call(Method::POST, "/v1/api-keys", key, body).await.expect(201);
    issued["api_key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_tool_is_in_one_set_and_all_of_them_in_all() {
    let app = App::spawn().await;
    let all = named(&app, "/mcp/x/all", None).await;
    let mut of_sets = Vec::new();
    for set in ["pixels", "contacts", "privacy", "webhooks", "account"] {
        of_sets.extend(named(&app, &format!("/mcp/x/{set}"), None).await);
    }
    of_sets.sort();
    assert_eq!(of_sets, all);
    let usual = named(&app, "/mcp", None).await;
    assert!(usual.len() <= 20, "{usual:?}");
    for name in &usual {
        let is_indirect = ["find_tools", "read_with", "change_with"].contains(&name.as_str());
        assert_ne!(is_indirect, all.contains(name), "{name}");
    }
    for path in ["/mcp/x/none", "/mcp/x/", "/mcp/none"] {
        let answer = Answer::of(post_to(&app, path).json(&message("ping", json!({})))).await;
        answer.refused(404, "not found");
    }
}

#[tokio::test]
async fn lists_without_a_key_are_answered_from_memory() {
    let app = App::spawn().await;
    let paths = ["/mcp", "/mcp/readonly", "/mcp/x/contacts", "/mcp/x/all"];
    let mut before = Vec::new();
    for path in paths {
        before.push(list(&app, path, None).await);
    }
    app.pool.close().await;
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(list(&app, path, None).await, before, "{path}");
    }
}

#[tokio::test]
async fn the_list_follows_the_scope_of_the_key() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (read, operate) =
        (key_of_scope(&app, &ann.key, "read").await, key_of_scope(&app, &ann.key, "operate").await);
    let everything = named(&app, "/mcp", None).await;
    assert_eq!(named(&app, "/mcp", Some(&ann.key)).await, everything);
    let reading = named(&app, "/mcp", Some(&read)).await;
    assert!(reading.contains(&"read_with".to_owned()) && reading.contains(&"whoami".to_owned()));
    for absent in ["create_pixel", "configure_consent", "change_with", "issue_api_key"] {
        assert!(!reading.contains(&absent.to_owned()), "{absent}");
    }
    let operating = named(&app, "/mcp/x/all", Some(&operate)).await;
    assert!(operating.contains(&"create_pixel".to_owned()), "{operating:?}");
    for absent in ["delete_pixel", "revoke_api_key", "suppress_person", "list_members"] {
        assert!(!operating.contains(&absent.to_owned()), "{absent}");
    }
    // Nobody else may be given such a list.
    let request = post_to(&app, "/mcp").bearer_auth(&read).json(&message("tools/list", json!({})));
    assert_eq!(Answer::of(request).await.expect(200)["result"]["cacheScope"], "private");
    let found = call_with(
        &app,
        &[("X-API-Key", &read)],
        "find_tools",
        json!({"query": "delete a pixel from the account"}),
    )
    .await;
    assert!(!done(&found).to_string().contains("delete_pixel"), "{found}");
}

#[tokio::test]
async fn a_tool_that_is_not_listed_is_found_and_called() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for (query, name) in [
        ("list webhooks", "list_webhooks"),
        ("never store a person again", "suppress_person"),
        ("Erasure requests of visitors", "list_erasure_requests"),
        ("invite member", "invite_member"),
    ] {
        let found = call(&app, "find_tools", json!({"query": query})).await;
        let found = done(&found)["tools"].as_array().unwrap();
        assert!(found.len() <= 5 && names(found).contains(&name.to_owned()), "{query}: {found:?}");
        assert!(found[0]["arguments"]["properties"].is_object(), "{found:?}");
    }
    let within = json!({"pixel_id": pixel, "api_key": ann.key});
    let counted = json!({"tool": "count_contacts", "arguments": within});
    assert!(done(&call(&app, "read_with", counted).await)["days"].is_array());
    // The credential may also stand beside the arguments, or in the headers.
    let beside =
        json!({"tool": "show_pixel", "arguments": {"pixel_id": pixel}, "api_key": ann.key});
    assert_eq!(done(&call(&app, "read_with", beside).await)["pixel_id"], pixel.as_str());
    let bare = json!({"tool": "show_pixel", "arguments": {"pixel_id": pixel}});
    let key = [("X-API-Key", &*ann.key)];
    assert_eq!(done(&call_with(&app, &key, "read_with", bare).await)["pixel_id"], pixel.as_str());
    let listed = json!({"tool": "list_api_keys", "api_key": ann.key});
    assert!(done(&call(&app, "read_with", listed).await)["api_keys"].is_array());
    let hem = json!({"hem": "a".repeat(64)});
    let suppress = json!({"tool": "suppress_person", "arguments": hem, "api_key": ann.key});
    done(&call(&app, "change_with", suppress).await);
    // A name that a client knows from a list of another address.
    done(&call(&app, "list_webhooks", json!({"api_key": ann.key})).await);
}

#[tokio::test]
async fn a_tool_that_reads_calls_no_tool_that_changes() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let within = json!({"pixel_id": pixel, "api_key": ann.key});
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    for (tool, arguments, said) in [
        ("read_with", json!({"tool": "delete_pixel", "arguments": within}), "change_with"),
        ("read_with", json!({"tool": "change_with", "arguments": within}), "no such tool"),
        ("change_with", json!({"tool": "delete_pixle", "arguments": within}), "`delete_pixel`"),
        ("change_with", json!({"arguments": within}), "tool: field required"),
        ("change_with", json!({"tool": "delete_pixel", "arguments": "{}"}), "must be an object"),
        ("change_with", json!({"tool": "delete_pixel", "pixel_id": pixel}), "go into `arguments`"),
    ] {
        let result = call(&app, tool, arguments).await;
        assert!(result["isError"] == true && text(&result).contains(said), "{said}: {result}");
    }
    let shown = call(&app, "show_pixel", within.clone()).await;
    assert_eq!(done(&shown)["pixel_id"], pixel.as_str());
    // Misspelt arguments of the called tool are named.
    let odd = json!({"tool": "show_pixel", "arguments": {"pixelid": pixel, "api_key": ann.key}});
    assert!(text(&call(&app, "read_with", odd).await).contains("did you mean `pixel_id`?"));
    // At this address nothing changes, whatever a client knows the names of.
    for name in ["delete_pixel", "create_pixel", "create_account"] {
        let call = message("tools/call", json!({"name": name, "arguments": {"api_key": ann.key}}));
        let answer = Answer::of(post_to(&app, "/mcp/readonly").json(&call)).await.expect(200);
        let sentence = "only tools that read can be called at this address";
        refused(&answer["result"], 403, sentence);
    }
}

#[tokio::test]
async fn the_permitted_words_are_named() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let within = |more: Value| {
        let mut arguments = json!({"pixel_id": pixel, "api_key": ann.key});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let configured =
        |purposes: Value| within(json!({"controller_name": "Ann", "purposes": purposes}));
    for (tool, arguments, said) in [
        (
            "read_consent_log",
            within(json!({"state": "yes"})),
            "invalid state (state: must be accepted, declined or withdrawn)",
        ),
        (
            "configure_consent",
            configured(json!(["marketing"])),
            "choose at least one purpose (purposes: must be analytics, resolution, newsletter, \
             email_sharing, phone_sharing, partner_email, partner_calls or partner_sms)",
        ),
        ("configure_consent", configured(json!([])), "choose at least one purpose"),
        (
            "read_contacts",
            within(json!({})),
            "pass on or after (on: or after or changed_after is required)",
        ),
        (
            "read_consent_log",
            within(json!({"detail": "all"})),
            "detail: must be `summary` or `full`",
        ),
    ] {
        let result = call(&app, tool, arguments).await;
        assert_eq!(result["content"][0]["text"], said, "{tool}");
    }
}

#[tokio::test]
async fn the_log_and_the_statistics_are_short_unless_all_is_asked_for() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let ask = |tool: &'static str, more: Value| {
        let mut arguments = json!({"pixel_id": site.pixel_id, "api_key": ann.key});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&app, tool, arguments)
    };
    let short = ask("read_consent_log", json!({})).await;
    let full = ask("read_consent_log", json!({"detail": "full"})).await;
    let (short, full) = (&done(&short)["events"][0], &done(&full)["events"][0]);
    assert_eq!(short.as_object().unwrap().len(), 5, "{short}");
    for field in ["recorded_at", "consent_state", "purposes", "visitor_id", "receipt_id"] {
        assert_eq!(short[field], full[field], "{field}");
    }
    assert!(full["signature"].is_string() && full["receipt"].is_object());
    let short = ask("read_consent_stats", json!({"detail": "summary"})).await;
    let full = ask("read_consent_stats", json!({"detail": "full"})).await;
    assert_eq!(done(&short)["totals"], done(&full)["totals"]);
    assert!(done(&short).get("days").is_none() && done(&full)["days"].is_array());
}
