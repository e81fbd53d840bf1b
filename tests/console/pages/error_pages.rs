//! Refusals and redirects as pages, for people with a browser.

use reqwest::Method;

use crate::support::{Answer, App};

/// The `Accept` header of browsers for an address that a person has opened.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn opened(app: &App, path: &str) -> Answer {
    Answer::of(app.request(Method::GET, path).header("accept", BROWSER)).await
}

#[track_caller]
fn is_notice(answer: &Answer, status: u16, heading: &str) {
    assert_eq!(answer.status, status, "{}", answer.text);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.text.contains(&format!("<h1>{heading}</h1>")), "{}", answer.text);
    for part in [
        "<meta name=\"robots\" content=\"noindex\">",
        "<meta name=\"description\"",
        "<a href=\"/guide\">Guide</a>",
        "<a href=\"/docs\">API</a>",
        "href=\"/\"",
    ] {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("style-src 'self'") && policy.contains("frame-ancestors 'none'"));
    assert!(answer.header("x-request-id").is_some());
}

#[tokio::test]
async fn a_browser_gets_a_page_where_a_program_gets_a_problem() {
    let app = App::spawn().await;
    for (path, status, heading, sentence) in [
        ("/nowhere", 404, "Page not found", "not found"),
        ("/v1/policy/unknown", 404, "There is no such privacy notice", "policy not found"),
        ("/px/unknown.js", 404, "Not found", "consent tag not found"),
        ("/v1/whoami", 401, "This address is for programs", "api key required"),
        ("/v1/accounts", 405, "This address is for programs", "method not allowed"),
        ("/v1/checkout/success", 400, "This page belongs to a checkout", "session_id is required"),
    ] {
        let page = opened(&app, path).await;
        is_notice(&page, status, heading);
        assert!(page.text.contains(&format!("<q>{sentence}</q>")), "{path}: {}", page.text);
        assert!(page.headers.get_all("vary").iter().any(|vary| vary == "Accept"), "{path}");
        for accept in ["*/*", "application/json", "application/json, text/event-stream"] {
            let program = app.request(Method::GET, path).header("accept", accept);
            Answer::of(program).await.refused(status, sentence);
        }
        app.get(path).await.refused(status, sentence);
    }
    let page = opened(&app, "/v1/accounts").await;
    assert_eq!(page.header("allow"), Some("POST"));
    let head = app.request(Method::HEAD, "/nowhere").header("accept", BROWSER);
    let head = Answer::of(head).await;
    assert_eq!((head.status, head.text.as_str()), (404, ""));
}

#[tokio::test]
async fn a_refused_body_of_a_program_is_answered_with_a_problem_document_whatever_it_accepts() {
    let app = App::spawn().await;
    let sent = app.request(Method::POST, "/v1/accounts").header("accept", BROWSER);
    Answer::of(sent.body("{")).await.refused(400, "invalid request");
    // A form is sent by a person.
    let form = app.request(Method::POST, "/demo/provision").header("accept", BROWSER);
    let form = form.form(&[("domain", "x".repeat(20_000))]);
    let page = Answer::of(form).await;
    is_notice(&page, 413, "Invalid request");
}

#[tokio::test]
async fn a_link_that_does_not_confirm_says_why_and_what_to_do_next() {
    let app = App::spawn().await;
    let guide = app.get("/guide").await.text;
    for (path, status, heading, sentence) in [
        ("/v1/email/verify", 400, "Part of the link is missing", "verification token required"),
        (
            "/v1/email/verify?token=unknown",
            404,
            "We do not know this link",
            "verification link not found",
        ),
    ] {
        let page = opened(&app, path).await;
        is_notice(&page, status, heading);
        assert!(page.text.contains(sentence), "{}", page.text);
        let step = page.text.split("<a class=\"button\" href=\"").nth(1).expect("a next step");
        let step = step.split('"').next().unwrap().replace("&#x2F;", "/");
        let (at, anchor) = step.split_once('#').expect("a part of the guide");
        assert_eq!(at, "/guide");
        assert!(guide.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
}

#[tokio::test]
async fn turning_back_from_checkout_is_no_success() {
    const TICK: &str = "M15.5 27l7.5 8 14-18";
    let app = App::spawn().await;
    let page = opened(&app, "/v1/checkout/cancelled").await;
    is_notice(&page, 200, "Checkout cancelled");
    assert!(!page.text.contains(TICK) && !page.text.contains("problem-tone"), "{}", page.text);
    let opened_account = app.sign_up("ann@example.com").await;
    let link = opened_account["verification_url"].as_str().unwrap();
    let page = opened(&app, link.strip_prefix(&app.base).unwrap()).await;
    is_notice(&page, 200, "Email confirmed");
    assert!(page.text.contains(TICK), "{}", page.text);
}

#[tokio::test]
async fn pages_that_are_no_content_are_described_and_not_indexed() {
    let app = App::spawn().await;
    for path in ["/demo", "/log"] {
        let page = app.get(path).await.text;
        assert!(page.contains("<meta name=\"robots\" content=\"noindex\">"), "{path}");
        assert!(page.contains("<meta name=\"description\" content=\""), "{path}");
    }
}
