//! Activation of an account by an unlimited key.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, App};

async fn activate(app: &App, account_id: &str, key: &str) -> Answer {
    app.call(Method::POST, &format!("/v1/accounts/{account_id}/activate"), key, Value::Null).await
}

#[tokio::test]
async fn an_unlimited_key_activates_an_account_and_leaves_the_rest_as_it_is() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@activate.example").await;
    let opened = app.sign_up("new@activate.example").await;
    let (id, token) = (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str());
    for _ in 0..2 {
        assert_eq!(
            activate(&app, id, &operator.key).await.expect(200),
            json!({"account_id": id, "status": "active", "plan": "free"})
        );
    }
    let shown = app.show_account(id, token.unwrap()).await.expect(200);
    assert_eq!((&shown["status"], &shown["plan"]), (&json!("active"), &json!("free")));
    assert_eq!(shown["email_verified"], false);
    let issued = app.issue_key(id, token.unwrap()).await;
    issued.refused(403, "confirm your email before creating an API key");
}

#[tokio::test]
async fn activation_keeps_a_paid_plan() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@paid.example").await;
    let id = app.sign_up("new@paid.example").await["account_id"].as_str().unwrap().to_owned();
    sqlx::query("UPDATE accounts SET plan = 'paid' WHERE account_id = $1")
        .bind(&id)
        .execute(&app.pool)
        .await
        .unwrap();
    assert_eq!(activate(&app, &id, &operator.key).await.expect(200)["plan"], "paid");
}

#[tokio::test]
async fn activation_needs_an_unlimited_key() {
    let app = App::spawn().await;
    let customer = app.account("customer@keys.example").await;
    let path = format!("/v1/accounts/{}/activate", customer.account_id);
    app.post(&path, Value::Null).await.refused(401, "unlimited key required");
    activate(&app, &customer.account_id, "px_unknown").await.refused(401, "invalid api key");
    let answer = activate(&app, &customer.account_id, &customer.key).await;
    answer.refused(403, "unlimited key required");
    let operator = app.unlimited_account("operator@keys.example").await;
    sqlx::query("UPDATE api_keys SET revoked_at = created_at WHERE account_id = $1")
        .bind(&operator.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
    let answer = activate(&app, &customer.account_id, &operator.key).await;
    answer.refused(401, "invalid api key");
}

#[tokio::test]
async fn an_unknown_account_cannot_be_activated() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@unknown.example").await;
    for id in ["acc_00000000000000000000", "no%20id"] {
        activate(&app, id, &operator.key).await.refused(404, "account not found");
    }
}

#[tokio::test]
async fn activation_does_not_lift_a_suspension() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@lift.example").await;
    let customer = app.account("customer@lift.example").await;
    sqlx::query(
        "UPDATE accounts SET status = 'suspended', suspended_from = 'active' WHERE account_id = $1",
    )
    .bind(&customer.account_id)
    .execute(&app.pool)
    .await
    .unwrap();
    let answer = activate(&app, &customer.account_id, &operator.key).await;
    answer.refused(403, "customer account is not in good standing");
    let listed = app.call(Method::GET, "/v1/pixels", &customer.key, Value::Null).await;
    listed.refused(403, "account is not in good standing");
}
