//! Confirming an address by link and by code, and the second mail: one test per row and refusal.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::visitors::fields;
use crate::support::{Answer, App, MailServer, fresh_address};

/// An account that has not been confirmed, and the mail that it got.
pub struct Pending {
    pub account_id: String,
    pub signup_token: String,
    pub email: String,
    pub code: String,
    pub link: String,
}

pub async fn pending(app: &App) -> Pending {
    let email = fresh_address("ann");
    let opened = app.sign_up(&email).await;
    let mail = MailServer::shared().newest(&email).await;
    let text = |field: &str| opened[field].as_str().unwrap().to_owned();
    Pending {
        account_id: text("account_id"),
        signup_token: text("signup_token"),
        code: mail.code(),
        link: mail.link(),
        email,
    }
}

impl Pending {
    pub async fn status(&self, app: &App) -> String {
        let row = sqlx::query_scalar("SELECT status FROM accounts WHERE account_id = $1");
        row.bind(&self.account_id).fetch_one(&app.pool).await.unwrap()
    }

    pub async fn confirm(&self, app: &App, body: Value) -> Answer {
        app.post(&format!("/v1/accounts/{}/confirm", self.account_id), body).await
    }

    /// A code that is not the right one.
    pub fn wrong_code(&self) -> &'static str {
        if self.code == "000000" { "111111" } else { "000000" }
    }

    pub async fn resend(&self, app: &App) -> Answer {
        resend(app, &self.account_id, Some(&self.signup_token)).await
    }
}

pub async fn resend(app: &App, account_id: &str, token: Option<&str>) -> Answer {
    let path = format!("/v1/accounts/{account_id}/verification-email");
    let request = app.request(Method::POST, &path);
    Answer::of(match token {
        Some(token) => request.header("x-signup-token", token),
        None => request,
    })
    .await
}

#[tokio::test]
async fn the_link_confirms_and_says_so_a_second_time() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    for _ in 0..2 {
        let page = app.get(&ann.link).await;
        assert_eq!(page.status, 200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.text.contains("Email confirmed"), "{}", page.text);
        assert_eq!(ann.status(&app).await, "active");
    }
}

#[tokio::test]
async fn a_link_without_its_token_is_refused() {
    let app = App::spawn().await;
    for path in ["/v1/email/verify", "/v1/email/verify?token=", "/v1/email/verify?token=%20&x=1"] {
        app.get(path).await.refused(400, "verification token required");
    }
}

#[tokio::test]
async fn an_unknown_link_is_not_found() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    let changed = format!("{}x", ann.link);
    for path in
        [changed.as_str(), "/v1/email/verify?token=unknown", "/v1/email/verify?token=%00%ff"]
    {
        app.get(path).await.refused(404, "verification link not found");
    }
    assert_eq!(ann.status(&app).await, "pending_email");
}

#[tokio::test]
async fn the_link_ends_after_24_hours_to_the_millisecond() {
    let app = App::spawn_with_mail().await;
    let (ann, bob) = (pending(&app).await, pending(&app).await);
    app.clock.advance(Duration::hours(24) - Duration::milliseconds(1));
    assert_eq!(app.get(&ann.link).await.status, 200);
    app.clock.advance(Duration::milliseconds(1));
    app.get(&bob.link).await.refused(400, "verification link expired");
    assert_eq!(bob.status(&app).await, "pending_email");
    // Expired is expired, also for a link that was used in time.
    app.get(&ann.link).await.refused(400, "verification link expired");
}

#[tokio::test]
async fn people_with_a_browser_read_a_page_of_the_same_status_and_sentence() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    app.clock.advance(Duration::hours(24));
    for (path, status, sentence) in [
        ("/v1/email/verify", 400, "verification token required"),
        ("/v1/email/verify?token=unknown", 404, "verification link not found"),
        (ann.link.as_str(), 400, "verification link expired"),
    ] {
        let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
        let page = Answer::of(app.request(Method::GET, path).header("accept", accept)).await;
        assert_eq!(page.status, status);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.text.contains(sentence), "{}", page.text);
        let program = app.request(Method::GET, path).header("accept", "*/*");
        Answer::of(program).await.refused(status, sentence);
    }
}

#[tokio::test]
async fn a_mail_scanner_that_only_looks_confirms_nothing() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    let looked = Answer::of(app.request(Method::HEAD, &ann.link)).await;
    assert_eq!((looked.status, looked.text.as_str()), (200, ""));
    assert_eq!(ann.status(&app).await, "pending_email");
    let unknown = Answer::of(app.request(Method::HEAD, "/v1/email/verify?token=unknown")).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn the_code_confirms_and_with_the_signup_token_brings_the_first_key() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    let body = json!({"code": format!(" {} ", ann.code), "signup_token": ann.signup_token});
    let confirmed = ann.confirm(&app, body.clone()).await.expect(200);
    let expected =
        ["account_id", "already_verified", "api_key", "email_verified", "prefix", "status"];
    assert_eq!(fields(&confirmed), expected);
    assert_eq!(confirmed["account_id"], json!(ann.account_id));
    assert_eq!(confirmed["status"], "active");
    assert_eq!(confirmed["email_verified"], true);
    assert_eq!(confirmed["already_verified"], false);
    let key = confirmed["api_key"].as_str().unwrap();
    assert!(key.starts_with("px_"));
    assert_eq!(confirmed["prefix"], key[..12]);
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await.expect(200);

    let again = ann.confirm(&app, body).await.expect(200);
    assert_eq!(fields(&again), ["account_id", "already_verified", "email_verified", "status"]);
    assert_eq!(again["already_verified"], true);
}

#[tokio::test]
async fn the_code_alone_confirms_without_a_key() {
    let app = App::spawn_with_mail().await;
    let other = pending(&app).await.signup_token;
    for token in [Value::Null, json!(""), json!("st_unknown"), json!(other)] {
        let ann = pending(&app).await;
        let body = json!({"code": ann.code, "signup_token": token});
        let confirmed = ann.confirm(&app, body).await.expect(200);
        assert_eq!(confirmed["already_verified"], false);
        assert_eq!(confirmed.get("api_key"), None);
        assert_eq!(ann.status(&app).await, "active");
    }
}

/// Runs statements on the database of the service.
async fn change(app: &App, statements: &'static str) {
    sqlx::raw_sql(statements).execute(&app.pool).await.unwrap();
}

#[tokio::test]
async fn a_failure_of_the_database_while_confirming_is_never_answered_with_confirmed() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    let body = json!({"code": ann.code, "signup_token": ann.signup_token});
    let raising = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE 'not now'; END$$;";
    change(&app, raising).await;
    for (breaking, mending) in [
        // After the address was marked as confirmed, and before the key.
        (
            "ALTER TABLE signup_tokens RENAME COLUMN token_hash TO away",
            "ALTER TABLE signup_tokens RENAME COLUMN away TO token_hash",
        ),
        (
            "CREATE TRIGGER refuse BEFORE INSERT ON api_keys
                 FOR EACH ROW EXECUTE FUNCTION refuse()",
            "DROP TRIGGER refuse ON api_keys",
        ),
        // With the very last word.
        (
            "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON accounts
                 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()",
            "DROP TRIGGER refuse ON accounts",
        ),
    ] {
        change(&app, breaking).await;
        ann.confirm(&app, body.clone()).await.refused(500, "internal error");
        assert_eq!(ann.status(&app).await, "pending_email", "{breaking}");
        change(&app, mending).await;
    }
    let raising = "CREATE TRIGGER refuse BEFORE UPDATE ON accounts
        FOR EACH ROW EXECUTE FUNCTION refuse()";
    change(&app, raising).await;
    app.get(&ann.link).await.refused(500, "internal error");
    change(&app, "DROP TRIGGER refuse ON accounts").await;
    // Nothing was used up.
    assert!(ann.confirm(&app, body).await.expect(200)["api_key"].is_string());
}

#[tokio::test]
async fn an_expired_signup_token_brings_no_key() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    app.clock.advance(Duration::hours(1));
    let body = json!({"code": ann.code, "signup_token": ann.signup_token});
    assert_eq!(ann.confirm(&app, body).await.expect(200).get("api_key"), None);
}

#[tokio::test]
async fn after_the_link_the_code_says_already_verified() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    assert_eq!(app.get(&ann.link).await.status, 200);
    let body = json!({"code": ann.code, "signup_token": ann.signup_token});
    let confirmed = ann.confirm(&app, body).await.expect(200);
    assert_eq!(confirmed["already_verified"], true);
    assert_eq!(confirmed.get("api_key"), None);
}

#[tokio::test]
async fn nobody_confirms_an_unknown_account() {
    let app = App::spawn().await;
    for id in ["acc_unknown", "no%20id", &"x".repeat(41)] {
        let answer =
            app.post(&format!("/v1/accounts/{id}/confirm"), json!({"code": "123456"})).await;
        answer.refused(404, "account not found");
    }
}

#[tokio::test]
async fn a_confirmation_of_the_wrong_shape_names_what_is_wrong() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    for body in [json!({}), json!({"code": null}), json!({"code": ""}), json!({"code": " "})] {
        ann.confirm(&app, body).await.invalid(&["body", "code"]);
    }
    ann.confirm(&app, json!({"code": 123456})).await.invalid(&["body", "code"]);
    let body = json!({"code": ann.code, "signup_token": []});
    ann.confirm(&app, body).await.invalid(&["body", "signup_token"]);
    ann.confirm(&app, json!([ann.code])).await.invalid(&["body"]);
    let path = format!("/v1/accounts/{}/confirm", ann.account_id);
    Answer::of(app.request(Method::POST, &path).body("{")).await.invalid(&["body"]);
    assert_eq!(ann.status(&app).await, "pending_email");
}

#[tokio::test]
async fn a_wrong_code_and_another_accounts_code_are_invalid() {
    let app = App::spawn_with_mail().await;
    let (ann, bob) = (pending(&app).await, pending(&app).await);
    for code in [ann.wrong_code(), "1", "abcdef", &"9".repeat(100)] {
        ann.confirm(&app, json!({"code": code})).await.refused(400, "invalid code");
    }
    if ann.code != bob.code {
        bob.confirm(&app, json!({"code": ann.code})).await.refused(400, "invalid code");
    }
    assert_eq!(ann.status(&app).await, "pending_email");
}

#[tokio::test]
async fn the_code_ends_after_24_hours_to_the_millisecond() {
    let app = App::spawn_with_mail().await;
    let (ann, bob) = (pending(&app).await, pending(&app).await);
    app.clock.advance(Duration::hours(24) - Duration::milliseconds(1));
    ann.confirm(&app, json!({"code": ann.code})).await.expect(200);
    app.clock.advance(Duration::milliseconds(1));
    bob.confirm(&app, json!({"code": bob.code})).await.refused(400, "invalid code");
}

#[tokio::test]
async fn five_wrong_tries_end_a_code_and_another_mail_brings_a_new_one() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    for _ in 0..5 {
        ann.confirm(&app, json!({"code": ann.wrong_code()})).await.refused(400, "invalid code");
    }
    for code in [ann.code.as_str(), ann.wrong_code()] {
        let answer = ann.confirm(&app, json!({"code": code})).await;
        answer.refused(429, "too many attempts, request a new code");
        let seconds = answer.header("retry-after").expect("Retry-After").parse::<u64>();
        assert!((1..=60).contains(&seconds.unwrap()));
    }
    app.clock.advance(Duration::minutes(1));
    ann.resend(&app).await.expect(200);
    let code = second_mail(&ann.email).await.code();
    ann.confirm(&app, json!({"code": code})).await.expect(200);
}

#[tokio::test]
async fn four_wrong_tries_are_forgiven() {
    let app = App::spawn_with_mail().await;
    let ann = pending(&app).await;
    for _ in 0..4 {
        ann.confirm(&app, json!({"code": ann.wrong_code()})).await.refused(400, "invalid code");
    }
    ann.confirm(&app, json!({"code": ann.code})).await.expect(200);
}

pub async fn second_mail(email: &str) -> crate::support::mail::Mail {
    for _ in 0..1_200 {
        let mut mails = MailServer::shared().inbox(email);
        if mails.len() == 2 {
            return mails.pop().unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("{email} received no second mail");
}
