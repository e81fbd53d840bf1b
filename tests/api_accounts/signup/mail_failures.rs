//! Sign-ups whose mail the mail server does not accept.

use serde_json::json;

use super::signups::{ann, sign_up};
use crate::support::{App, fresh_address};

async fn a_failed_mail_leaves_no_account(local: &str) {
    let app = App::spawn_with_mail().await;
    let body =
        json!({"email": fresh_address(local), "display_name": "Ann", "external_user_id": "ann"});
    let answer = sign_up(&app, body.clone()).await;
    answer.refused(502, "could not send the confirmation email");
    // The same call succeeds as soon as the mail can go out.
    app.another_node(&[]).await.post("/v1/accounts", body).await.expect(201);
}

#[tokio::test]
async fn an_address_that_the_mail_server_refuses_leaves_no_account() {
    a_failed_mail_leaves_no_account("refuse").await;
}

#[tokio::test]
async fn a_mail_server_that_says_later_leaves_no_account() {
    a_failed_mail_leaves_no_account("later").await;
}

#[tokio::test]
async fn a_mail_server_that_stalls_leaves_no_account() {
    a_failed_mail_leaves_no_account("stall").await;
}

#[tokio::test]
async fn a_mail_server_that_is_not_there_leaves_no_account() {
    let app = App::spawn_with(&[("SMTP_URL", "smtp://127.0.0.1:9")]).await;
    sign_up(&app, ann()).await.refused(502, "could not send the confirmation email");
    app.another_node(&[]).await.post("/v1/accounts", ann()).await.expect(201);
}

#[tokio::test]
async fn no_database_connection_is_held_while_mails_stall() {
    let app = App::spawn_with_mail().await;
    // More than the service has database connections.
    let stalled = (0..30).map(|_| {
        let body = json!({"email": fresh_address("stall"), "display_name": "Ann"});
        app.post("/v1/accounts", body)
    });
    let meanwhile = async {
        // By then all sign-ups wait for the mail server.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        for _ in 0..10 {
            let asked =
                tokio::time::timeout(std::time::Duration::from_secs(4), app.get("/healthz"));
            asked.await.expect("the database is free").expect(200);
        }
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(stalled), meanwhile);
    for answer in answers {
        answer.refused(502, "could not send the confirmation email");
    }
}
