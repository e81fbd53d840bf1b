//! Answers that were lost: a node died after it had created something, and before it answered.

use std::sync::Arc;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use super::KEY;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::waiting::wait_until;
use crate::support::{Answer, App, MailServer, Process, fresh_address};

/// Lets the service store what it has created, and then wait before it answers.
const ANSWER_WAITS: &str = "
    CREATE FUNCTION wait_long() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
    CREATE TRIGGER wait_long BEFORE UPDATE ON idempotency_keys FOR EACH ROW
        WHEN (OLD.answer IS NOT NULL) EXECUTE FUNCTION wait_long()";

fn people() -> Value {
    json!([{"hem": "cd".repeat(32), "contact": {"a": 1}, "seen_at": "2026-03-01"}])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_between_writing_and_answering_it_creates_nothing_twice() {
    let database = Arc::new(TestDatabase::create().await);
    let app = App::spawn_on(Arc::clone(&database), assent::clock::Clock::default(), &[]).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    let contacts = format!("/v1/pixels/{pixel}/contacts");
    for (path, status, count, secret) in [
        (&*contacts, 200_u16, "SELECT count(*) FROM contacts", "pixel_id"),
        ("/v1/api-keys", 201, "SELECT count(*) FROM api_keys", "api_key"),
        ("/v1/webhooks", 201, "SELECT count(*) FROM webhook_endpoints", "secret"),
        (
            "/v1/accounts",
            201,
            "SELECT count(*) FROM accounts WHERE email = 'new@example.com'",
            "signup_token",
        ),
        (
            "/v1/suppressions/import",
            202,
            "SELECT count(*) FROM suppression_imports WHERE status <> 'uploading'",
            "import_id",
        ),
    ] {
        let body = json!({"name": "ci", "url": "https://hooks.example/x",
            "email": "new@example.com", "display_name": "New", "contacts": people()});
        let count =
            async || sqlx::query_scalar::<_, i64>(count).fetch_one(&app.pool).await.unwrap();
        let (before, key) = (count().await, format!("{KEY}{path}").replace('/', "-"));
        sqlx::raw_sql(ANSWER_WAITS).execute(&app.pool).await.unwrap();
        let mut killed = Process::start(program(&database.url)).await;
        let send = |base: &str| {
            let request = app.client.post(format!("{base}{path}")).bearer_auth(&ann.key);
            request.header("Idempotency-Key", &key).json(&body).send()
        };
        let sent = tokio::spawn(send(&killed.base));
        wait_until("it is created", async || count().await == before + 1).await;
        killed.send(nix::sys::signal::Signal::SIGKILL);
        killed.exit_code().await;
        assert!(sent.await.unwrap().is_err(), "it was not answered");
        let free = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event = 'PgSleep'";
        sqlx::query(free).execute(&app.pool).await.unwrap();
        sqlx::raw_sql("DROP TRIGGER wait_long ON idempotency_keys; DROP FUNCTION wait_long")
            .execute(&app.pool)
            .await
            .unwrap();
        let again = Process::start(program(&database.url)).await;
        let answer = send(&again.base).await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
        let answer: Value = answer.json().await.unwrap();
        assert!(answer[secret].is_string(), "{path}: {answer}");
        assert_eq!(count().await, before + 1, "{path}");
    }
}

/// Notes every answer that is stored a second time: by the route, after the transaction that created
/// something has stored it.
const STORED_TWICE: &str = "
    CREATE TABLE stored_twice (scope bytea);
    CREATE FUNCTION note_twice() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO stored_twice VALUES (OLD.scope); RETURN NEW; END';
    CREATE TRIGGER note_twice BEFORE UPDATE ON idempotency_keys FOR EACH ROW
        WHEN (OLD.answer IS NOT NULL) EXECUTE FUNCTION note_twice()";

async fn stored_twice(app: &App) -> i64 {
    let count = "SELECT count(*) FROM stored_twice";
    sqlx::query_scalar(count).fetch_one(&app.pool).await.unwrap()
}

async fn post(app: &App, path: &str, body: &Value) -> Answer {
    let request = app.request(Method::POST, path).header("Idempotency-Key", KEY);
    Answer::of(request.json(body)).await
}

#[tokio::test]
async fn secrets_and_all_that_fails_a_second_time_are_stored_with_their_answer() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let eve = app.account("eve@example.com").await;
    app.pixel(&eve.key, "held.example").await;
    let contacts = format!("/v1/pixels/{}/contacts", app.pixel(&ann.key, "ann.example").await);
    let hook = json!({"url": "https://hooks.example/x"});
    let hook = app.call(Method::POST, "/v1/webhooks", &ann.key, hook).await.expect(201);
    let rotate = format!("/v1/webhooks/{}/secret", hook["endpoint_id"].as_str().unwrap());
    sqlx::raw_sql(STORED_TWICE).execute(&app.pool).await.unwrap();
    let member = json!({"email": "bob@example.com", "role": "read", "code": ann.key});
    for (index, (path, body)) in [
        ("/v1/accounts", json!({"email": "new@example.com", "display_name": "New"})),
        ("/v1/api-keys", json!({"name": "ci"})),
        ("/v1/account/members", member),
        ("/v1/webhooks", json!({"url": "https://hooks.example/y"})),
        (&*rotate, json!({})),
        ("/v1/pixels/claims", json!({"domain": "held.example"})),
        ("/v1/suppressions/import", json!("ab".repeat(32))),
        (&*contacts, json!({"contacts": people()})),
    ]
    .into_iter()
    .enumerate()
    {
        let send = || {
            let request = app.request(Method::POST, path).bearer_auth(&ann.key).json(&body);
            Answer::of(request.header("Idempotency-Key", format!("{KEY}-{index}")))
        };
        let (first, again) = (send().await, send().await);
        assert!([200, 201, 202].contains(&first.status), "{path}: {}", first.text);
        assert_eq!((again.status, &again.text), (first.status, &first.text), "{path}");
        assert_eq!(stored_twice(&app).await, i64::try_from(index).unwrap() + 1, "{path}");
    }
}

#[tokio::test]
async fn a_code_that_is_used_up_gives_its_secret_again() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("once");
    let opened = app.sign_up(&email).await;
    let (account, token) = (opened["account_id"].as_str().unwrap(), &opened["signup_token"]);
    let code = MailServer::shared().newest(&email).await.code();
    sqlx::raw_sql(STORED_TWICE).execute(&app.pool).await.unwrap();
    let renewal = format!("/v1/accounts/{account}/signup-token");
    let body = json!({"email": email, "code": code});
    let renewed = post(&app, &renewal, &body).await.expect(200);
    assert_eq!(post(&app, &renewal, &body).await.expect(200), renewed);
    assert_ne!(renewed["signup_token"], *token);
    assert_eq!(stored_twice(&app).await, 1);
    let confirm = format!("/v1/accounts/{account}/confirm");
    let body = json!({"code": code, "signup_token": renewed["signup_token"]});
    let request = || {
        let request = app.request(Method::POST, &confirm).json(&body);
        Answer::of(request.header("Idempotency-Key", format!("{KEY}-confirm")))
    };
    let confirmed = request().await.expect(200);
    assert!(confirmed["api_key"].is_string(), "{confirmed}");
    assert_eq!(request().await.expect(200), confirmed);
    assert_eq!(stored_twice(&app).await, 2);
}

/// Notes which transaction deletes a key, an account or a member.
const UNDONE: &str = "
    CREATE TABLE undone (kind text, transaction bigint);
    CREATE FUNCTION note_undone() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO undone VALUES (TG_TABLE_NAME, txid_current()); RETURN OLD; END';
    CREATE TRIGGER note_undone BEFORE DELETE ON idempotency_keys FOR EACH ROW
        EXECUTE FUNCTION note_undone();
    CREATE TRIGGER note_undone BEFORE DELETE ON accounts FOR EACH ROW
        EXECUTE FUNCTION note_undone();
    CREATE TRIGGER note_undone BEFORE DELETE ON members FOR EACH ROW
        EXECUTE FUNCTION note_undone()";

#[tokio::test]
async fn what_is_undone_takes_its_answer_with_it() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let order = json!({"purpose": "keys"});
    app.call(Method::POST, "/v1/account/codes", &ann.key, order).await.expect(202);
    let code = MailServer::shared().wait_for(&ann.email, 2).await.pop().unwrap().code();
    sqlx::raw_sql(UNDONE).execute(&app.pool).await.unwrap();
    let body = json!({"email": fresh_address("refuse"), "display_name": "Bob"});
    let refused = post(&app, "/v1/accounts", &body).await;
    refused.refused(502, "could not send the confirmation email");
    let body = json!({"email": fresh_address("refuse"), "role": "read", "code": code});
    let request = app.request(Method::POST, "/v1/account/members").bearer_auth(&ann.key);
    let refused = Answer::of(request.header("Idempotency-Key", KEY).json(&body)).await;
    refused.refused(502, "could not send the invitation");
    let together =
        "SELECT DISTINCT made.kind FROM undone AS made JOIN undone AS answer USING (transaction)
                    WHERE answer.kind = 'idempotency_keys' AND made.kind <> answer.kind
                    ORDER BY made.kind";
    let together: Vec<String> = sqlx::query_scalar(together).fetch_all(&app.pool).await.unwrap();
    assert_eq!(together, ["accounts", "members"]);
}

#[tokio::test]
async fn a_sign_up_whose_mail_may_still_be_refused_is_answered_again_after_a_minute() {
    let app = App::spawn_with_mail().await;
    let body = json!({"email": fresh_address("once"), "display_name": "Ann"});
    let first = post(&app, "/v1/accounts", &body).await.expect(201);
    // As a node leaves it that dies before it knows whether the mail was taken.
    let left = "UPDATE idempotency_keys SET status = NULL";
    sqlx::query(left).execute(&app.pool).await.unwrap();
    post(&app, "/v1/accounts", &body).await.refused(409, "idempotency key in use");
    app.clock.advance(Duration::seconds(61));
    assert_eq!(post(&app, "/v1/accounts", &body).await.expect(201), first);
}
