//! Mails whose fate the mail server does not tell, and mails that nobody had the time to send.

use std::sync::Arc;
use std::time::Duration as RealTime;

use assent::clock::Clock;
use chrono::Duration;
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::mail::Mail;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::{program, run};
use crate::support::server::{client, start_of_time};
use crate::support::waiting::wait_until;
use crate::support::{Answer, App, MailServer, Process, fresh_address};

/// Enough for a mail server that works, on a busy machine too.
const TIME_LIMIT: RealTime = RealTime::from_secs(6);

/// More than the first pause, less than the second.
pub fn a_pause() -> Duration {
    Duration::seconds(80)
}

/// Waits for a round in which nothing must be sent: the service looks at its clock once a second.
async fn a_round() {
    tokio::time::sleep(RealTime::from_millis(1_200)).await;
}

/// A node that does not wait long for its mail server.
async fn app_with_short_timeout(database: Arc<TestDatabase>, clock: Clock) -> App {
    let settings = [("SMTP_URL", MailServer::shared().url.as_str())];
    App::spawn_tuned(database, clock, &settings, |infra| {
        infra.outbox.mailer.send_timeout = TIME_LIMIT;
    })
    .await
}

pub async fn waiting(app: &App) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM outbox").fetch_one(&app.pool).await.unwrap()
}

pub async fn is_emptied(app: &App) {
    wait_until("nothing waits any more", async || waiting(app).await == 0).await;
}

/// Waits until every mail that waits was tried so often.
pub async fn tried(app: &App, attempts: i32) {
    let least = async || {
        let least = sqlx::query_scalar::<_, Option<i32>>(
            "SELECT min(attempts) FROM outbox WHERE claimed_until IS NULL",
        );
        least.fetch_one(&app.pool).await.unwrap() >= Some(attempts)
    };
    wait_until("it was tried", least).await;
}

pub async fn move_account(app: &App, account_id: &str, email: &str) {
    sqlx::query("UPDATE accounts SET email = $1 WHERE account_id = $2")
        .bind(email)
        .bind(account_id)
        .execute(&app.pool)
        .await
        .unwrap();
}

fn message_id(mail: &Mail) -> &str {
    mail.0["headers"]["Message-ID"].as_str().expect("a Message-ID")
}

/// The parts of a mail that are equal in its second copy.
fn essence(mail: &Mail) -> [String; 3] {
    [message_id(mail).to_owned(), mail.link(), mail.code()]
}

pub fn id_of(opened: &Value) -> String {
    opened["account_id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_signup_whose_mail_is_answered_too_late_stays_and_its_link_works() {
    let database = Arc::new(TestDatabase::create().await);
    let app = app_with_short_timeout(database, Clock::manual(start_of_time())).await;
    let email = fresh_address("slow");
    let opened = app.sign_up(&email).await;
    assert_eq!(opened.get("verification_url"), None);
    assert_eq!(waiting(&app).await, 1);
    let mail = MailServer::shared().newest(&email).await;
    assert_eq!(app.get(&mail.link()).await.status, 200);
}

#[tokio::test]
async fn a_mail_without_an_answer_comes_again_as_it_was_until_its_address_is_confirmed() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("drop");
    app.sign_up(&email).await;
    app.clock.advance(a_pause());
    let mails = MailServer::shared().wait_for(&email, 2).await;
    assert_eq!(essence(&mails[0]), essence(&mails[1]));
    assert!(message_id(&mails[0]).ends_with("@localhost>"), "{}", message_id(&mails[0]));
    tried(&app, 2).await;
    assert_eq!(app.get(&mails[1].link()).await.status, 200);
    app.clock.advance(Duration::hours(2));
    is_emptied(&app).await;
    assert_eq!(MailServer::shared().inbox(&email).len(), 2);
}

#[tokio::test]
async fn pauses_grow_from_attempt_to_attempt() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("drop");
    app.sign_up(&email).await;
    app.clock.advance(Duration::seconds(59));
    a_round().await;
    assert_eq!(MailServer::shared().inbox(&email).len(), 1);
    app.clock.advance(a_pause() - Duration::seconds(59));
    tried(&app, 2).await;
    app.clock.advance(a_pause());
    a_round().await;
    assert_eq!(MailServer::shared().inbox(&email).len(), 2);
}

#[tokio::test]
async fn a_newer_code_replaces_a_mail_that_waits() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("drop");
    let opened = app.sign_up(&email).await;
    app.clock.advance(Duration::minutes(1));
    let resent = resend(&app, &opened).await;
    assert_eq!(resent.expect(200), json!({"sent": true, "status": "sent"}));
    resend(&app, &opened).await.refused(429, "wait before sending the confirmation email again");
    let first = MailServer::shared().inbox(&email).remove(0);
    app.clock.advance(a_pause());
    wait_until("only the newer one waits", async || waiting(&app).await == 1).await;
    tried(&app, 2).await;
    let mails = MailServer::shared().inbox(&email);
    assert!(
        mails[1..].iter().all(|mail| mail.code() != first.code() || mail.link() != first.link())
    );
    assert_eq!(essence(&mails[1]), essence(&mails[2]));
}

pub async fn resend(app: &App, opened: &Value) -> Answer {
    let path = format!("/v1/accounts/{}/verification-email", id_of(opened));
    let request = app.request(Method::POST, &path);
    Answer::of(request.header("x-signup-token", opened["signup_token"].as_str().unwrap())).await
}

#[tokio::test]
async fn a_node_that_is_killed_before_the_mail_went_out_loses_none() {
    let database = Arc::new(TestDatabase::create().await);
    let pool = database.pool();
    let mut command = program(&database.url);
    command.env("SMTP_URL", &MailServer::shared().url);
    let mut node = Process::start(command).await;
    let body = json!({"email": fresh_address("stall"), "display_name": "Ann"});
    tokio::spawn(client().post(node.url("/v1/accounts")).json(&body).send());
    let written = async || {
        let rows = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox");
        rows.fetch_one(&pool).await.unwrap() == 1
    };
    wait_until("the mail is in the outbox", written).await;
    node.send(Signal::SIGKILL);
    node.exit_code().await;

    let clock = Clock::manual(Clock::System.now());
    let settings = [("SMTP_URL", MailServer::shared().url.as_str())];
    let other = App::spawn_on(database, clock, &settings).await;
    let account = "SELECT account_id FROM accounts WHERE email LIKE 'stall%'";
    let account = sqlx::query_scalar::<_, String>(account).fetch_one(&other.pool).await.unwrap();
    let email = fresh_address("ann");
    move_account(&other, &account, &email).await;
    a_round().await;
    assert!(MailServer::shared().inbox(&email).is_empty(), "the dead node's claim holds");
    other.clock.advance(Duration::seconds(15));
    let mail = MailServer::shared().newest(&email).await;
    assert_eq!(other.get(&mail.link()).await.status, 200);
    is_emptied(&other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_never_send_a_mail_at_the_same_time() {
    let database = Arc::new(TestDatabase::create().await);
    let app = app_with_short_timeout(database, Clock::manual(start_of_time())).await;
    let other = app_with_short_timeout(Arc::clone(&app.database), app.clock.clone()).await;
    // The first attempts are over at once, the second ones take longer than both nodes need to look.
    let mut moved = Vec::new();
    for _ in 0..3 {
        let opened = app.sign_up(&fresh_address("drop")).await;
        let email = fresh_address("slow");
        move_account(&app, &id_of(&opened), &email).await;
        moved.push(email);
    }
    app.clock.advance(a_pause());
    tried(&app, 2).await;
    for email in moved {
        assert_eq!(MailServer::shared().inbox(&email).len(), 1);
    }
    drop(other);
}

#[tokio::test]
async fn a_mail_that_is_not_accepted_for_a_day_is_given_up_and_erased() {
    let app = App::spawn_with_mail().await;
    app.sign_up(&fresh_address("drop")).await;
    app.clock.advance(Duration::hours(24) - Duration::milliseconds(1));
    tried(&app, 2).await;
    let given_up = || app.metrics.scrape().unwrap().contains("assent_outbox_given_up_total 1");
    assert!(!given_up());
    app.clock.advance(Duration::seconds(15));
    is_emptied(&app).await;
    wait_until("it is counted", async || given_up()).await;
}

#[tokio::test]
async fn mails_that_wait_are_counted_for_the_operator() {
    let app = App::spawn_with_mail().await;
    app.sign_up(&fresh_address("drop")).await;
    app.clock.advance(Duration::seconds(15));
    let counted = || app.metrics.scrape().unwrap();
    wait_until("they are counted", async || counted().contains("assent_outbox_waiting 1\n")).await;
    let labels = "assent_mails_total{mail=\"confirmation\",result=\"unanswered\"} 1\n";
    assert!(counted().contains(labels), "{}", counted());
}

#[tokio::test]
async fn nothing_in_the_outbox_can_be_read() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("drop-owner");
    let account = app.mailed_account(&email).await;
    let waits = fresh_address("drop");
    app.sign_up(&waits).await;
    let recipient = fresh_address("drop-colleague");
    let pixel = app.pixel(&account.key, "shop.example").await;
    let path = format!("/v1/pixels/{pixel}/email-snippet");
    app.call(Method::POST, &path, &account.key, json!({"email": recipient})).await.expect(200);
    let mail = MailServer::shared().newest(&waits).await;
    let token = mail.link().split_once('=').unwrap().1.to_owned();
    let rows = sqlx::query_scalar::<_, String>(
        "SELECT concat_ws(' ', kind, account_id, pixel_id, encode(sealed, 'escape')) FROM outbox",
    );
    let rows = rows.fetch_all(&app.pool).await.unwrap().join("\n");
    assert!(rows.contains("snippet") && rows.contains("confirmation"), "{rows}");
    for secret in [&mail.code(), &token, &recipient, &waits, "example.com", "link_token"] {
        assert!(!rows.contains(secret), "{secret}: {rows}");
    }
}

#[tokio::test]
async fn a_mail_that_was_refused_leaves_nothing() {
    let app = App::spawn_with_mail().await;
    for beginning in ["refuse", "later"] {
        let body = json!({"email": fresh_address(beginning), "display_name": "Ann"});
        let refused = app.post("/v1/accounts", body).await;
        refused.refused(502, "could not send the confirmation email");
    }
    assert_eq!(waiting(&app).await, 0);
}

#[tokio::test]
async fn the_mails_of_an_account_end_with_it() {
    let app = App::spawn_with_mail().await;
    let (erased, disowned) = (fresh_address("drop"), fresh_address("drop"));
    let account_id = id_of(&app.sign_up(&erased).await);
    app.sign_up(&disowned).await;
    assert_eq!(waiting(&app).await, 2);
    let mut command = program(&app.database.url);
    command.args(["erase-account", &account_id]);
    assert!(run(command).await.status.success());
    assert_eq!(waiting(&app).await, 1);
    let link = MailServer::shared().newest(&disowned).await.link();
    let token = link.split_once('=').unwrap().1;
    let request = app.request(Method::POST, "/v1/email/disown");
    let closed = request.body(format!("token={token}"));
    assert_eq!(Answer::of(closed).await.status, 200);
    assert_eq!(waiting(&app).await, 0);
}

#[tokio::test]
async fn a_snippet_without_an_answer_counts_as_sent_and_comes_again() {
    let app = App::spawn_with_mail().await;
    let account = app.mailed_account(&fresh_address("ann")).await;
    let pixel = app.pixel(&account.key, "shop.example").await;
    let path = format!("/v1/pixels/{pixel}/email-snippet");
    let to = fresh_address("drop");
    let send = || app.call(Method::POST, &path, &account.key, json!({"email": to}));
    assert_eq!(send().await.expect(200)["sent"], true);
    let refused = send().await;
    refused.refused(429, "wait before sending the snippet again");
    assert_eq!(refused.header("retry-after"), Some("600"));
    app.clock.advance(a_pause());
    let mails = MailServer::shared().wait_for(&to, 2).await;
    assert_eq!(message_id(&mails[0]), message_id(&mails[1]));
    assert_eq!(mails[0].text(), mails[1].text());
    tried(&app, 2).await;
    app.call(Method::DELETE, &format!("/v1/pixels/{pixel}"), &account.key, Value::Null)
        .await
        .expect(204);
    assert_eq!(waiting(&app).await, 0, "nobody needs the snippet of a pixel that is gone");
}

#[tokio::test]
async fn the_notice_of_a_pixel_that_ends_waits_for_the_mail_server() {
    let app = App::spawn_with_mail().await;
    let account = app.mailed_account(&fresh_address("ann")).await;
    app.pixel(&account.key, "shop.example").await;
    move_account(&app, &account.account_id, &fresh_address("later")).await;
    app.clock.advance(Duration::days(23));
    tried(&app, 1).await;
    let email = fresh_address("ann");
    move_account(&app, &account.account_id, &email).await;
    // The first attempt may end only after the clock was moved; its pause begins then.
    wait_until("the notice arrives", async || {
        app.clock.advance(a_pause());
        tokio::time::sleep(RealTime::from_secs(1)).await;
        !MailServer::shared().inbox(&email).is_empty()
    })
    .await;
    let mail = MailServer::shared().newest(&email).await;
    assert_eq!(mail.subject(), "shop.example will be removed on 9 April 2026");
    is_emptied(&app).await;
}

#[tokio::test]
async fn a_mail_that_no_secret_opens_is_given_up_at_once() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("drop");
    app.sign_up(&email).await;
    let secrets = [
        ("RECEIPT_SECRETS", "another-secret-of-the-tests"),
        ("SMTP_URL", MailServer::shared().url.as_str()),
    ];
    let clock = Clock::manual(app.clock.now() + a_pause());
    let other = App::spawn_on(Arc::clone(&app.database), clock, &secrets).await;
    is_emptied(&app).await;
    let given_up = "assent_outbox_given_up_total 1";
    wait_until("it is counted", async || other.metrics.scrape().unwrap().contains(given_up)).await;
    assert_eq!(MailServer::shared().inbox(&email).len(), 1);
}
