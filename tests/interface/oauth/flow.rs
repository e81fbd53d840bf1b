//! Connecting an app, from the documents that it finds to the tools that it calls.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::oauth::{CALLBACK, Tokens, parameter};
use crate::support::tools::{self, call, done};
use crate::support::{Answer, App, MailServer, fresh_address};

#[tokio::test]
async fn the_documents_name_what_an_app_needs() {
    let app = App::spawn().await;
    let base = &app.base;
    for path in ["", "/mcp", "/mcp/x/all", "/mcp/readonly"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let document = app.get(&path).await.expect(200);
        assert_eq!(document["resource"], format!("{base}/mcp"));
        assert_eq!(document["authorization_servers"], json!([base]));
        assert_eq!(document["scopes_supported"], json!(["read", "operate", "full"]));
    }
    let server = app.get("/.well-known/oauth-authorization-server").await.expect(200);
    assert_eq!(server["issuer"], *base);
    for (name, path) in [
        ("authorization_endpoint", "/oauth/authorize"),
        ("token_endpoint", "/oauth/token"),
        ("registration_endpoint", "/oauth/register"),
        ("revocation_endpoint", "/oauth/revoke"),
    ] {
        assert_eq!(server[name], format!("{base}{path}"));
    }
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["token_endpoint_auth_methods_supported"], json!(["none"]));
    assert_eq!(server["client_id_metadata_document_supported"], true);
    assert_eq!(server["authorization_response_iss_parameter_supported"], true);
}

#[tokio::test]
async fn a_person_allows_an_app_that_then_calls_tools() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    app.pixel(&ann.key, "ann.example").await;
    let agent = app.agent().await;
    let mut browser = app.browser_of(&ann.key).await;
    let query = agent.query(&[]);
    let page = browser.page(&format!("/oauth/authorize?{query}")).await;
    for said in ["Test agent", "unverified name", "agent.example", "Read-only", "Editor", "Admin"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let allowed =
        agent.answered(&mut browser, &query, &[("answer", "allow"), ("scope", "operate")]).await;
    assert_eq!(allowed.status, 303);
    assert_eq!(parameter(&allowed, "state").as_deref(), Some("state-1"));
    assert_eq!(parameter(&allowed, "iss").as_deref(), Some(&*app.base));
    assert_eq!(allowed.header("referrer-policy"), Some("no-referrer"));
    let redeemed = agent.redeem(&parameter(&allowed, "code").unwrap()).await;
    assert_eq!(redeemed.header("cache-control"), Some("no-store"));
    assert_eq!(redeemed.json()["expires_in"], 3600);
    let tokens = Tokens::of(&redeemed);
    assert!(tokens.access.starts_with("oat_") && tokens.refresh.starts_with("ort_"));
    assert_eq!(tokens.scope, "operate");
    let listed = app.tool_by(&tokens.access, "list_pixels", json!({})).await.expect(200);
    assert_eq!(listed["result"]["structuredContent"]["pixels"][0]["domain"], "ann.example");
    let made = json!({"domain": "new.example"});
    let made = app.tool_by(&tokens.access, "create_pixel", made).await.expect(200);
    assert_ne!(made["result"]["isError"], true, "{made}");
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200);
    let grant = app.call(Method::GET, "/v1/grants", &ann.key, Value::Null).await.expect(200);
    let grant = &grant["grants"][0];
    // Events of the same moment have no order.
    let mut events = events["events"].as_array().unwrap().iter();
    let created = events
        .find(|event| event["kind"] == "pixel_created" && event["actor"] == grant["grant_id"]);
    assert!(created.is_some(), "{grant}");
    let fields = ["app", "host", "scope", "made_by"].map(|name| grant[name].clone());
    assert_eq!(json!(fields), json!(["Test agent", null, "operate", "ann@example.com"]));
    let hour = json!("2026-03-10T12:00:00.000Z");
    assert_eq!((&grant["created_at"], &grant["last_used_at"]), (&hour, &hour));
}

#[tokio::test]
async fn a_person_denies_an_app() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let mut browser = app.browser_of(&ann.key).await;
    let denied = agent.answered(&mut browser, &agent.query(&[]), &[("answer", "deny")]).await;
    assert_eq!(denied.status, 303);
    assert!(denied.header("location").unwrap().starts_with(CALLBACK));
    assert_eq!(parameter(&denied, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(&denied, "state").as_deref(), Some("state-1"));
    assert_eq!(parameter(&denied, "iss").as_deref(), Some(&*app.base));
    assert_eq!(parameter(&denied, "code"), None);
}

#[tokio::test]
async fn whoever_has_no_account_signs_up_on_the_way() {
    let app = App::spawn().await;
    let agent = app.agent().await;
    let mut browser = Browser::new(&app);
    let path = format!("/oauth/authorize?{}", agent.query(&[("state", Some("a&b=c+d %2B\"'"))]));
    let asked = browser.get(&path).await;
    assert_eq!(asked.status, 303);
    let sign_in = asked.header("location").unwrap().to_owned();
    assert!(sign_in.starts_with("/console/sign-in?next="), "{sign_in}");
    let page = browser.page(&sign_in).await;
    let (_, sign_up) = page.split_once("<a href=\"/console/sign-up?").expect("a way to sign up");
    let sign_up = format!("/console/sign-up?{}", sign_up.split('"').next().unwrap());
    let page = browser.page(&sign_up).await;
    assert!(page.contains(&sign_in), "{page}");
    let (_, next) = page.split_once("name=\"next\" value=\"").expect("where it goes on");
    let next = next.split('"').next().unwrap().replace("&amp;", "&").replace("&#x2F;", "/");
    assert_eq!(next, path);
    let fields = [("email", "new@example.com"), ("display_name", "New"), ("next", &*next)];
    leads_to(&browser.post("/console/sign-up", &fields).await, &path);
    let tokens = agent.connect(&mut browser, "full").await;
    assert!(app.takes(&tokens.access).await);
}

#[tokio::test]
async fn whoever_is_signed_out_signs_in_by_mail_and_comes_back() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let agent = app.agent().await;
    let mut browser = Browser::new(&app);
    let path = format!("/oauth/authorize?{}", agent.query(&[]));
    let before = MailServer::shared().inbox(&ann.email).len();
    browser.post("/console/sign-in", &[("email", &ann.email), ("next", &path)]).await;
    let code = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap().code();
    let fields = [("code", &*code), ("next", &*path)];
    leads_to(&browser.post("/console/sign-in/code", &fields).await, &path);
    let before = MailServer::shared().inbox(&ann.email).len();
    let tokens = agent.connect(&mut browser, "read").await;
    assert!(app.takes(&tokens.access).await);
    let mails = MailServer::shared().wait_for(&ann.email, before + 1).await;
    let mail = mails.iter().find(|mail| mail.text().contains("Test agent"));
    let text = mail.expect("a mail about the app").text();
    assert!(text.contains("registered itself") && text.contains("Read-only"), "{text}");
}

#[tokio::test]
async fn a_refresh_token_gives_new_tokens_once() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (agent, first) = app.connected(&ann.key, "operate").await;
    app.clock.advance(Duration::hours(1));
    assert!(!app.takes(&first.access).await, "an access token is valid for an hour");
    let second = Tokens::of(&agent.refresh(&first.refresh).await);
    assert!(app.takes(&second.access).await && second.scope == "operate");
    app.clock.advance(Duration::days(59));
    let third = Tokens::of(&agent.refresh(&second.refresh).await);
    assert!(app.takes(&third.access).await);
    app.clock.advance(Duration::days(60));
    let late = agent.refresh(&third.refresh).await;
    assert_eq!(late.expect(400)["error"], "invalid_grant");
}

#[tokio::test]
async fn a_tool_beyond_the_scope_asks_for_more() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (_, read) = app.connected(&ann.key, "read").await;
    let (_, operate) = app.connected(&ann.key, "operate").await;
    let (_, full) = app.connected(&ann.key, "full").await;
    let pixel = json!({"domain": "ann.example"});
    for (tokens, tool, arguments, needed) in [
        (&read, "create_pixel", pixel.clone(), Some("operate")),
        (&read, "list_members", json!({}), None),
        (&operate, "create_pixel", pixel.clone(), None),
        (&operate, "list_members", json!({}), Some("full")),
        (&operate, "delete_pixel", json!({"pixel_id": "x"}), Some("full")),
        (&read, "delete_pixel", json!({"pixel_id": "x"}), Some("full")),
        (&full, "list_members", json!({}), None),
    ] {
        let answer = app.tool_by(&tokens.access, tool, arguments).await;
        let Some(needed) = needed else {
            assert_eq!(answer.status, 200, "{tool}: {answer:?}");
            continue;
        };
        answer.refused(403, "key scope does not allow this");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
        assert!(challenge.contains(&format!("scope=\"{needed}\"")), "{tool}: {challenge}");
        assert!(challenge.contains("resource_metadata="), "{challenge}");
    }
    // Some clients refresh before they ask for more, which cannot help them.
    let (agent, read) = app.connected(&ann.key, "read").await;
    app.tool_by(&read.access, "create_pixel", pixel.clone()).await;
    assert_eq!(agent.refresh(&read.refresh).await.expect(400)["error"], "invalid_grant");
    app.clock.advance(Duration::seconds(10));
    let read = Tokens::of(&agent.refresh(&read.refresh).await);
    let by_change = json!({"tool": "create_pixel", "arguments": pixel});
    assert_eq!(app.tool_by(&read.access, "change_with", by_change).await.status, 403);
}

#[tokio::test]
async fn the_list_of_tools_follows_the_scope_of_the_token() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (_, read) = app.connected(&ann.key, "read").await;
    let names = |tools: Vec<Value>| {
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let listed = names(tools::list(&app, "/mcp", Some(&read.access)).await);
    assert!(listed.contains(&"list_pixels".to_owned()), "{listed:?}");
    assert!(!listed.contains(&"create_pixel".to_owned()), "{listed:?}");
}

#[tokio::test]
async fn signing_up_needs_no_authorization_and_keys_work_as_before() {
    let app = App::spawn().await;
    let body = json!({"email": "new@example.com", "display_name": "New"});
    done(&call(&app, "create_account", body).await);
    let ann = app.account("ann@example.com").await;
    assert!(app.takes(&ann.key).await);
    done(&call(&app, "list_pixels", json!({"api_key": ann.key})).await);
    // What the arguments hold counts before the headers.
    let by_argument = json!({"api_key": ann.key});
    let answer = app.tool_by("oat_expired", "list_pixels", by_argument).await.expect(200);
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    for (tool, scope) in
        [("list_pixels", "operate"), ("create_pixel", "operate"), ("list_members", "read")]
    {
        let message = json!({"name": tool, "arguments": {}});
        let request = tools::post(&app).json(&tools::message("tools/call", message));
        let answer = Answer::of(request).await;
        answer.refused(401, "api key required");
        let challenge = answer.header("www-authenticate").unwrap();
        assert_eq!(
            challenge,
            format!(
                "Bearer realm=\"assent\", scope=\"{scope}\", resource_metadata=\"{}\"",
                app.url("/.well-known/oauth-protected-resource/mcp")
            )
        );
    }
}

#[tokio::test]
async fn every_invalid_credential_is_challenged_whatever_the_message() {
    let app = App::spawn().await;
    let revoked = app.revoked_key().await;
    for token in ["oat_unknown", "px_unknown", "nonsense", &revoked] {
        for (method, params) in [
            (
                "initialize",
                json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "x", "version": "1"}}),
            ),
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "list_plans"})),
            ("tools/call", json!({"name": "whoami"})),
            ("ping", json!({})),
        ] {
            let request = tools::post(&app).bearer_auth(token);
            let answer = Answer::of(request.json(&tools::message(method, params))).await;
            assert_eq!(answer.status, 401, "{token} {method}: {}", answer.text);
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
            assert!(challenge.contains("scope=") && challenge.contains("resource_metadata="));
        }
    }
}

#[tokio::test]
async fn pages_of_any_origin_may_run_the_protocol() {
    let app = App::spawn().await;
    for (method, path) in [
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("POST", "/oauth/register"),
        ("POST", "/oauth/token"),
        ("POST", "/oauth/revoke"),
    ] {
        let request = app.request(Method::from_bytes(method.as_bytes()).unwrap(), path);
        let answer = Answer::of(request.header("origin", "https://browser.example")).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        let preflight = app.request(Method::OPTIONS, path);
        assert_eq!(Answer::of(preflight).await.status, 204, "{path}");
    }
    let page = app.get("/oauth/authorize").await;
    assert_eq!(page.header("access-control-allow-origin"), None);
}
