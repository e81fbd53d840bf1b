//! Codes on request, and the signup tokens that they renew.

use chrono::{Duration, TimeZone, Utc};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, App, MailServer};

const RESEND: &str = "/v1/signup/resend-code";

/// Signs up by mail and waits until the pause after it is over. Gives the account's id and token.
async fn signed_up(app: &App, email: &str) -> (String, String) {
    let opened = app.sign_up(email).await;
    app.clock.advance(Duration::minutes(1));
    let text = |name: &str| opened[name].as_str().unwrap().to_owned();
    (text("account_id"), text("signup_token"))
}

async fn resend(app: &App, email: &str) -> Answer {
    app.post(RESEND, json!({"email": email})).await
}

async fn confirm(app: &App, account_id: &str, body: Value) -> Answer {
    app.post(&format!("/v1/accounts/{account_id}/confirm"), body).await
}

async fn renew(app: &App, account_id: &str, email: &str, code: &str) -> Answer {
    let path = format!("/v1/accounts/{account_id}/signup-token");
    app.post(&path, json!({"email": email, "code": code})).await
}

fn other_code(code: &str) -> &'static str {
    if code == "000000" { "000001" } else { "000000" }
}

#[tokio::test]
async fn resend_code_mails_a_fresh_code_and_link() {
    let (app, email) = (App::spawn_with_mail().await, "fresh@resend.example");
    let (account_id, _) = signed_up(&app, email).await;
    assert_eq!(resend(&app, email).await.expect(200), json!({"sent": true}));
    let mails = MailServer::shared().wait_for(email, 2).await;
    assert_ne!(mails[0].link(), mails[1].link());
    if mails[0].code() != mails[1].code() {
        let old = json!({"code": mails[0].code()});
        confirm(&app, &account_id, old).await.refused(400, "invalid code");
    }
    let confirmed = confirm(&app, &account_id, json!({"code": mails[1].code()})).await.expect(200);
    assert_eq!(confirmed["already_verified"], false);
    assert_eq!(app.get(&mails[0].link()).await.status, 200);
    assert_eq!(app.get(&mails[1].link()).await.status, 200);
}

#[tokio::test]
async fn a_confirmed_account_gets_a_code_too() {
    let (app, email) = (App::spawn_with_mail().await, "confirmed@resend.example");
    signed_up(&app, email).await;
    app.get(&MailServer::shared().newest(email).await.link()).await;
    resend(&app, email).await.expect(200);
    assert_eq!(MailServer::shared().wait_for(email, 2).await.len(), 2);
}

#[tokio::test]
async fn an_unknown_address_gets_the_same_answers_and_no_mail() {
    let app = App::spawn_with_mail().await;
    let (known, unknown) = ("known@resend.example", "unknown@resend.example");
    signed_up(&app, known).await;
    let names = |answer: &Answer| {
        let mut names = answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
        names.sort();
        names
    };
    for status in [200, 429] {
        let (one, other) = (resend(&app, known).await, resend(&app, unknown).await);
        assert_eq!((one.status, other.status), (status, status));
        assert_eq!(one.lasting_text(), other.lasting_text());
        assert_eq!(names(&one), names(&other));
        assert_eq!(one.header("retry-after"), other.header("retry-after"));
    }
    MailServer::shared().wait_for(known, 2).await;
    assert!(MailServer::shared().inbox(unknown).is_empty());
}

#[tokio::test]
async fn a_code_is_sent_once_a_minute() {
    for email in ["minute@resend.example", "minute-unknown@resend.example"] {
        let app = App::spawn().await;
        resend(&app, email).await.expect(200);
        let refused = resend(&app, email).await;
        refused.refused(429, "wait before sending the confirmation code again");
        assert_eq!(refused.header("retry-after"), Some("60"));
        app.clock.advance(Duration::milliseconds(59_999));
        let refused = resend(&app, "minute").await;
        refused.refused(400, "invalid email");
        let refused = resend(&app, &email.to_uppercase()).await;
        refused.refused(429, "wait before sending the confirmation code again");
        assert_eq!(refused.header("retry-after"), Some("1"));
        app.clock.advance(Duration::milliseconds(1));
        resend(&app, email).await.expect(200);
    }
}

#[tokio::test]
async fn the_mail_of_the_signup_starts_the_pause_and_does_not_count_against_the_day() {
    let app = App::spawn_with_mail().await;
    let email = "pause@resend.example";
    app.sign_up(email).await;
    let refused = resend(&app, email).await;
    refused.refused(429, "wait before sending the confirmation code again");
    for _ in 0..5 {
        app.clock.advance(Duration::minutes(1));
        resend(&app, email).await.expect(200);
    }
    MailServer::shared().wait_for(email, 6).await;
}

#[tokio::test]
async fn five_codes_are_sent_in_a_utc_day() {
    let app = App::spawn_with_mail().await;
    let email = "day@resend.example";
    signed_up(&app, email).await;
    for address in [email, "day-unknown@resend.example"] {
        app.clock.set(Utc.with_ymd_and_hms(2026, 3, 11, 23, 50, 0).unwrap());
        for _ in 0..5 {
            resend(&app, address).await.expect(200);
            app.clock.advance(Duration::minutes(1));
        }
        let refused = resend(&app, address).await;
        refused.refused(429, "too many codes today");
        assert_eq!(refused.header("retry-after"), Some("300"));
        let last_moment = Utc.with_ymd_and_hms(2026, 3, 12, 0, 0, 0).unwrap();
        app.clock.set(last_moment - Duration::milliseconds(1));
        let refused = resend(&app, address).await;
        refused.refused(429, "too many codes today");
        assert_eq!(refused.header("retry-after"), Some("1"));
        app.clock.set(last_moment);
        resend(&app, address).await.expect(200);
    }
}

#[tokio::test]
async fn of_many_requests_at_once_one_is_answered_with_a_code() {
    let (app, email) = (App::spawn_with_mail().await, "crowd@resend.example");
    signed_up(&app, email).await;
    let answers = futures_util::future::join_all((0..16).map(|_| resend(&app, email))).await;
    let count = |status| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(200), count(429)), (1, 15));
    MailServer::shared().wait_for(email, 2).await;
    // A further mail would arrive within this time.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(MailServer::shared().inbox(email).len(), 2);
}

#[tokio::test]
async fn resend_code_wants_an_address() {
    let app = App::spawn().await;
    for email in [json!(null), json!(""), json!("  "), json!("ann"), json!("ann@localhost")] {
        let answer = app.post(RESEND, json!({ "email": email })).await;
        answer.refused(400, "invalid email");
    }
    app.post(RESEND, json!({})).await.refused(400, "invalid email");
    app.post(RESEND, json!({"email": 1})).await.invalid(&["body", "email"]);
    app.post(RESEND, json!([])).await.invalid(&["body"]);
    Answer::of(app.request(Method::POST, RESEND).body("{")).await.invalid(&["body"]);
}

#[tokio::test]
async fn resend_code_never_hands_out_what_only_the_mail_may_hold() {
    let app = App::spawn().await;
    let account = app.account("skipped@resend.example").await;
    app.clock.advance(Duration::minutes(1));
    assert_eq!(resend(&app, &account.email).await.expect(200), json!({"sent": true}));
}

#[tokio::test]
async fn a_code_brings_a_new_signup_token_after_the_old_one_has_expired() {
    let (app, email) = (App::spawn_with_mail().await, "expired@token.example");
    let (account_id, old) = signed_up(&app, email).await;
    app.clock.advance(Duration::hours(1));
    app.show_account(&account_id, &old).await.refused(401, "signup token expired");
    resend(&app, email).await.expect(200);
    let code = MailServer::shared().wait_for(email, 2).await[1].code();
    let renewed = renew(&app, &account_id, &email.to_uppercase(), &code).await.expect(200);
    let token = renewed["signup_token"].as_str().unwrap();
    assert!(token.starts_with("st_") && token.len() >= 43);
    let expires_at = app.clock.now() + Duration::hours(1);
    assert_eq!(renewed["expires_at"], json!(assent::clock::rfc3339(expires_at)));
    assert_eq!(renewed.as_object().unwrap().len(), 2);
    app.show_account(&account_id, &old).await.refused(401, "signup token required");
    assert_eq!(app.show_account(&account_id, token).await.expect(200)["status"], "pending_email");

    // The same mail also confirms, and the new token brings the key.
    let body = json!({"code": code, "signup_token": token});
    let confirmed = confirm(&app, &account_id, body).await.expect(200);
    assert!(confirmed["api_key"].as_str().unwrap().starts_with("px_"));
    app.clock.advance(Duration::hours(1));
    app.show_account(&account_id, token).await.refused(401, "signup token expired");
}

#[tokio::test]
async fn a_token_that_is_still_valid_ends_when_another_is_issued() {
    let (app, email) = (App::spawn_with_mail().await, "valid@token.example");
    let (account_id, old) = signed_up(&app, email).await;
    let code = MailServer::shared().newest(email).await.code();
    app.show_account(&account_id, &old).await.expect(200);
    renew(&app, &account_id, email, &code).await.expect(200);
    app.show_account(&account_id, &old).await.refused(401, "signup token required");
}

#[tokio::test]
async fn a_code_brings_one_token_only() {
    let app = App::spawn_with_mail().await;
    for (email, confirmed) in [("once@token.example", false), ("once-more@token.example", true)] {
        let (account_id, _) = signed_up(&app, email).await;
        let mail = MailServer::shared().newest(email).await;
        if confirmed {
            app.get(&mail.link()).await;
        }
        renew(&app, &account_id, email, &mail.code()).await.expect(200);
        let again = renew(&app, &account_id, email, &mail.code()).await;
        again.refused(400, "invalid code");
    }
}

#[tokio::test]
async fn two_uses_of_a_code_at_once_bring_one_token() {
    let (app, email) = (App::spawn_with_mail().await, "race@token.example");
    let (account_id, _) = signed_up(&app, email).await;
    let code = MailServer::shared().newest(email).await.code();
    let uses = (0..4).map(|_| renew(&app, &account_id, email, &code));
    let answers = futures_util::future::join_all(uses).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
}

#[tokio::test]
async fn a_confirmed_account_gets_another_key_through_a_new_token() {
    let (app, email) = (App::spawn_with_mail().await, "key@token.example");
    let (account_id, _) = signed_up(&app, email).await;
    app.get(&MailServer::shared().newest(email).await.link()).await;
    app.clock.advance(Duration::days(40));
    resend(&app, email).await.expect(200);
    let code = MailServer::shared().wait_for(email, 2).await[1].code();
    let renewed = renew(&app, &account_id, email, &code).await.expect(200);
    let token = renewed["signup_token"].as_str().unwrap();
    let key = app.issue_key(&account_id, token).await.expect(201)["api_key"].clone();
    let who = app.call(Method::GET, "/v1/whoami", key.as_str().unwrap(), Value::Null).await;
    assert_eq!(who.expect(200)["account_id"], json!(account_id));
}

#[tokio::test]
async fn a_code_that_does_not_fit_the_account_and_address_is_invalid() {
    let app = App::spawn_with_mail().await;
    let (ann, bob) = ("ann@pair.example", "bob@pair.example");
    let (anns_id, anns_token) = signed_up(&app, ann).await;
    let (bobs_id, _) = signed_up(&app, bob).await;
    let code = MailServer::shared().newest(ann).await.code();
    for (account_id, email, code) in [
        (anns_id.as_str(), ann, other_code(&code)),
        (&anns_id, bob, &code),
        (&anns_id, "nobody@pair.example", &code),
        (&bobs_id, ann, &code),
        ("acc_00000000000000000000", ann, &code),
        ("no%20id", ann, &code),
    ] {
        renew(&app, account_id, email, code).await.refused(400, "invalid code");
    }
    app.show_account(&anns_id, &anns_token).await.expect(200);
    renew(&app, &anns_id, ann, &format!(" {code} ")).await.expect(200);
}

#[tokio::test]
async fn five_wrong_tries_end_a_code_and_a_new_one_works() {
    let (app, email) = (App::spawn_with_mail().await, "tries@token.example");
    let (account_id, _) = signed_up(&app, email).await;
    let code = MailServer::shared().newest(email).await.code();
    for turn in 0..5 {
        // A wrong address is a wrong try like any other.
        let (email, code) = match turn % 2 {
            0 => (email, other_code(&code).to_owned()),
            _ => ("else@token.example", code.clone()),
        };
        renew(&app, &account_id, email, &code).await.refused(400, "invalid code");
    }
    let refused = renew(&app, &account_id, email, &code).await;
    refused.refused(429, "too many attempts, request a new code");
    assert!(refused.header("retry-after").is_some());
    let refused = confirm(&app, &account_id, json!({"code": code})).await;
    refused.refused(429, "too many attempts, request a new code");
    resend(&app, email).await.expect(200);
    let fresh = MailServer::shared().wait_for(email, 2).await[1].code();
    renew(&app, &account_id, email, &fresh).await.expect(200);
}

#[tokio::test]
async fn a_code_brings_no_token_after_24_hours() {
    let app = App::spawn_with_mail().await;
    let (late, timely) = ("late@token.example", "timely@token.example");
    let (lates_id, _) = signed_up(&app, late).await;
    let (timelys_id, _) = signed_up(&app, timely).await;
    let code = |email| async move { MailServer::shared().newest(email).await.code() };
    // The first signup lies two minutes back, the second one.
    app.clock.advance(Duration::hours(24) - Duration::minutes(2));
    renew(&app, &lates_id, late, &code(late).await).await.refused(400, "invalid code");
    app.clock.advance(Duration::minutes(1) - Duration::milliseconds(1));
    renew(&app, &timelys_id, timely, &code(timely).await).await.expect(200);
}

#[tokio::test]
async fn a_new_token_wants_an_address_and_a_code() {
    let app = App::spawn().await;
    let account_id = app.account("fields@token.example").await.account_id;
    let path = format!("/v1/accounts/{account_id}/signup-token");
    app.post(&path, json!({"code": "123456"})).await.refused(400, "invalid email");
    app.post(&path, json!({"email": "ann", "code": "123456"})).await.refused(400, "invalid email");
    for code in [json!(null), json!(""), json!(" ")] {
        let body = json!({"email": "fields@token.example", "code": code});
        app.post(&path, body).await.invalid(&["body", "code"]);
    }
    let body = json!({"email": "fields@token.example", "code": 123456});
    app.post(&path, body).await.invalid(&["body", "code"]);
    app.post(&path, json!("x")).await.invalid(&["body"]);
}
