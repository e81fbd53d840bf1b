//! Addresses of every odd form, and mail servers of every bad habit.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, App, MailServer};

async fn app_with_mail() -> App {
    App::spawn_with(&[("SMTP_URL", &MailServer::shared().url)]).await
}

async fn sign_up(app: &App, email: &str) -> Answer {
    app.post("/v1/accounts", json!({"email": email, "display_name": "Test"})).await
}

async fn stored_email(app: &App, opened: &Value) -> Value {
    let path = format!("/v1/accounts/{}", opened["account_id"].as_str().unwrap());
    let request = app.request(Method::GET, &path);
    let request = request.header("x-signup-token", opened["signup_token"].as_str().unwrap());
    Answer::of(request).await.expect(200)["email"].clone()
}

#[tokio::test]
async fn addresses_of_odd_forms_receive_their_mail() {
    let app = app_with_mail().await;
    for (given, kept) in [
        ("Upper.Case@ODD.Example", "upper.case@odd.example"),
        ("  spaces@odd.example\n", "spaces@odd.example"),
        ("tag+more=x@odd.example", "tag+more=x@odd.example"),
        ("dot@odd.example.", "dot@odd.example"),
        ("idn@bücher.example", "idn@xn--bcher-kva.example"),
        ("www@www.odd.example", "www@www.odd.example"),
        ("o'neil!#$%&*/?^_`{|}~-@odd.example", "o'neil!#$%&*/?^_`{|}~-@odd.example"),
        ("\"quoted.local\"@odd.example", "\"quoted.local\"@odd.example"),
        ("\"a@b\"@odd.example", "\"a@b\"@odd.example"),
        ("jörg@odd.example", "jörg@odd.example"),
        ("one@deep.er.and.deeper.odd.example", "one@deep.er.and.deeper.odd.example"),
    ] {
        let opened = sign_up(&app, given).await;
        assert_eq!(opened.status, 201, "{given}: {}", opened.text);
        assert_eq!(stored_email(&app, &opened.json()).await, kept, "{given}");
        // The mail server drops needless quotes, and a slash is no name of an inbox's folder.
        let inbox = kept.replacen("\"quoted.local\"", "quoted.local", 1);
        if !inbox.contains('/') {
            MailServer::shared().newest(&inbox).await;
        }
    }
}

#[tokio::test]
async fn an_invalid_address_is_an_invalid_email() {
    let app = App::spawn().await;
    let long_local = format!("{}@odd.example", "x".repeat(65));
    let long_domain = format!("x@{}.example", "y".repeat(250));
    for email in [
        "",
        " ",
        "ann",
        "@",
        "@odd.example",
        "ann@",
        "ann@@odd.example",
        "ann@localhost",
        "ann@odd..example",
        "ann@.example",
        "ann@-odd.example",
        "ann@odd-.example",
        "ann@127.0.0.1",
        "ann@[127.0.0.1]",
        "ann@[IPv6:::1]",
        "a b@odd.example",
        "ann@odd example",
        "ann\u{0}@odd.example",
        ".ann@odd.example",
        "ann.@odd.example",
        "a..b@odd.example",
        "ann@odd.example, bob@odd.example",
        "Ann <ann@odd.example>",
        "ann@odd.example\r\nBcc: bob@odd.example",
        "ann@under_score.example",
        "\"open@odd.example",
        &long_local,
        &long_domain,
    ] {
        let answer = sign_up(&app, email).await;
        // NUL characters make any body invalid.
        let sentence = if email.contains('\0') { "invalid request" } else { "invalid email" };
        assert_eq!(answer.status, 400, "{email:?}: {}", answer.text);
        answer.refused(400, sentence);
    }
    let accounts = sqlx::query_scalar::<_, i64>(
        "SELECT count(*) FROM accounts WHERE account_id <> 'acc_demo'",
    );
    assert_eq!(accounts.fetch_one(&app.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn forms_of_one_address_are_one_account() {
    let app = App::spawn().await;
    sign_up(&app, "Ann@Bücher.example").await.expect(201);
    for same in ["ann@bücher.example", "ANN@BÜCHER.EXAMPLE.", " ann@xn--bcher-kva.example "] {
        sign_up(&app, same).await.refused(409, "email already registered");
    }
    sign_up(&app, "ann+tag@bücher.example").await.expect(201);
}

#[tokio::test]
async fn a_signup_whose_mail_failed_starts_no_pause_for_codes() {
    for url in [MailServer::shared().url.as_str(), "smtp://127.0.0.1:1"] {
        let app = App::spawn_with(&[("SMTP_URL", url)]).await;
        for email in ["refuse@server.example", "later@server.example"] {
            let refused = sign_up(&app, email).await;
            refused.refused(502, "could not send the confirmation email");
            app.post("/v1/signup/resend-code", json!({"email": email})).await.expect(200);
        }
    }
}

#[tokio::test]
async fn a_requested_code_does_not_wait_for_the_mail_server_and_tells_nothing_of_its_failure() {
    let app = app_with_mail().await;
    let opened = sign_up(&app, "fine@server.example").await.expect(201);
    for email in ["stall@server.example", "refuse@server.example", "later@server.example"] {
        sqlx::query("UPDATE accounts SET email = $1 WHERE account_id = $2")
            .bind(email)
            .bind(opened["account_id"].as_str())
            .execute(&app.pool)
            .await
            .unwrap();
        let start = Instant::now();
        let answer = app.post("/v1/signup/resend-code", json!({"email": email})).await;
        assert_eq!(answer.expect(200), json!({"sent": true}));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let again = app.post("/v1/signup/resend-code", json!({"email": email})).await;
        again.refused(429, "wait before sending the confirmation code again");
    }
}
