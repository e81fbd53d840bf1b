//! Attacks on the person who allows an app: forms of others, frames, names, planted sessions.

use chrono::Duration;
use reqwest::Method;
use serde_json::json;

use super::count;
use crate::support::console::{Browser, token_of};
use crate::support::oauth::{Agent, CALLBACK};
use crate::support::{Answer, App};

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
async fn a_session_that_was_planted_before_the_sign_in_allows_nothing() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let path = format!("/oauth/authorize?{}", agent.query(&[]));
    let planted = "A".repeat(43);
    let mut victim = Browser::new(&app);
    victim.cookies.insert("assent-session".to_owned(), planted.clone());
    victim.post("/console/sign-in/key", &[("api_key", &*ann.key)]).await;
    assert!(victim.session().is_some_and(|session| *session != planted));
    let page = victim.page(&path).await;
    let mut attacker = Browser::new(&app);
    attacker.cookies.insert("assent-session".to_owned(), planted);
    let asked = attacker.get(&path).await;
    assert_eq!(asked.status, 303);
    assert!(asked.header("location").unwrap().starts_with("/console/sign-in?next="), "{asked:?}");
    // The page of the victim does not help either.
    let fields = [
        ("form_token", &*token_of(&page)),
        ("request", &*agent.query(&[])),
        ("account_id", &*ann.account_id),
        ("scope", "full"),
        ("answer", "allow"),
    ];
    let answer = attacker.post("/oauth/authorize", &fields).await;
    assert!(!answer.header("location").unwrap_or_default().starts_with(CALLBACK), "{answer:?}");
    assert_eq!(count(&app, "oauth_codes").await, 0);
}
