//! Health, plans, signup and account status: one test per row and per refusal.

use chrono::{Duration, Utc};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::visitors::{fields, with};
use crate::support::{Answer, App, MailServer, fresh_address};

pub async fn sign_up(app: &App, body: Value) -> Answer {
    app.post("/v1/accounts", body).await
}

pub fn ann() -> Value {
    json!({"email": "ann@example.com", "display_name": "Ann"})
}

#[tokio::test]
async fn a_service_with_its_database_is_well() {
    let app = App::spawn().await;
    assert_eq!(app.get("/healthz").await.expect(200), json!({"ok": true}));
}

#[tokio::test]
async fn plans_are_the_trial_and_the_unlimited_one() {
    let app = App::spawn().await;
    let free = json!({
        "id": "free", "selectable": true, "trial_days": 30,
        "setup_fee_cents": 0, "resolved_contact_cents": 0, "monthly_cents": 100,
        "pixels_included": 3, "contacts_included": 500,
    });
    let plans = json!({"next": null, "plans": [free, {"id": "unlimited", "selectable": false}]});
    assert_eq!(app.get("/v1/plans").await.expect(200), plans);
}

#[tokio::test]
async fn a_signup_opens_a_pending_trial_and_gives_the_link_where_no_mail_goes_out() {
    let app = App::spawn().await;
    let opened = sign_up(&app, ann()).await.expect(201);
    let expected = [
        "account_id",
        "email_verified",
        "external_user_id",
        "plan",
        "signup_token",
        "status",
        "verification_url",
    ];
    assert_eq!(fields(&opened), expected);
    assert_eq!(opened["status"], "pending_email");
    assert_eq!(opened["plan"], "free");
    assert_eq!(opened["email_verified"], false);
    assert_eq!(opened["external_user_id"], Value::Null);
    let token = opened["signup_token"].as_str().unwrap();
    assert!(token.starts_with("st_") && token.len() >= 43, "{token}");
    let link = opened["verification_url"].as_str().unwrap();
    assert!(link.starts_with(&format!("{}/v1/email/verify?token=", app.base)), "{link}");
}

#[tokio::test]
async fn a_signup_with_a_mail_server_gives_no_link() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let opened = sign_up(&app, json!({"email": email, "display_name": "Ann"})).await.expect(201);
    assert_eq!(opened.get("verification_url"), None);
    assert_eq!(opened.get("api_key"), None);
}

#[tokio::test]
async fn the_confirmation_mail_has_link_and_code_as_text_and_as_html() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    sign_up(&app, json!({"email": email, "display_name": "Ann"})).await.expect(201);
    let mail = MailServer::shared().newest(&email).await;
    let (code, link) = (mail.code(), format!("{}{}", app.base, mail.link()));
    assert!(mail.subject().contains(&code), "{}", mail.subject());
    assert!(mail.text().contains(&link) && mail.text().contains("Hello Ann"), "{}", mail.text());
    assert!(mail.html().contains(&link) && mail.html().contains(&code), "{}", mail.html());
    assert_eq!(mail.0["to"], json!(email));
    assert_eq!(mail.0["from"], "Assent <no-reply@localhost>");
    assert_eq!(mail.0["headers"]["Auto-Submitted"], "auto-generated");
}

#[tokio::test]
async fn a_display_name_cannot_write_the_mail() {
    let app = App::spawn_with_mail().await;
    for name in ["<b>Ann</b>", "see http://evil.example/now", "Ann\r\nBcc: eve@example.com"] {
        let email = fresh_address("ann");
        sign_up(&app, json!({"email": email, "display_name": name})).await.expect(201);
        let mail = MailServer::shared().newest(&email).await;
        assert!(!mail.html().contains("<b>Ann</b>"), "{}", mail.html());
        assert!(!mail.text().contains("evil.example"), "{}", mail.text());
        assert_eq!(mail.0["headers"].get("Bcc"), None);
    }
}

#[tokio::test]
async fn a_mail_greets_by_name_only_where_the_display_name_is_one() {
    let app = App::spawn_with_mail().await;
    for (display_name, is_name) in [
        ("Seán O'Brien-Smith", true),
        ("李小龍", true),
        ("You have won a prize", false),
        ("Your account ends! Call 0900", false),
        ("Ann (bank.example)", false),
        ("Ann\u{202e}Lee", false),
    ] {
        let email = fresh_address("ann");
        sign_up(&app, json!({"email": email, "display_name": display_name})).await.expect(201);
        let mail = MailServer::shared().newest(&email).await;
        let unescaped = mail.html().replace("&#x27;", "'");
        for part in [mail.text(), &unescaped] {
            assert_eq!(part.contains(display_name), is_name, "{part}");
        }
        assert_eq!(mail.text().starts_with("Hello,"), !is_name, "{}", mail.text());
    }
}

#[tokio::test]
async fn an_address_is_kept_lowercased() {
    let app = App::spawn().await;
    let body = with(&ann(), "email", json!("  Ann.Lee@Example.COM "));
    let opened = sign_up(&app, body).await.expect(201);
    let account_id = opened["account_id"].as_str().unwrap();
    let shown = app.show_account(account_id, opened["signup_token"].as_str().unwrap()).await;
    assert_eq!(shown.expect(200)["email"], "ann.lee@example.com");
}

#[tokio::test]
async fn an_address_that_cannot_be_written_to_is_refused() {
    let app = App::spawn().await;
    sign_up(&app, json!({"display_name": "Ann"})).await.refused(400, "invalid email");
    for email in [
        json!(null),
        json!(""),
        json!("   "),
        json!("ann"),
        json!("@example.com"),
        json!("ann@"),
        json!("ann@localhost"),
        json!("ann@127.0.0.1"),
        json!("a nn@example.com"),
        json!("ann@example..com"),
        json!("ann@example.com\r\nBcc: eve@example.com"),
        json!(format!("{}@example.com", "x".repeat(65))),
        json!(format!("ann@{}.com", "x".repeat(300))),
    ] {
        let body = json!({"email": email, "display_name": "Ann"});
        sign_up(&app, body).await.refused(400, "invalid email");
    }
}

#[tokio::test]
async fn a_name_is_required() {
    let app = App::spawn().await;
    let nameless = json!({"email": "ann@example.com"});
    sign_up(&app, nameless).await.refused(400, "display name is required");
    for name in [json!(null), json!(""), json!(" \t ")] {
        let body = json!({"email": "ann@example.com", "display_name": name});
        sign_up(&app, body).await.refused(400, "display name is required");
    }
}

#[tokio::test]
async fn a_signup_of_the_wrong_shape_is_an_invalid_request() {
    let app = App::spawn().await;
    for (field, value) in [
        ("email", json!(1)),
        ("email", json!(["ann@example.com"])),
        ("display_name", json!({})),
        ("external_user_id", json!(7)),
        ("code", json!(false)),
        ("code", json!("x".repeat(65))),
    ] {
        sign_up(&app, with(&ann(), field, value)).await.refused(400, "invalid request");
    }
    for body in [json!([]), json!("text"), json!(1), json!(null), json!(true)] {
        sign_up(&app, body).await.refused(400, "invalid request");
    }
    let post = |bytes: &'static [u8]| app.request(Method::POST, "/v1/accounts").body(bytes);
    for bytes in [
        &b""[..],
        b"{",
        b"no json",
        b"{\"email\":\"a@example.com\",\"email\":\"b@example.com\",\"display_name\":\"A\"}",
        b"{\"email\":\"a@example.com\",\"display_name\":\"A\\u0000\"}",
        b"{\"email\":\"a@example.com\",\"display_name\":\"\xff\"}",
    ] {
        Answer::of(post(bytes)).await.refused(400, "invalid request");
    }
    sign_up(&app, ann()).await.expect(201);
}

#[tokio::test]
async fn a_body_is_json_whatever_its_content_type_says() {
    let app = App::spawn().await;
    for (number, content_type) in
        ["text/plain", "application/x-www-form-urlencoded", "*"].iter().enumerate()
    {
        let body = with(&ann(), "email", json!(format!("ann{number}@example.com")));
        let request =
            app.request(Method::POST, "/v1/accounts").header("content-type", *content_type);
        Answer::of(request.body(body.to_string())).await.expect(201);
    }
    let untyped = app.request(Method::POST, "/v1/accounts").body(ann().to_string());
    Answer::of(untyped).await.expect(201);
}

#[tokio::test]
async fn fields_that_nobody_knows_are_ignored() {
    let app = App::spawn().await;
    let opened = sign_up(&app, with(&ann(), "plan", json!("unlimited"))).await.expect(201);
    assert_eq!(opened["plan"], "free");
}

#[tokio::test]
async fn a_referral_code_of_64_characters_is_kept() {
    let app = App::spawn().await;
    let code = "x".repeat(64);
    sign_up(&app, with(&ann(), "code", json!(code))).await.expect(201);
    let kept = "SELECT referral_code FROM accounts WHERE email = 'ann@example.com'";
    let kept = sqlx::query_scalar::<_, Option<String>>(kept).fetch_one(&app.pool).await;
    assert_eq!(kept.unwrap(), Some(code));
}

#[tokio::test]
async fn an_address_has_one_account() {
    let app = App::spawn().await;
    sign_up(&app, ann()).await.expect(201);
    for email in ["ann@example.com", "ANN@EXAMPLE.com", " ann@example.com. "] {
        let again = with(&ann(), "email", json!(email));
        sign_up(&app, again).await.refused(409, "email already registered");
    }
    let confirmed = app.account("bob@example.com").await.email;
    let again = with(&ann(), "email", json!(confirmed));
    sign_up(&app, again).await.refused(409, "email already registered");
}

#[tokio::test]
async fn an_external_user_has_one_account() {
    let app = App::spawn().await;
    let user = |email: &str, id: Value| json!({"email": email, "display_name": "A", "external_user_id": id});
    let opened = sign_up(&app, user("ann@example.com", json!("user-1"))).await.expect(201);
    assert_eq!(opened["external_user_id"], "user-1");
    let again = sign_up(&app, user("bob@example.com", json!("user-1"))).await;
    again.refused(409, "external user already registered");
    // The refused signup left nothing behind, and no id is nobody's id.
    sign_up(&app, user("bob@example.com", json!(null))).await.expect(201);
    let blank = sign_up(&app, user("eve@example.com", json!(" "))).await.expect(201);
    assert_eq!(blank["external_user_id"], Value::Null);
    sign_up(&app, user("dan@example.com", json!(""))).await.expect(201);
}

#[tokio::test]
async fn an_unlimited_key_opens_accounts_with_a_key_and_without_a_mail() {
    let app = App::spawn_with_mail().await;
    let operator = app.another_node(&[]).await.unlimited_account("operator@example.com").await;
    let email = fresh_address("ann");
    let body = json!({"email": email, "display_name": "Ann"});
    let opened = app.call(Method::POST, "/v1/accounts", &operator.key, body).await.expect(201);
    assert_eq!(opened["status"], "pending_email");
    assert_eq!(opened["plan"], "free");
    assert_eq!(opened["email_verified"], false);
    let key = opened["api_key"].as_str().unwrap();
    assert_eq!(opened["prefix"], key[..12]);
    let link =
        opened["verification_url"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned();
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await.expect(200);
    assert_eq!(app.get(&link).await.status, 200);
    assert!(MailServer::shared().inbox(&email).is_empty());
}

#[tokio::test]
async fn any_other_key_signs_up_like_none() {
    let app = App::spawn_with_mail().await;
    let node = app.another_node(&[]).await;
    let paid = node.account("paid@example.com").await.key;
    sqlx::query("UPDATE accounts SET plan = 'paid'").execute(&app.pool).await.unwrap();
    let suspended = node.unlimited_account("suspended-operator@example.com").await;
    node.set_status(&suspended.account_id, "suspended").await;
    let unknown = "px_unknown".to_owned();
    for key in [paid, node.revoked_key().await, suspended.key, unknown] {
        let email = fresh_address("ann");
        let body = json!({"email": email, "display_name": "Ann"});
        let opened = app.call(Method::POST, "/v1/accounts", &key, body).await.expect(201);
        assert_eq!(opened.get("api_key"), None);
        assert_eq!(opened.get("verification_url"), None);
        MailServer::shared().newest(&email).await;
    }
}

#[tokio::test]
async fn an_account_is_shown_to_its_signup_token() {
    let app = App::spawn().await;
    let opened = sign_up(&app, ann()).await.expect(201);
    let (id, token) =
        (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str().unwrap());
    let shown = app.show_account(id, token).await.expect(200);
    let pending = json!({
        "account_id": id, "status": "pending_email", "plan": "free",
        "email": "ann@example.com", "email_verified": false,
    });
    assert_eq!(shown, pending);
    let link = opened["verification_url"].as_str().unwrap().strip_prefix(&app.base).unwrap();
    assert_eq!(app.get(link).await.status, 200);
    let shown = app.show_account(id, token).await.expect(200);
    assert_eq!(shown["status"], "active");
    assert_eq!(shown["email_verified"], true);
}

#[tokio::test]
async fn an_account_is_shown_to_no_other_token() {
    let app = App::spawn().await;
    let [ann, bob] = [app.account("ann@example.com").await, app.account("bob@example.com").await];
    let path = format!("/v1/accounts/{}", ann.account_id);
    app.get(&path).await.refused(401, "signup token required");
    app.call(Method::GET, &path, &ann.key, Value::Null).await.refused(401, "signup token required");
    for token in ["", " ", "st_unknown", &bob.signup_token, &ann.key] {
        app.show_account(&ann.account_id, token).await.refused(401, "signup token required");
    }
    for unknown in ["acc_unknown", "no%20id", &"x".repeat(200)] {
        app.show_account(unknown, &ann.signup_token).await.refused(401, "signup token required");
    }
}

#[tokio::test]
async fn a_signup_token_ends_after_one_hour_to_the_millisecond() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    app.clock.advance(Duration::hours(1) - Duration::milliseconds(1));
    app.show_account(&ann.account_id, &ann.signup_token).await.expect(200);
    app.issue_key(&ann.account_id, &ann.signup_token).await.expect(201);
    app.clock.advance(Duration::milliseconds(1));
    app.show_account(&ann.account_id, &ann.signup_token).await.refused(401, "signup token expired");
    app.issue_key(&ann.account_id, &ann.signup_token).await.refused(401, "signup token expired");
}

#[tokio::test]
async fn the_trial_ends_thirty_days_after_the_signup() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let who = app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await.expect(200);
    let ends = who["trial_ends_at"].as_str().unwrap().parse::<chrono::DateTime<Utc>>().unwrap();
    assert_eq!(ends, app.clock.now() + Duration::days(30));
    assert_eq!(who["paid_until"], Value::Null);
}

#[tokio::test]
async fn secrets_are_stored_only_as_hashes() {
    let app = App::spawn().await;
    let opened = sign_up(&app, ann()).await.expect(201);
    let ann = app.account("bob@example.com").await;
    let link = opened["verification_url"].as_str().unwrap().split_once("token=").unwrap().1;
    let token = opened["signup_token"].as_str().unwrap();
    let tables =
        ["accounts", "api_keys", "signup_tokens", "confirmation_links", "confirmation_codes"];
    for table in tables {
        let rows = format!("SELECT COALESCE(string_agg(t::text, ' '), '') FROM {table} AS t");
        let text = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(rows));
        let text = text.fetch_one(&app.pool).await.unwrap();
        for secret in [link, token, &ann.key, &ann.signup_token] {
            assert!(!text.contains(secret), "{table} holds a secret");
        }
    }
}
