//! Attacks on the authorization server, in tables: each row is one attack, and what becomes of it.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, token_of};
use crate::support::oauth::{Agent, CALLBACK, Tokens, VERIFIER, challenge_of, parameter};
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::{Answer, App};

type Changes<'a> = Vec<(&'a str, Option<&'a str>)>;

/// What a request for authorization leads to.
#[derive(Clone, Copy)]
enum Told {
    /// A page for the person; nothing is sent anywhere.
    Person,
    /// The app, at its own address, with this error.
    Agent(&'static str),
}

#[tokio::test]
async fn requests_for_authorization_that_are_not_the_apps_own() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let other = app.agent_at("https://other.example/callback").await;
    let short = "x".repeat(42);
    let padded = format!("{}=", challenge_of(VERIFIER));
    let long = "s".repeat(2_001);
    let slash = format!("{}/mcp/", app.base);
    let foreign = format!("{}/mcp", app.base.replace("http://", "https://"));
    let table: Vec<(&str, Changes<'_>, Told)> = vec![
        ("no client", vec![("client_id", None)], Told::Person),
        ("unknown client", vec![("client_id", Some("oc_unknown"))], Told::Person),
        ("empty client", vec![("client_id", Some(""))], Told::Person),
        ("another app's client", vec![("client_id", Some(&*other.client_id))], Told::Person),
        (
            "foreign host",
            vec![("redirect_uri", Some("https://evil.example/callback"))],
            Told::Person,
        ),
        (
            "longer path",
            vec![("redirect_uri", Some("https://agent.example/callback/x"))],
            Told::Person,
        ),
        ("shorter path", vec![("redirect_uri", Some("https://agent.example/"))], Told::Person),
        (
            "added query",
            vec![("redirect_uri", Some("https://agent.example/callback?x=1"))],
            Told::Person,
        ),
        (
            "fragment",
            vec![("redirect_uri", Some("https://agent.example/callback#x"))],
            Told::Person,
        ),
        (
            "subdomain",
            vec![("redirect_uri", Some("https://x.agent.example/callback"))],
            Told::Person,
        ),
        (
            "suffix",
            vec![("redirect_uri", Some("https://agent.example.evil.example/callback"))],
            Told::Person,
        ),
        ("port", vec![("redirect_uri", Some("https://agent.example:8443/callback"))], Told::Person),
        ("plain http", vec![("redirect_uri", Some("http://agent.example/callback"))], Told::Person),
        (
            "credentials",
            vec![("redirect_uri", Some("https://a@agent.example/callback"))],
            Told::Person,
        ),
        (
            "host in credentials",
            vec![("redirect_uri", Some("https://agent.example@evil.example/callback"))],
            Told::Person,
        ),
        (
            "backslash",
            vec![("redirect_uri", Some("https://agent.example\\@evil.example/callback"))],
            Told::Person,
        ),
        ("dots", vec![("redirect_uri", Some("https://agent.example/x/../callback"))], Told::Person),
        ("encoded", vec![("redirect_uri", Some("https://agent.example/%63allback"))], Told::Person),
        (
            "upper case",
            vec![("redirect_uri", Some("https://AGENT.example/callback"))],
            Told::Person,
        ),
        ("script", vec![("redirect_uri", Some("javascript:alert(1)"))], Told::Person),
        ("data", vec![("redirect_uri", Some("data:text/html,x"))], Told::Person),
        (
            "line break",
            vec![("redirect_uri", Some("https://agent.example/callback\r\nX: y"))],
            Told::Person,
        ),
        ("no scheme", vec![("redirect_uri", Some("//agent.example/callback"))], Told::Person),
        (
            "implicit",
            vec![("response_type", Some("token"))],
            Told::Agent("unsupported_response_type"),
        ),
        (
            "hybrid",
            vec![("response_type", Some("code token"))],
            Told::Agent("unsupported_response_type"),
        ),
        ("no type", vec![("response_type", None)], Told::Agent("unsupported_response_type")),
        (
            "fragment mode",
            vec![("response_mode", Some("fragment"))],
            Told::Agent("invalid_request"),
        ),
        ("posted form", vec![("response_mode", Some("form_post"))], Told::Agent("invalid_request")),
        (
            "no PKCE",
            vec![("code_challenge", None), ("code_challenge_method", None)],
            Told::Agent("invalid_request"),
        ),
        (
            "plain PKCE",
            vec![("code_challenge_method", Some("plain"))],
            Told::Agent("invalid_request"),
        ),
        ("PKCE by default", vec![("code_challenge_method", None)], Told::Agent("invalid_request")),
        (
            "lower-case method",
            vec![("code_challenge_method", Some("s256"))],
            Told::Agent("invalid_request"),
        ),
        ("challenge missing", vec![("code_challenge", None)], Told::Agent("invalid_request")),
        (
            "challenge short",
            vec![("code_challenge", Some(&*short))],
            Told::Agent("invalid_request"),
        ),
        (
            "challenge padded",
            vec![("code_challenge", Some(&*padded))],
            Told::Agent("invalid_request"),
        ),
        (
            "verifier as challenge",
            vec![("code_challenge", Some(VERIFIER))],
            Told::Agent("invalid_request"),
        ),
        (
            "other resource",
            vec![("resource", Some("https://other.example/mcp"))],
            Told::Agent("invalid_target"),
        ),
        (
            "the API as resource",
            vec![("resource", Some(&*app.base))],
            Told::Agent("invalid_target"),
        ),
        ("resource with slash", vec![("resource", Some(&*slash))], Told::Agent("invalid_target")),
        ("other scheme", vec![("resource", Some(&*foreign))], Told::Agent("invalid_target")),
        ("unknown scope", vec![("scope", Some("read admin"))], Told::Agent("invalid_scope")),
        ("only spaces", vec![("scope", Some("  "))], Told::Agent("invalid_scope")),
        ("request object", vec![("request", Some("eyJ"))], Told::Agent("request_not_supported")),
        (
            "request by address",
            vec![("request_uri", Some("https://evil.example"))],
            Told::Agent("request_not_supported"),
        ),
        ("endless state", vec![("state", Some(&*long))], Told::Agent("invalid_request")),
    ];
    let mut signed_in = app.browser_of(&ann.key).await;
    for (name, changes, told) in &table {
        let path = format!("/oauth/authorize?{}", agent.query(changes));
        for browser in [&mut Browser::new(&app), &mut signed_in] {
            let answer = browser.get(&path).await;
            match told {
                Told::Person => {
                    assert_eq!(answer.status, 400, "{name}: {answer:?}");
                    assert_eq!(answer.header("location"), None, "{name}");
                }
                Told::Agent(error) => {
                    assert_eq!(answer.status, 303, "{name}: {answer:?}");
                    let to = answer.header("location").unwrap();
                    assert!(to.starts_with(&format!("{CALLBACK}?")), "{name}: {to}");
                    assert_eq!(parameter(&answer, "error").as_deref(), Some(*error), "{name}");
                    assert_eq!(parameter(&answer, "iss").as_deref(), Some(&*app.base), "{name}");
                    assert_eq!(parameter(&answer, "code"), None, "{name}");
                }
            }
        }
    }
    for twice in ["redirect_uri=https://evil.example/", "client_id=x", "scope=full", "resource=x"] {
        let path = format!("/oauth/authorize?{}&{twice}", agent.query(&[]));
        assert_eq!(signed_in.get(&path).await.status, 400, "{twice}");
    }
    assert_eq!(count(&app, "oauth_codes").await, 0);
}

async fn count(app: &App, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(count)).fetch_one(&app.pool).await.unwrap()
}

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
    let result =
        crate::support::tools::call(&app, "list_pixels", json!({"api_key": tokens.access}));
    crate::support::tools::refused(&result.await, 403, "invalid api key");
}

#[tokio::test]
async fn permission_that_the_person_did_not_give() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let eve = app.account("eve@example.com").await;
    let agent = app.agent().await;
    let query = agent.query(&[]);
    let mut browser = app.browser_of(&ann.key).await;
    let path = format!("/oauth/authorize?{query}");
    let page = browser.page(&path).await;
    let token = token_of(&page);
    let eves = token_of(&app.browser_of(&eve.key).await.page(&path).await);
    let base = app.base.clone();
    let allow = |token: &str, account: &str| {
        vec![
            ("form_token".to_owned(), token.to_owned()),
            ("request".to_owned(), query.clone()),
            ("account_id".to_owned(), account.to_owned()),
            ("scope".to_owned(), "operate".to_owned()),
            ("answer".to_owned(), "allow".to_owned()),
        ]
    };
    let evil = "https://evil.example";
    for (name, origin, token, account, status) in [
        ("another site's form", Some(evil), &*token, &ann.account_id, 403),
        ("no origin", None, &*token, &ann.account_id, 403),
        ("an opaque origin", Some("null"), &*token, &ann.account_id, 403),
        ("no token", Some(&*base), "", &ann.account_id, 403),
        ("another session's token", Some(&*base), &*eves, &ann.account_id, 403),
        ("another tenant's account", Some(&*base), &*token, &eve.account_id, 404),
        ("no account", Some(&*base), &*token, &String::new(), 404),
    ] {
        let request = browser.request(Method::POST, "/oauth/authorize");
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        let answer = browser.send(request.form(&allow(token, account))).await;
        assert_eq!(answer.status, status, "{name}: {answer:?}");
        assert_eq!(answer.header("location"), None, "{name}");
    }
    // The address that is opened gives nothing: only the form does.
    let opened = browser.get(&format!("{path}&answer=allow")).await;
    assert_eq!((opened.status, opened.header("location")), (200, None));
    let query_of_other = agent.query(&[("redirect_uri", Some("https://evil.example/callback"))]);
    let fields = [("request", &*query_of_other), ("answer", "allow"), ("scope", "full")];
    let changed = browser.submit(&path, "/oauth/authorize", &fields).await;
    assert_eq!((changed.status, changed.header("location")), (400, None));
    let odd = [("request", &*query), ("answer", "allow"), ("scope", "everything")];
    assert_eq!(browser.submit(&path, "/oauth/authorize", &odd).await.status, 403);
    // A sign-in that is long ago is not enough.
    app.clock.advance(Duration::minutes(15));
    let page = browser.page(&path).await;
    assert!(page.contains("Sign in again") && !page.contains("value=\"allow\""), "{page}");
    let answer = agent.answered_for(&mut browser, &query, &ann.account_id).await;
    assert_eq!((answer.status, answer.header("location")), (403, None));
    assert_eq!(count(&app, "oauth_codes").await, 0);
}

impl Agent<'_> {
    /// The form of a page that offers no permission, sent all the same.
    async fn answered_for(
        &self,
        browser: &mut Browser<'_>,
        query: &str,
        account_id: &str,
    ) -> Answer {
        let fields = [
            ("request", query),
            ("account_id", account_id),
            ("scope", "full"),
            ("answer", "allow"),
        ];
        browser.submit(&format!("/oauth/authorize?{query}"), "/oauth/authorize", &fields).await
    }
}

#[tokio::test]
async fn the_page_cannot_be_framed_and_its_form_leads_to_the_app_only() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    for (redirect_uri, source) in [
        (CALLBACK, "https://agent.example"),
        ("http://127.0.0.1:7777/cb", "http://127.0.0.1:7777"),
        ("http://[::1]:7777/cb", "http:"),
        ("cursor://anysphere.cursor-retrieval/cb", "cursor:"),
        ("com.example.app:/cb", "com.example.app:"),
    ] {
        let agent = app.agent_at(redirect_uri).await;
        let answer = browser.get(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
        assert_eq!(answer.status, 200, "{redirect_uri}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(policy.contains(&format!("form-action 'self' {source};")), "{policy}");
        assert!(answer.header("x-frame-options").is_some());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        // The app sees when its window comes back.
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("unsafe-none"));
    }
}

#[tokio::test]
async fn a_name_cannot_break_out_of_the_page() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let name = "<script>alert(1)</script>\u{202e}\u{200b} & \"Assent\"";
    let body = json!({"client_name": name, "redirect_uris": [CALLBACK]});
    let client = app.post("/oauth/register", body).await.expect(201);
    assert!(!client["client_name"].as_str().unwrap().contains('\u{202e}'));
    let client_id = client["client_id"].as_str().unwrap().to_owned();
    let agent = Agent { app: &app, client_id, redirect_uri: CALLBACK.to_owned() };
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;"), "{page}");
}

#[tokio::test]
async fn registrations_that_are_refused() {
    let app = App::spawn().await;
    let eleven = (0..11).map(|number| format!("https://agent.example/{number}"));
    let eleven = eleven.collect::<Vec<_>>();
    for (name, body, error) in [
        ("no addresses", json!({}), "invalid_client_metadata"),
        ("an empty list", json!({"redirect_uris": []}), "invalid_redirect_uri"),
        ("too many", json!({"redirect_uris": eleven}), "invalid_redirect_uri"),
        ("a text", json!({"redirect_uris": CALLBACK}), "invalid_client_metadata"),
        ("numbers", json!({"redirect_uris": [1]}), "invalid_client_metadata"),
        (
            "a name that is none",
            json!({"redirect_uris": [CALLBACK], "client_name": 1}),
            "invalid_client_metadata",
        ),
        ("plain http", json!({"redirect_uris": ["http://agent.example/"]}), "invalid_redirect_uri"),
        (
            "one of two",
            json!({"redirect_uris": [CALLBACK, "javascript:x"]}),
            "invalid_redirect_uri",
        ),
        (
            "a private address",
            json!({"redirect_uris": ["http://10.0.0.1/"]}),
            "invalid_redirect_uri",
        ),
        (
            "a fragment",
            json!({"redirect_uris": ["https://agent.example/#x"]}),
            "invalid_redirect_uri",
        ),
        ("a scheme without a dot", json!({"redirect_uris": ["myapp://x"]}), "invalid_redirect_uri"),
        ("a list", json!([]), "invalid_client_metadata"),
    ] {
        assert_eq!(app.post("/oauth/register", body).await.expect(400)["error"], error, "{name}");
    }
    let large = json!({"redirect_uris": [CALLBACK], "x": "x".repeat(17_000)});
    assert_eq!(app.post("/oauth/register", large).await.status, 413);
    // Whoever asks for a secret gets none.
    let body = json!({"redirect_uris": [CALLBACK], "grant_types": ["implicit"],
        "token_endpoint_auth_method": "client_secret_basic"});
    let client = app.post("/oauth/register", body).await.expect(201);
    assert_eq!(client["token_endpoint_auth_method"], "none");
    assert_eq!(client["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(client.get("client_secret"), None);
}

#[tokio::test]
async fn floods_of_registrations_and_guesses_are_slowed_down() {
    let app = App::spawn_with(&[("RATE_LIMITS", "on")]).await;
    let body = json!({"redirect_uris": [CALLBACK]});
    let mut refused = 0;
    for _ in 0..130 {
        let answer = app.post("/oauth/register", body.clone()).await;
        refused += i32::from(answer.status == 429 && answer.header("retry-after").is_some());
    }
    assert!((8..=10).contains(&refused), "{refused}");
    let fields = [("grant_type", "refresh_token"), ("client_id", "x"), ("refresh_token", "ort_x")];
    assert_eq!(app.form("/oauth/token", &fields).await.status, 429);
    let mut answers = Vec::new();
    for _ in 0..70 {
        answers.push(app.tool_by("oat_guess", "list_pixels", json!({})).await.status);
    }
    assert_eq!((answers[0], answers[69]), (401, 429));
}

#[tokio::test]
async fn documents_of_apps_that_lie_or_lead_elsewhere() {
    const HOST: &str = "agent.example";
    let site = HttpsSite::start(&[HOST]).await;
    let resolve = format!("{HOST}={}", site.address);
    let app = App::spawn_with(&[
        ("INSTALL_CHECK_RESOLVE", &resolve),
        ("INSTALL_CHECK_CA_FILE", ca_file()),
    ])
    .await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let document = |path: &str, changes: Value| {
        let mut document = json!({
            "client_id": format!("https://{HOST}{path}"),
            "client_name": "Agent of the document",
            "redirect_uris": [CALLBACK],
            "token_endpoint_auth_method": "none",
        });
        document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        Reply::Whole(
            200,
            "Content-Type: application/json\r\n".to_owned(),
            document.to_string().into(),
        )
    };
    for (path, reply) in [
        ("/missing.json", Reply::status(404)),
        ("/broken.json", Reply::status(500)),
        ("/moved.json", Reply::redirect("https://agent.example/good.json")),
        ("/inside.json", Reply::redirect("http://169.254.169.254/latest")),
        ("/page.json", Reply::page("<p>no document")),
        ("/empty.json", Reply::page("")),
        ("/list.json", Reply::page("[]")),
        ("/large.json", document("/large.json", json!({"x": "x".repeat(5_200)}))),
        ("/other.json", document("/good.json", json!({}))),
        (
            "/secret.json",
            document("/secret.json", json!({"token_endpoint_auth_method": "client_secret_post"})),
        ),
        ("/script.json", document("/script.json", json!({"redirect_uris": ["javascript:x"]}))),
        ("/none.json", document("/none.json", json!({"redirect_uris": []}))),
    ] {
        site.answer(&format!("{HOST}{path}"), reply);
        let agent = document_agent(&app, &format!("https://{HOST}{path}"));
        let answer = browser.get(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{path}");
    }
    for client_id in [
        "https://localhost/client.json",
        "https://private.localhost/client.json",
        "https://127.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://10.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://2130706433/client.json",
        "https://nowhere.invalid/client.json",
        "https://agent.example:22/client.json",
        "https://agent.example/",
        "http://agent.example/good.json",
        "https://agent.example/x/../good.json",
    ] {
        let agent = document_agent(&app, client_id);
        let answer = browser.get(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{client_id}");
    }
    site.answer(&format!("{HOST}/good.json"), document("/good.json", json!({})));
    let agent = document_agent(&app, &format!("https://{HOST}/good.json"));
    let page = browser.page(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
    assert!(page.contains("Agent of the document") && page.contains(HOST), "{page}");
    assert!(!page.contains("unverified name"), "{page}");
    let tokens = agent.connect(&mut browser, "read").await;
    assert!(app.takes(&tokens.access).await);
    let grants = app.call(Method::GET, "/v1/grants", &ann.key, Value::Null).await.expect(200);
    assert_eq!(grants["grants"][0]["host"], HOST);
    // The document is kept for a while.
    site.answer(&format!("{HOST}/good.json"), Reply::status(404));
    browser.page(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
}

fn document_agent<'a>(app: &'a App, client_id: &str) -> Agent<'a> {
    Agent { app, client_id: client_id.to_owned(), redirect_uri: CALLBACK.to_owned() }
}
