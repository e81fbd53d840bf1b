//! Further confirmation mails on request: one test per row and refusal.

use chrono::Duration;
use reqwest::Method;
use serde_json::json;

use super::confirmation::{pending, resend, second_mail};
use crate::support::visitors::fields;
use crate::support::{Answer, App, MailServer, fresh_address};

#[tokio::test]
async fn another_mail_ends_the_old_code_but_not_the_old_link() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    app.clock.advance(Duration::minutes(1));
    assert_eq!(ann.resend(&app).await.expect(200), json!({"sent": true, "status": "sent"}));
    let mail = second_mail(&ann.email).await;
    assert_ne!(mail.link(), ann.link);
    if mail.code() != ann.code {
        ann.confirm(&app, json!({"code": ann.code})).await.refused(400, "invalid code");
    }
    let looked = Answer::of(app.request(Method::HEAD, &mail.link())).await;
    assert_eq!(looked.status, 200);
    assert_eq!(app.get(&ann.link).await.status, 200);
    assert_eq!(ann.status(&app).await, "active");
}

#[tokio::test]
async fn another_mail_goes_out_one_minute_after_the_last_to_the_millisecond() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    let too_soon = "wait before sending the confirmation email again";
    // The signup's own mail starts the pause.
    let answer = ann.resend(&app).await;
    answer.refused(429, too_soon);
    assert_eq!(answer.header("retry-after"), Some("60"));
    app.clock.advance(Duration::seconds(60) - Duration::milliseconds(1));
    let answer = ann.resend(&app).await;
    answer.refused(429, too_soon);
    assert_eq!(answer.header("retry-after"), Some("1"));
    app.clock.advance(Duration::milliseconds(1));
    ann.resend(&app).await.expect(200);
    ann.resend(&app).await.refused(429, too_soon);
    assert_eq!(second_mail(&ann.email).await.0["to"], json!(ann.email));
}

#[tokio::test]
async fn where_no_mail_goes_out_another_link_comes_back() {
    let app = App::spawn().await;
    let opened = app.sign_up("ann@example.com").await;
    let (id, token) = (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str());
    app.clock.advance(Duration::minutes(1));
    let answer = resend(&app, id, token).await.expect(200);
    assert_eq!(fields(&answer), ["sent", "status", "verification_url"]);
    assert_eq!((&answer["sent"], &answer["status"]), (&json!(true), &json!("sent")));
    let link = answer["verification_url"].as_str().unwrap().strip_prefix(&app.base).unwrap();
    assert_eq!(app.get(link).await.status, 200);
}

#[tokio::test]
async fn no_other_mail_goes_to_a_confirmed_address() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    assert_eq!(app.get(&ann.link).await.status, 200);
    let already = json!({"sent": false, "status": "already_verified"});
    assert_eq!(ann.resend(&app).await.expect(200), already);
}

#[tokio::test]
async fn another_mail_needs_the_accounts_own_signup_token() {
    let app = App::spawn_with_mail().await;
    let (ann, bob) = (pending(&app).await, pending(&app).await);
    app.clock.advance(Duration::minutes(1));
    for token in [None, Some(""), Some("st_unknown"), Some(bob.signup_token.as_str())] {
        resend(&app, &ann.account_id, token).await.refused(401, "signup token required");
    }
    for id in ["acc_unknown", "no%20id"] {
        resend(&app, id, Some(&ann.signup_token)).await.refused(404, "account not found");
        resend(&app, id, None).await.refused(404, "account not found");
    }
    app.clock.advance(Duration::minutes(59));
    ann.resend(&app).await.refused(401, "signup token expired");
}

#[tokio::test]
async fn another_mail_that_fails_may_be_asked_for_again_at_once() {
    let app = App::spawn().await;
    let with_mail = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let opened = app.sign_up(&fresh_address("refuse")).await;
    let (id, token) = (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str());
    app.clock.advance(Duration::minutes(1));
    for _ in 0..2 {
        let answer = resend(&with_mail, id, token).await;
        answer.refused(502, "could not send the confirmation email");
    }
    resend(&app, id, token).await.expect(200);
}
