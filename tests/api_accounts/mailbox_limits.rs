//! Limits of mails per mailbox, for all causes together.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, App, MailServer, fresh_address};

/// As in `src/accounts/limits/mailbox.rs`.
const AT_ONCE: usize = 10;

async fn resend_code(app: &App, email: &str) -> Answer {
    app.post("/v1/signup/resend-code", json!({"email": email})).await
}

/// A key of an account that has nothing to do with the mailbox, of another node without mails.
async fn key_of(app: &App, plan: &str) -> String {
    let quiet = app.another_node(&[]).await;
    let account = quiet.account(&fresh_address("sender")).await;
    crate::support::setup::set_plan(app, &account.account_id, plan).await;
    account.key
}

/// Mails a snippet from a new pixel, which is deleted at once.
async fn mail_snippet(app: &App, key: &str, host: &str, to: &str) -> Answer {
    let pixel = app.pixel(key, host).await;
    let path = format!("/v1/pixels/{pixel}");
    let sent =
        app.call(Method::POST, &format!("{path}/email-snippet"), key, json!({"email": to})).await;
    app.call(Method::DELETE, &path, key, Value::Null).await.expect(204);
    sent
}

/// Number of mails in a mailbox, once at least `count` have arrived.
async fn received(email: &str, count: usize) -> usize {
    MailServer::shared().wait_for(email, count).await;
    // A further mail would arrive within this time.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    MailServer::shared().inbox(email).len()
}

#[tokio::test]
async fn snippets_of_many_pixels_and_accounts_fill_a_mailbox_only_so_far() {
    let app = App::spawn_with_mail().await;
    let other = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let (ann, eve) = (key_of(&app, "free").await, key_of(&app, "paid").await);
    let victim = fresh_address("victim");
    for turn in 0..AT_ONCE {
        let (node, key) = if turn % 2 == 0 { (&app, &ann) } else { (&other, &eve) };
        mail_snippet(node, key, &format!("h{turn}.example"), &victim).await.expect(200);
    }
    for (node, key) in [(&app, &ann), (&other, &eve)] {
        let refused = mail_snippet(node, key, "one-more.example", &victim).await;
        refused.refused(429, "wait before sending the snippet again");
        assert_eq!(refused.header("retry-after"), Some("10800"));
    }
    // Another mailbox is another matter, and the refusal has started no pause of the pixel.
    let pixel = app.pixel(&ann, "calm.example").await;
    let path = format!("/v1/pixels/{pixel}/email-snippet");
    let send = |to: String| app.call(Method::POST, &path, &ann, json!({"email": to}));
    assert_eq!(send(victim.to_uppercase()).await.status, 429);
    send(fresh_address("dev")).await.expect(200);

    app.clock.advance(Duration::hours(3) - Duration::milliseconds(1));
    assert_eq!(send(victim.clone()).await.header("retry-after"), Some("1"));
    app.clock.advance(Duration::milliseconds(1));
    send(victim.clone()).await.expect(200);
    app.clock.advance(Duration::hours(1));
    send(victim.clone()).await.refused(429, "wait before sending the snippet again");
    assert_eq!(received(&victim, AT_ONCE + 1).await, AT_ONCE + 1);
}

#[tokio::test]
async fn the_token_of_a_signup_mails_ten_times_in_its_hour() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("victim");
    let opened = app.sign_up(&email).await;
    let path =
        format!("/v1/accounts/{}/verification-email", opened["account_id"].as_str().unwrap());
    let token = opened["signup_token"].as_str().unwrap();
    let resend = || Answer::of(app.request(Method::POST, &path).header("x-signup-token", token));
    for turn in 1..59 {
        app.clock.advance(Duration::minutes(1));
        let answer = resend().await;
        match turn < AT_ONCE {
            true => assert_eq!(answer.expect(200)["sent"], true),
            false => {
                answer.refused(429, "wait before sending the confirmation email again");
                let seconds = answer.header("retry-after").unwrap().parse::<u64>().unwrap();
                assert!((7_000..10_800).contains(&seconds), "{seconds}");
            }
        }
    }
    assert_eq!(received(&email, AT_ONCE).await, AT_ONCE);
}

#[tokio::test]
async fn every_kind_of_mail_counts_and_no_answer_reveals_an_account() {
    let app = App::spawn_with_mail().await;
    let sender = key_of(&app, "free").await;
    let (known, unknown) = (fresh_address("known"), fresh_address("unknown"));
    app.sign_up(&known).await;
    app.clock.advance(Duration::days(2));
    for turn in 0..AT_ONCE - 2 {
        for (to, name) in [(&known, "known"), (&unknown, "unknown")] {
            mail_snippet(&app, &sender, &format!("{name}{turn}.example"), to).await.expect(200);
        }
    }
    // The same answers for both, until the mailbox has enough and after that.
    for status in [200, 200, 429] {
        let (one, other) = (resend_code(&app, &known).await, resend_code(&app, &unknown).await);
        assert_eq!((one.status, other.status), (status, status), "{} {}", one.text, other.text);
        assert_eq!(one.lasting_text(), other.lasting_text());
        assert_eq!(one.header("retry-after"), other.header("retry-after"));
        app.clock.advance(Duration::minutes(1));
    }
    let refused = resend_code(&app, &known).await;
    refused.refused(429, "wait before sending the confirmation code again");
    let body = json!({"email": unknown, "display_name": "Test"});
    let refused = app.post("/v1/accounts", body.clone()).await;
    refused.refused(429, "too many requests");
    let retry_after = refused.header("retry-after").unwrap().parse::<i64>().unwrap();
    assert_eq!(received(&known, AT_ONCE + 1).await, AT_ONCE + 1);
    assert_eq!(received(&unknown, AT_ONCE - 2).await, AT_ONCE - 2);
    // No account remains of the refused signup, and it may be made again when the answer said.
    let accounts = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM accounts WHERE email = $1");
    assert_eq!(accounts.bind(&unknown).fetch_one(&app.pool).await.unwrap(), 0);
    app.clock.advance(Duration::seconds(retry_after));
    app.post("/v1/accounts", body).await.expect(201);
}

#[tokio::test]
async fn addresses_that_differ_after_a_plus_count_as_one_mailbox() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("victim");
    let tagged = |turn: usize| email.replacen('@', &format!("+{turn}@"), 1);
    for turn in 0..AT_ONCE {
        app.sign_up(&tagged(turn)).await;
    }
    let body = json!({"email": tagged(99), "display_name": "Test"});
    app.post("/v1/accounts", body).await.refused(429, "too many requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_signups_at_once_never_pass_the_limit_of_a_mailbox_together() {
    let app = App::spawn_with_mail().await;
    let other = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let email = fresh_address("victim");
    let signups = (0..3 * AT_ONCE).map(async |turn| {
        let tagged = email.replacen('@', &format!("+{turn}@"), 1);
        let body = json!({"email": tagged, "display_name": "Test"});
        (if turn % 2 == 0 { &app } else { &other }).post("/v1/accounts", body).await
    });
    let answers = join_all(signups).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), AT_ONCE);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.refused(429, "too many requests");
    }
}

#[tokio::test]
async fn a_mail_that_the_server_refused_is_not_counted() {
    let app = App::spawn_with_mail().await;
    let body = json!({"email": fresh_address("refuse"), "display_name": "Test"});
    for _ in 0..AT_ONCE + 5 {
        let refused = app.post("/v1/accounts", body.clone()).await;
        refused.refused(502, "could not send the confirmation email");
    }
}

#[tokio::test]
async fn where_no_mail_is_sent_nothing_is_counted() {
    let app = App::spawn().await;
    let key = key_of(&app, "free").await;
    for turn in 0..AT_ONCE + 5 {
        let sent = mail_snippet(&app, &key, &format!("h{turn}.example"), "dev@example.com").await;
        assert_eq!(sent.expect(200)["sent"], false);
    }
    let counted = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM mailboxes");
    assert_eq!(counted.fetch_one(&app.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn addresses_are_not_kept_beside_the_counts() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("private");
    resend_code(&app, &email).await.expect(200);
    let rows = sqlx::query_scalar::<_, String>("SELECT mailboxes::text FROM mailboxes");
    let rows = rows.fetch_all(&app.pool).await.unwrap();
    assert_eq!(rows.len(), 1);
    let hex = hex::encode(&email);
    assert!(!rows[0].contains("private") && !rows[0].contains(&hex), "{}", rows[0]);
}
