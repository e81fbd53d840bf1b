//! Sessions of the console: who may use one, from where, and until when.

use chrono::Duration;
use reqwest::Method;

use crate::support::console::{Browser, leads_to, token_of};
use crate::support::{App, fresh_address};

/// Somebody who is signed in, on a service without a mail server.
async fn signed_in(app: &App) -> Browser<'_> {
    let mut browser = Browser::new(app);
    browser.sign_up("ann@example.com").await;
    browser
}

#[tokio::test]
async fn a_sign_in_never_keeps_the_session_that_a_browser_came_with() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    let planted = "A".repeat(43);
    browser.cookies.insert("assent-session".to_owned(), planted.clone());
    browser.sign_in(&ann.email).await;
    let first = browser.session().unwrap().clone();
    assert_ne!(first, planted);
    browser.sign_in(&ann.email).await;
    assert_ne!(*browser.session().unwrap(), first);
    // The one before has ended.
    browser.cookies.insert("assent-session".to_owned(), first);
    leads_to(&browser.get("/console").await, "/console/sign-in");
}

#[tokio::test]
async fn nobody_signs_out_without_a_way_back_before_they_are_warned() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    let out = "/console/sign-out";
    leads_to(&browser.submit("/console", out, &[]).await, out);
    let warned = browser.page(out).await;
    for words in ["this account has none", "href=\"/console/account#keys\"", "Sign out anyway"] {
        assert!(warned.contains(words), "{words}: {warned}");
    }
    let account = "/console/account";
    let read = browser.submit(account, "/console/account/keys", &[("scope", "read")]).await;
    assert_eq!(read.status, 201);
    leads_to(&browser.submit(account, out, &[]).await, out);
    let full = browser.submit(account, "/console/account/keys", &[("scope", "full")]).await;
    assert_eq!(full.status, 201);
    leads_to(&browser.submit(account, "/console/sign-out", &[]).await, "/console/sign-in");
    assert_eq!(browser.session(), None);

    let mailing = App::spawn_with_mail().await;
    let ben = mailing.mailed_account(&fresh_address("ben")).await;
    let mut browser = Browser::new(&mailing);
    browser.sign_in(&ben.email).await;
    leads_to(&browser.submit("/console", "/console/sign-out", &[]).await, "/console/sign-in");
}

#[tokio::test]
async fn a_stolen_cookie_opens_nothing_after_the_sign_out() {
    let app = App::spawn().await;
    let mut browser = signed_in(&app).await;
    let mut thief = Browser { app: &app, cookies: browser.cookies.clone() };
    thief.page("/console").await;
    let out = browser.submit("/console", "/console/sign-out", &[("sure", "yes")]).await;
    leads_to(&out, "/console/sign-in");
    assert_eq!(browser.session(), None);
    leads_to(&thief.get("/console").await, "/console/sign-in");
}

#[tokio::test]
async fn a_session_ends_after_thirty_days_however_much_it_is_used() {
    let app = App::spawn().await;
    let mut browser = signed_in(&app).await;
    for _ in 0..29 {
        app.clock.advance(Duration::days(1));
        browser.page("/console").await;
    }
    app.clock.advance(Duration::hours(23));
    browser.page("/console").await;
    app.clock.advance(Duration::hours(1));
    leads_to(&browser.get("/console").await, "/console/sign-in");
}

#[tokio::test]
async fn the_cookie_is_for_this_host_and_no_script_and_no_other_site() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = Browser::new(&app);
    let answer = browser.post("/console/sign-in/key", &[("api_key", &ann.key)]).await;
    let cookie = |answer: &crate::support::Answer| {
        let mut cookies = answer.headers.get_all("set-cookie").iter();
        let cookie = cookies.find(|cookie| cookie.to_str().unwrap().contains("session="));
        cookie.unwrap().to_str().unwrap().to_owned()
    };
    let set = cookie(&answer);
    assert!(set.starts_with("assent-session="), "{set}");
    for part in ["; HttpOnly", "; SameSite=Lax", "; Path=/", "; Max-Age=2592000"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Secure") && !set.contains("Domain"), "{set}");

    let secure = app.another_node(&[("BASE_URL", "https://assent.example")]).await;
    let browser = Browser::new(&secure);
    let request = browser.request(Method::POST, "/console/sign-in/key");
    let request = request.header("origin", "https://assent.example");
    let answer = crate::support::Answer::of(request.form(&[("api_key", &ann.key)])).await;
    let set = cookie(&answer);
    assert!(set.starts_with("__Host-assent-session="), "{set}");
    assert!(set.contains("; Secure") && set.contains("; Path=/") && !set.contains("Domain"));
}

#[tokio::test]
async fn a_secret_is_kept_as_its_hash_only() {
    let app = App::spawn().await;
    let browser = signed_in(&app).await;
    let secret = browser.session().unwrap();
    let rows: Vec<String> = sqlx::query_scalar("SELECT to_jsonb(sessions)::text FROM sessions")
        .fetch_all(&app.pool)
        .await
        .unwrap();
    assert!(rows.len() == 1 && !rows[0].contains(secret.as_str()), "{rows:?}");
}

#[tokio::test]
async fn a_form_of_another_origin_is_refused_whatever_it_carries() {
    let app = App::spawn().await;
    let mut browser = signed_in(&app).await;
    let token = token_of(&browser.page("/console/sites/new").await);
    let fields = [("domain", "elsewhere.example"), ("form_token", &*token)];
    for origin in [None, Some("null"), Some("https://evil.example"), Some("http://localhost")] {
        for path in ["/console/sites", "/console/sign-in/key", "/console/sign-up"] {
            let request = browser.request(Method::POST, path).form(&fields);
            let request = match origin {
                Some(origin) => request.header("origin", origin),
                None => request,
            };
            let refused = browser.send(request).await;
            assert_eq!(refused.status, 403, "{origin:?} {path}: {}", refused.text);
        }
    }
    assert!(!browser.page("/console").await.contains("elsewhere.example"));
}

#[tokio::test]
async fn a_form_without_the_token_of_its_session_is_refused() {
    let app = App::spawn().await;
    let mut browser = signed_in(&app).await;
    let mut other = Browser::new(&app);
    other.sign_up("ben@example.com").await;
    let foreign = token_of(&other.page("/console/sites/new").await);
    for token in ["", "nonsense", &foreign] {
        let fields = [("domain", "elsewhere.example"), ("form_token", token)];
        let refused = browser.post("/console/sites", &fields).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains("Please send the form again"), "{}", refused.text);
    }
    assert_eq!(browser.post("/console/sign-out", &[]).await.status, 403);
    browser.page("/console").await;
}

#[tokio::test]
async fn a_form_of_nobody_leads_to_the_sign_in_and_does_nothing() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    for path in ["/console/sites", "/console/sign-out"] {
        leads_to(&browser.post(path, &[("domain", "elsewhere.example")]).await, "/console/sign-in");
    }
}

#[tokio::test]
async fn a_session_is_no_key_and_a_key_no_session() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let browser = signed_in_with(&app, &ann.key).await;
    let secret = browser.session().unwrap();
    let path = "/v1/whoami";
    app.call(Method::GET, path, secret, serde_json::Value::Null)
        .await
        .refused(401, "invalid api key");
    let bare = crate::support::Answer::of(browser.request(Method::GET, path)).await;
    assert_eq!(bare.status, 401);
    let request = app.request(Method::GET, "/console").bearer_auth(&ann.key);
    leads_to(&crate::support::Answer::of(request).await, "/console/sign-in");
}

async fn signed_in_with<'a>(app: &'a App, key: &str) -> Browser<'a> {
    let mut browser = Browser::new(app);
    leads_to(&browser.post("/console/sign-in/key", &[("api_key", key)]).await, "/console");
    browser
}

#[tokio::test]
async fn a_session_ends_with_its_account_and_with_its_address() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = signed_in_with(&app, &ann.key).await;
    browser.page("/console").await;
    sqlx::query("UPDATE accounts SET email = 'new@example.com' WHERE account_id = $1")
        .bind(&ann.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
    leads_to(&browser.get("/console").await, "/console/sign-in");
    let mut browser = signed_in_with(&app, &ann.key).await;
    sqlx::query("DELETE FROM accounts WHERE account_id = $1")
        .bind(&ann.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
    leads_to(&browser.get("/console").await, "/console/sign-in");
}

#[tokio::test]
async fn a_session_of_a_suspended_account_is_refused_with_the_reason() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = signed_in_with(&app, &ann.key).await;
    app.set_status(&ann.account_id, "suspended").await;
    let refused = browser.get("/console").await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("This account is on hold"), "{}", refused.text);
}

#[tokio::test]
async fn screens_are_kept_by_nobody_and_shown_in_no_frame() {
    let app = App::spawn().await;
    let mut browser = signed_in(&app).await;
    for path in ["/console", "/console/sites/new"] {
        let answer = browser.get(path).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    let led = Browser::new(&app).get("/console").await;
    assert_eq!(led.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn sessions_and_sign_ins_that_are_over_are_deleted() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    browser.ask_for_code(&ann.email).await;
    app.clock.advance(Duration::days(30));
    for _ in 0..400 {
        let left: i64 = sqlx::query_scalar(
            "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM sign_ins)",
        )
        .fetch_one(&app.pool)
        .await
        .unwrap();
        if left == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("something is left");
}
