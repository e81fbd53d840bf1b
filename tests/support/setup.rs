//! Pixels of customers, and states of theirs that no route leads to at once.

use reqwest::Method;
use serde_json::{Value, json};

use super::server::{Answer, App};

async fn run(app: &App, statement: &'static str, first: &str, second: &str) {
    let done = sqlx::query(statement).bind(first).bind(second).execute(&app.pool).await;
    assert_eq!(done.unwrap().rows_affected(), 1, "{statement}");
}

pub async fn set_plan(app: &App, account_id: &str, plan: &str) {
    run(app, "UPDATE accounts SET plan = $2 WHERE account_id = $1", account_id, plan).await;
}

pub async fn set_install_status(app: &App, pixel_id: &str, status: &str) {
    run(app, "UPDATE pixels SET install_status = $2 WHERE pixel_id = $1", pixel_id, status).await;
}

/// A pixel that somebody made through the demo page.
pub async fn demo_pixel(app: &App, domain: &str) -> String {
    sqlx::query(
        "INSERT INTO accounts (account_id, email, display_name, status, plan, created_at, trial_ends_at)
         VALUES ('acc_demo', 'demo@localhost', 'Demo', 'active', 'unlimited', $1, $1)
         ON CONFLICT DO NOTHING",
    )
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    let pixel_id = assent::types::ids::random_text(20);
    sqlx::query(
        "INSERT INTO pixels (pixel_id, account_id, domain, created_at)
         VALUES ($1, 'acc_demo', $2, $3)",
    )
    .bind(&pixel_id)
    .bind(domain)
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    pixel_id
}

/// The aliases of a pixel, oldest first.
pub async fn aliases(app: &App, pixel_id: &str) -> Vec<String> {
    sqlx::query_scalar("SELECT alias FROM pixel_aliases WHERE pixel_id = $1 ORDER BY position")
        .bind(pixel_id)
        .fetch_all(&app.pool)
        .await
        .unwrap()
}

/// The pixel as its account reads it.
pub async fn shown(app: &App, key: &str, pixel_id: &str) -> Value {
    let path = format!("/v1/pixels/{pixel_id}");
    app.call(Method::GET, &path, key, Value::Null).await.expect(200)
}

/// The names of an object's fields, sorted.
pub fn field_names(value: &Value) -> Vec<&str> {
    let mut names =
        value.as_object().expect("an object").keys().map(String::as_str).collect::<Vec<_>>();
    names.sort_unstable();
    names
}

/// Sends a body that is no JSON value of ours.
pub async fn send_raw(
    app: &App,
    method: Method,
    path: &str,
    key: &str,
    body: &'static str,
) -> Answer {
    Answer::of(app.request(method, path).bearer_auth(key).body(body)).await
}

pub async fn create(app: &App, key: &str, body: Value) -> Answer {
    app.call(Method::POST, "/v1/pixels", key, body).await
}

pub async fn create_host(app: &App, key: &str, domain: &str) -> Answer {
    create(app, key, json!({"domain": domain})).await
}

pub async fn setup(app: &App, key: &str) -> Value {
    app.call(Method::GET, "/v1/setup", key, Value::Null).await.expect(200)
}
