//! Signing up for somebody else, with an unlimited key.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Account, Answer, App, MailServer};

async fn sign_up_with(app: &App, key: &str, email: &str) -> Answer {
    let body = json!({"email": email, "display_name": "Customer"});
    app.call(Method::POST, "/v1/accounts", key, body).await
}

/// An app that sends mail, and its operator.
async fn app_with_operator() -> (App, Account) {
    let app = App::spawn_with(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let email = format!("operator-{}@unlimited.example", assent::types::ids::random_text(8));
    let email = email.to_lowercase();
    let opened = app.sign_up(&email).await;
    app.get(&MailServer::shared().newest(&email).await.link()).await;
    let text = |name: &str| opened[name].as_str().unwrap().to_owned();
    let (account_id, signup_token) = (text("account_id"), text("signup_token"));
    let issued = app.issue_key(&account_id, &signup_token).await.expect(201);
    let key = issued["api_key"].as_str().unwrap().to_owned();
    set(&app, "plan = 'unlimited'", &account_id).await;
    (app, Account { account_id, email, signup_token, key })
}

async fn set(app: &App, what: &str, account_id: &str) {
    let statement = format!("UPDATE accounts SET {what} WHERE account_id = $1");
    sqlx::query(sqlx::AssertSqlSafe(statement)).bind(account_id).execute(&app.pool).await.unwrap();
}

async fn list_pixels(app: &App, key: &str) -> Answer {
    app.call(Method::GET, "/v1/pixels", key, Value::Null).await
}

#[tokio::test]
async fn no_mail_is_sent_and_the_key_comes_at_once() {
    let (app, operator) = app_with_operator().await;
    let email = "customer@unlimited.example";
    let opened = sign_up_with(&app, &operator.key, email).await.expect(201);
    assert_eq!(opened["status"], "pending_email");
    assert_eq!(opened["plan"], "free");
    assert_eq!(opened["email_verified"], false);
    assert_eq!(opened["external_user_id"], Value::Null);
    let key = opened["api_key"].as_str().unwrap();
    assert!(key.starts_with("px_") && key.len() >= 43);
    assert_eq!(opened["prefix"], json!(key[..12]));
    assert!(opened["verification_url"].as_str().unwrap().contains("/v1/email/verify?token="));
    assert!(opened["signup_token"].as_str().unwrap().starts_with("st_"));
    assert!(MailServer::shared().inbox(email).is_empty());
}

#[tokio::test]
async fn the_key_is_of_no_use_until_the_account_is_active() {
    let (app, operator) = app_with_operator().await;
    for (email, by_link) in
        [("link@unlimited.example", true), ("activated@unlimited.example", false)]
    {
        let opened = sign_up_with(&app, &operator.key, email).await.expect(201);
        let (id, key) =
            (opened["account_id"].as_str().unwrap(), opened["api_key"].as_str().unwrap());
        list_pixels(&app, key).await.refused(403, "account is not in good standing");
        let who = app.call(Method::GET, "/v1/whoami", key, Value::Null).await.expect(200);
        assert_eq!((&who["account_id"], &who["status"]), (&json!(id), &json!("pending_email")));
        assert_eq!(who["key_prefix"], opened["prefix"]);
        if by_link {
            let link = opened["verification_url"].as_str().unwrap();
            app.get(link.strip_prefix(&app.base).unwrap()).await;
        } else {
            let path = format!("/v1/accounts/{id}/activate");
            app.call(Method::POST, &path, &operator.key, Value::Null).await.expect(200);
        }
        list_pixels(&app, key).await.expect(200);
    }
}

#[tokio::test]
async fn the_key_may_come_in_either_header() {
    let (app, operator) = app_with_operator().await;
    let body = json!({"email": "header@unlimited.example", "display_name": "Customer"});
    let request = app.request(Method::POST, "/v1/accounts").header("X-API-Key", &operator.key);
    let opened = Answer::of(request.json(&body)).await.expect(201);
    assert!(opened["api_key"].is_string());
}

#[tokio::test]
async fn any_other_key_counts_as_none() {
    let (app, operator) = app_with_operator().await;
    let other = sign_up_with(&app, &operator.key, "base@unlimited.example").await.expect(201);
    let (id, key) = (other["account_id"].as_str().unwrap(), other["api_key"].as_str().unwrap());
    let cases = [
        ("free", "status = 'active'"),
        ("paid", "plan = 'paid'"),
        ("suspended", "plan = 'unlimited', status = 'suspended'"),
        ("pending", "plan = 'unlimited', status = 'pending_email'"),
    ];
    for (name, change) in cases {
        set(&app, change, id).await;
        is_ordinary(&app, key, &format!("{name}@unlimited.example")).await;
    }
    is_ordinary(&app, "px_unknown", "unknown-key@unlimited.example").await;
    sqlx::query("UPDATE api_keys SET revoked_at = created_at").execute(&app.pool).await.unwrap();
    is_ordinary(&app, &operator.key, "revoked@unlimited.example").await;
}

/// The signup goes its usual way: a mail, and neither a key nor a link in the answer.
async fn is_ordinary(app: &App, key: &str, email: &str) {
    let opened = sign_up_with(app, key, email).await.expect(201);
    for absent in ["api_key", "prefix", "verification_url"] {
        assert!(opened.get(absent).is_none(), "{email}: {opened}");
    }
    MailServer::shared().newest(email).await;
}

#[tokio::test]
async fn a_refused_signup_leaves_no_key() {
    let (app, operator) = app_with_operator().await;
    sign_up_with(&app, &operator.key, "twice@unlimited.example").await.expect(201);
    let again = sign_up_with(&app, &operator.key, "Twice@unlimited.example").await;
    again.refused(409, "email already registered");
    let keys = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM api_keys");
    assert_eq!(keys.fetch_one(&app.pool).await.unwrap(), 2);
}

#[tokio::test]
async fn a_code_can_be_asked_for_at_once_since_no_mail_was_sent() {
    let (app, operator) = app_with_operator().await;
    let email = "code@unlimited.example";
    let opened = sign_up_with(&app, &operator.key, email).await.expect(201);
    app.post("/v1/signup/resend-code", json!({"email": email})).await.expect(200);
    let code = MailServer::shared().newest(email).await.code();
    let path = format!("/v1/accounts/{}/confirm", opened["account_id"].as_str().unwrap());
    app.post(&path, json!({"code": code})).await.expect(200);
    list_pixels(&app, opened["api_key"].as_str().unwrap()).await.expect(200);
}

async fn sign_up_user(app: &App, key: Option<&str>, email: &str, user: &str) -> Answer {
    let body = json!({"email": email, "display_name": "Customer", "external_user_id": user});
    match key {
        Some(key) => app.call(Method::POST, "/v1/accounts", key, body).await,
        None => app.post("/v1/accounts", body).await,
    }
}

async fn user_of(app: &App, account_id: &Value) -> Option<String> {
    sqlx::query_scalar("SELECT external_user_id FROM accounts WHERE account_id = $1")
        .bind(account_id.as_str())
        .fetch_one(&app.pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_operator_takes_an_external_user_id_from_whoever_only_claims_it() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    for (user, confirmed) in [("user-1", false), ("user-2", true)] {
        let squatter = format!("squatter-of-{user}@example.com");
        let claimed = sign_up_user(&app, None, &squatter, user).await.expect(201);
        if confirmed {
            let link = claimed["verification_url"].as_str().unwrap();
            app.get(link.strip_prefix(&app.base).unwrap()).await;
            set(&app, "plan = 'paid'", claimed["account_id"].as_str().unwrap()).await;
        }
        let again = sign_up_user(&app, None, "other@example.com", user).await;
        again.refused(409, "external user already registered");
        // A signup that fails for another reason takes nothing.
        let failed = sign_up_user(&app, Some(&operator.key), &squatter, user).await;
        failed.refused(409, "email already registered");
        assert_eq!(user_of(&app, &claimed["account_id"]).await.as_deref(), Some(user));

        let email = format!("{user}@example.com");
        let opened = sign_up_user(&app, Some(&operator.key), &email, user).await.expect(201);
        assert_eq!(opened["external_user_id"], json!(user));
        assert_eq!(user_of(&app, &claimed["account_id"]).await, None);
        assert_eq!(user_of(&app, &opened["account_id"]).await.as_deref(), Some(user));

        // The operator's values remain, whoever asks.
        for key in [Some(operator.key.as_str()), None] {
            let again = sign_up_user(&app, key, "other@example.com", user).await;
            again.refused(409, "external user already registered");
        }
    }
}

#[tokio::test]
async fn the_pipeline_finds_the_account_that_the_operator_opened() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    let squatter = sign_up_user(&app, None, "squatter@example.com", "user-1").await.expect(201);
    set(&app, "plan = 'paid', status = 'active'", squatter["account_id"].as_str().unwrap()).await;
    let opened = sign_up_user(&app, Some(&operator.key), "user@example.com", "user-1").await;
    let opened = opened.expect(201)["account_id"].clone();
    let order = json!({"domain": "shop.example", "pipeline": "utm", "external_user_id": "user-1"});
    let post = || app.call(Method::POST, "/v1/pixels/pipeline", &operator.key, order.clone());
    post().await.refused(403, "customer account is not in good standing");
    set(&app, "plan = 'paid', status = 'active'", opened.as_str().unwrap()).await;
    assert_eq!(post().await.expect(201)["account_id"], opened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_operators_at_once_one_gets_a_claimed_external_user_id() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    let claimed = sign_up_user(&app, None, "squatter@example.com", "user-1").await.expect(201);
    let signups = (0..8).map(async |turn| {
        let email = format!("user{turn}@example.com");
        sign_up_user(&app, Some(&operator.key), &email, "user-1").await
    });
    let answers = futures_util::future::join_all(signups).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.refused(409, "external user already registered");
    }
    assert_eq!(user_of(&app, &claimed["account_id"]).await, None);
}
