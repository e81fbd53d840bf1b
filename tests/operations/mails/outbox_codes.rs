//! Codes whose mails wait in the outbox.

use std::sync::Arc;

use assent::clock::Clock;
use chrono::Duration;
use nix::sys::signal::Signal;
use serde_json::json;

use super::outbox::{a_pause, id_of, is_emptied, move_account, resend, tried, waiting};
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::client;
use crate::support::waiting::wait_until;
use crate::support::{Answer, App, MailServer, Process, fresh_address};

#[tokio::test]
async fn a_requested_code_is_tried_again_unless_the_mail_server_refuses_it_for_good() {
    let app = App::spawn_with_mail().await;
    for (beginning, is_kept) in [("refuse", false), ("later", true)] {
        let account_id = id_of(&app.sign_up(&fresh_address("ann")).await);
        let (to, later) = (fresh_address(beginning), fresh_address("ann"));
        move_account(&app, &account_id, &to).await;
        app.post("/v1/signup/resend-code", json!({"email": to})).await.expect(200);
        match is_kept {
            false => {
                let failed = "assent_mails_total{mail=\"confirmation\",result=\"failed\"} 1\n";
                let failed = async || app.metrics.scrape().unwrap().contains(failed);
                wait_until("it was refused", failed).await;
            }
            true => tried(&app, 1).await,
        }
        move_account(&app, &account_id, &later).await;
        app.clock.advance(a_pause());
        if is_kept {
            let mail = MailServer::shared().newest(&later).await;
            let path = format!("/v1/accounts/{account_id}/confirm");
            app.post(&path, json!({"code": mail.code()})).await.expect(200);
        }
        is_emptied(&app).await;
    }
}

async fn confirm(app: &App, account_id: &str, code: &str) -> Answer {
    app.post(&format!("/v1/accounts/{account_id}/confirm"), json!({"code": code})).await
}

#[tokio::test]
async fn a_code_whose_mail_was_delivered_counts_again_when_the_next_one_is_refused() {
    let app = App::spawn_with_mail().await;
    for by_token in [true, false] {
        let (email, refuses) = (fresh_address("ann"), fresh_address("refuse"));
        let opened = app.sign_up(&email).await;
        let code = MailServer::shared().newest(&email).await.code();
        move_account(&app, &id_of(&opened), &refuses).await;
        app.clock.advance(Duration::minutes(1));
        if by_token {
            let refused = resend(&app, &opened).await;
            refused.refused(502, "could not send the confirmation email");
        } else {
            app.post("/v1/signup/resend-code", json!({"email": refuses})).await.expect(200);
            let failed = "assent_mails_total{mail=\"confirmation\",result=\"failed\"} 2\n";
            wait_until("refused", async || app.metrics.scrape().unwrap().contains(failed)).await;
        }
        is_emptied(&app).await;
        confirm(&app, &id_of(&opened), &code).await.expect(200);
    }
}

#[tokio::test]
async fn a_code_counts_again_when_the_one_after_it_waits_and_is_refused_then() {
    let app = App::spawn_with_mail().await;
    let (email, later) = (fresh_address("ann"), fresh_address("later"));
    let account_id = id_of(&app.sign_up(&email).await);
    let code = MailServer::shared().newest(&email).await.code();
    move_account(&app, &account_id, &later).await;
    app.post("/v1/signup/resend-code", json!({"email": later})).await.expect(200);
    tried(&app, 1).await;
    confirm(&app, &account_id, &code).await.refused(400, "invalid code");
    move_account(&app, &account_id, &fresh_address("refuse")).await;
    app.clock.advance(a_pause());
    is_emptied(&app).await;
    confirm(&app, &account_id, &code).await.expect(200);
}

#[tokio::test]
async fn a_code_that_may_have_arrived_counts_on_when_its_mail_is_refused_later() {
    let app = App::spawn_with_mail().await;
    let (email, drop) = (fresh_address("ann"), fresh_address("drop"));
    let opened = app.sign_up(&email).await;
    let before = MailServer::shared().newest(&email).await.code();
    move_account(&app, &id_of(&opened), &drop).await;
    app.clock.advance(Duration::minutes(1));
    resend(&app, &opened).await.expect(200);
    let code = MailServer::shared().newest(&drop).await.code();
    move_account(&app, &id_of(&opened), &fresh_address("refuse")).await;
    app.clock.advance(a_pause());
    is_emptied(&app).await;
    if code != before {
        confirm(&app, &id_of(&opened), &before).await.refused(400, "invalid code");
    }
    confirm(&app, &id_of(&opened), &code).await.expect(200);
}

#[tokio::test]
async fn a_mail_is_not_dropped_for_a_newer_one_that_may_still_be_refused() {
    let app = App::spawn_with_mail().await;
    let (drop, later) = (fresh_address("drop"), fresh_address("later"));
    let account_id = id_of(&app.sign_up(&drop).await);
    let code = MailServer::shared().newest(&drop).await.code();
    move_account(&app, &account_id, &later).await;
    app.clock.advance(Duration::seconds(1));
    app.post("/v1/signup/resend-code", json!({"email": later})).await.expect(200);
    wait_until("both wait", async || waiting(&app).await == 2).await;
    tried(&app, 1).await;
    let both = "SELECT count(*) FROM outbox WHERE claimed_until IS NULL";
    let both = async || sqlx::query_scalar::<_, i64>(both).fetch_one(&app.pool).await.unwrap() == 2;
    wait_until("both were tried", &both).await;
    app.clock.advance(a_pause());
    tried(&app, 2).await;
    wait_until("both were tried again", both).await;
    assert_eq!(waiting(&app).await, 2);
    move_account(&app, &account_id, &fresh_address("refuse")).await;
    // The older one's turn comes after the newer one was refused.
    let later = "UPDATE outbox SET next_attempt_at = next_attempt_at + '1 hour' WHERE unanswered";
    assert_eq!(sqlx::query(later).execute(&app.pool).await.unwrap().rows_affected(), 1);
    app.clock.advance(a_pause() * 2);
    wait_until("the newer one was refused", async || waiting(&app).await == 1).await;
    let email = fresh_address("ann");
    move_account(&app, &account_id, &email).await;
    app.clock.advance(Duration::hours(2));
    assert_eq!(MailServer::shared().newest(&email).await.code(), code);
    confirm(&app, &account_id, &code).await.expect(200);
}

/// A node of its own process on a database where an account waits for the mail of its signup; the
/// mail server takes two seconds for the address that it has now, given too.
async fn node_with_a_slow_mail(is_due: bool) -> (App, Process, String) {
    let database = Arc::new(TestDatabase::create().await);
    let clock = Clock::manual(Clock::System.now() - Duration::minutes(2));
    let settings = [("SMTP_URL", MailServer::shared().url.as_str())];
    let app = App::spawn_on(database, clock, &settings).await;
    let account_id = id_of(&app.sign_up(&fresh_address("drop")).await);
    let email = fresh_address("pause");
    move_account(&app, &account_id, &email).await;
    if !is_due {
        sqlx::query("DELETE FROM outbox").execute(&app.pool).await.unwrap();
    }
    let mut command = program(&app.database.url);
    command.env("SMTP_URL", &MailServer::shared().url);
    (app, Process::start(command).await, email)
}

#[tokio::test]
async fn a_mail_that_is_under_way_when_the_node_is_stopped_is_not_sent_again() {
    let (app, mut node, email) = node_with_a_slow_mail(true).await;
    MailServer::shared().newest(&email).await;
    node.send(Signal::SIGTERM);
    assert_eq!(node.exit_code().await, Some(0));
    assert_eq!(waiting(&app).await, 0, "{}", node.log());
    assert!(!node.log().contains("WARN"), "{}", node.log());
}

#[tokio::test]
async fn a_requested_code_is_mailed_although_the_node_is_stopped() {
    let (app, mut node, email) = node_with_a_slow_mail(false).await;
    let body = json!({"email": email});
    let sent = client().post(node.url("/v1/signup/resend-code")).json(&body).send().await;
    assert_eq!(sent.unwrap().status(), 200);
    node.send(Signal::SIGTERM);
    assert_eq!(node.exit_code().await, Some(0));
    assert_eq!(waiting(&app).await, 0, "{}", node.log());
    assert_eq!(MailServer::shared().inbox(&email).len(), 1);
}
