//! Concurrent requests on several threads.

use std::collections::HashSet;
use std::time::Duration as RealTime;

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::visitors::with;
use crate::support::{Answer, App, MailServer, fresh_address};

/// Number of concurrent callers.
const CALLERS: usize = 12;

/// The statuses, sorted.
fn statuses(answers: &[Answer]) -> Vec<u16> {
    let mut statuses = answers.iter().map(|answer| answer.status).collect::<Vec<_>>();
    statuses.sort_unstable();
    statuses
}

/// One success and a refusal for everybody else.
#[track_caller]
fn one_wins(answers: &[Answer], success: u16, refusal: u16, detail: &str) {
    let mut expected = vec![refusal; answers.len() - 1];
    expected.push(success);
    expected.sort_unstable();
    assert_eq!(statuses(answers), expected, "{answers:?}");
    for answer in answers.iter().filter(|answer| answer.status != success) {
        answer.refused(refusal, detail);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_signups_with_one_email_make_one_account() {
    let app = App::spawn().await;
    for round in 0..5 {
        let sign_up =
            |email: String| app.post("/v1/accounts", json!({"email": email, "display_name": "A"}));
        let lower = sign_up(format!("ann{round}@example.com"));
        let upper = sign_up(format!("ANN{round}@Example.com"));
        let (first, second) = tokio::join!(lower, upper);
        one_wins(&[first, second], 201, 409, "email already registered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_signups_with_one_email_make_one_account_and_send_one_mail() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let sign_up = |_| app.post("/v1/accounts", json!({"email": email, "display_name": "Ann"}));
    let answers = join_all((0..CALLERS).map(sign_up)).await;
    one_wins(&answers, 201, 409, "email already registered");
    MailServer::shared().newest(&email).await;
    assert_eq!(MailServer::shared().inbox(&email).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_signups_with_one_external_user_make_one_account() {
    let app = App::spawn().await;
    let sign_up = |number| {
        let email = format!("ann{number}@example.com");
        let body = json!({"email": email, "display_name": "A", "external_user_id": "user-1"});
        app.post("/v1/accounts", body)
    };
    let answers = join_all((0..CALLERS).map(sign_up)).await;
    one_wins(&answers, 201, 409, "external user already registered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_posts_of_one_domain_make_one_pixel() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let post = |_| app.call(Method::POST, "/v1/pixels", &ann.key, json!({"domain": "ann.example"}));
    let answers = join_all((0..CALLERS).map(post)).await;
    let ids = answers.iter().map(|answer| answer.expect(201)["pixel_id"].to_string());
    assert_eq!(ids.collect::<HashSet<_>>().len(), 1);
    let list = app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.expect(200);
    assert_eq!(list["pixels"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_accounts_gets_a_domain() {
    let app = App::spawn().await;
    let mut keys = Vec::new();
    for number in 0..CALLERS {
        keys.push(app.account(&format!("ann{number}@example.com")).await.key);
    }
    let post = |key| app.call(Method::POST, "/v1/pixels", key, json!({"domain": "ann.example"}));
    let answers = join_all(keys.iter().map(|key| post(key))).await;
    one_wins(&answers, 201, 409, "domain already registered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_pixels_at_once_never_pass_the_allowance() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let post = |number| {
        let domain = format!("site{number}.example");
        app.call(Method::POST, "/v1/pixels", &ann.key, json!({"domain": domain}))
    };
    let answers = join_all((0..CALLERS).map(post)).await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(created, 3);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.refused(403, "pixel allowance reached");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_confirmations_brings_the_first_key() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let opened = app.sign_up(&email).await;
    let code = MailServer::shared().newest(&email).await.code();
    let path = format!("/v1/accounts/{}/confirm", opened["account_id"].as_str().unwrap());
    let body = json!({"code": code, "signup_token": opened["signup_token"]});
    let answers = join_all((0..CALLERS).map(|_| app.post(&path, body.clone()))).await;
    let bodies = answers.iter().map(|answer| answer.expect(200)).collect::<Vec<_>>();
    assert_eq!(bodies.iter().filter(|body| body["api_key"].is_string()).count(), 1);
    assert_eq!(bodies.iter().filter(|body| body["already_verified"] == false).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_guesses_at_once_are_counted_one_by_one() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let opened = app.sign_up(&email).await;
    let right = MailServer::shared().newest(&email).await.code();
    let wrong = if right == "000000" { "111111" } else { "000000" };
    let path = format!("/v1/accounts/{}/confirm", opened["account_id"].as_str().unwrap());
    let answers = join_all((0..CALLERS).map(|_| app.post(&path, json!({"code": wrong})))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 400).count(), 5);
    assert_eq!(answers.iter().filter(|answer| answer.status == 429).count(), CALLERS - 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_requests_for_another_mail_send_one() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let opened = app.sign_up(&email).await;
    app.clock.advance(Duration::minutes(1));
    let path =
        format!("/v1/accounts/{}/verification-email", opened["account_id"].as_str().unwrap());
    let token = opened["signup_token"].as_str().unwrap();
    let resend = |_| Answer::of(app.request(Method::POST, &path).header("x-signup-token", token));
    let answers = join_all((0..CALLERS).map(resend)).await;
    one_wins(&answers, 200, 429, "wait before sending the confirmation email again");
    assert_eq!(MailServer::shared().inbox(&email).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_choice_sent_many_times_at_once_has_one_receipt() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let node = app.another_node(&[]).await;
    let choice = json!("0190d9d4-9b6a-7c3e-8a55-0123456789ab");
    let body = with(&site.acceptance("visitor-1"), "choice_id", choice);
    let send = |number: usize| {
        if number.is_multiple_of(2) { app.record(&body) } else { node.record(&body) }
    };
    let answers = join_all((0..4 * CALLERS).map(send)).await;
    let bodies = answers.iter().map(|answer| answer.expect(202)).collect::<Vec<_>>();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repeated_and_new_choices_at_once_are_each_answered_with_their_own_receipt() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let other = app.consent_site(&key, "other.example").await;
    let choice = |number: usize| json!(format!("0190d9d4-9b6a-7c3e-8a55-{number:012}"));
    let sent = |number: usize| {
        let body = site.acceptance(&format!("visitor-{number}"));
        with(&body, "choice_id", choice(number))
    };
    let first = join_all((0..8).map(async |number| app.recorded(&sent(number)).await)).await;
    // Old choices again, new ones, ones without an id, and the same ids on another pixel.
    let repeated = (0..8).map(sent);
    let new = (8..16).map(sent);
    let nameless = (0..8).map(|number| site.refusal(&format!("visitor-{number}"), "declined"));
    let elsewhere = (0..8).map(|number| {
        with(&other.acceptance(&format!("visitor-{number}")), "choice_id", choice(number))
    });
    let bodies = repeated.chain(new).chain(nameless).chain(elsewhere).collect::<Vec<_>>();
    let answers = join_all(bodies.iter().map(|body| app.recorded(body))).await;
    assert_eq!(answers[..8], first);
    for (body, answer) in bodies.iter().zip(&answers) {
        assert_eq!(answer["receipt"]["visitor_id"], body["visitor_id"]);
        assert_eq!(answer["receipt"]["pixel_id"], body["pixel_id"]);
        assert_eq!(answer["receipt"]["consent_state"], body["consent"]);
    }
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 24);
    assert_eq!(app.log(&key, &other.pixel_id).await.len(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_visitors_at_once_each_get_their_own_receipt() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let bodies =
        (0..64).map(|number| site.acceptance(&format!("visitor-{number}"))).collect::<Vec<_>>();
    let answers = join_all(bodies.iter().map(|body| app.record(body))).await;
    for (body, answer) in bodies.iter().zip(&answers) {
        let recorded = answer.expect(202);
        assert_eq!(recorded["receipt"]["visitor_id"], body["visitor_id"]);
        let check = app.check(&site.pixel_id, body["visitor_id"].as_str().unwrap()).await;
        assert_eq!(check["receipt"], recorded["receipt"]);
    }
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_text_saved_many_times_at_once_is_one_version() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let pixel = app.pixel(&key, "shop.example").await;
    let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]});
    let save = |_| app.configure(&key, &pixel, body.clone());
    for answer in join_all((0..CALLERS).map(save)).await {
        assert_eq!(answer.expect(200)["policy_version"], 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn different_texts_saved_at_once_are_versions_one_after_the_other() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let pixel = app.pixel(&key, "shop.example").await;
    let save = |number| {
        let name = format!("Shop {number}");
        app.configure(&key, &pixel, json!({"controller_name": name, "purposes": ["resolution"]}))
    };
    let answers = join_all((0..CALLERS).map(save)).await;
    let versions = answers.iter().map(|answer| answer.expect(200)["policy_version"].as_u64());
    let mut versions = versions.map(Option::unwrap).collect::<Vec<_>>();
    versions.sort_unstable();
    assert_eq!(versions, (1..=12).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_key_is_revoked_before_or_after_whatever_else_is_done_to_its_account() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let prefix = &ann.key[..12];
    let path = format!("/v1/api-keys/{prefix}");
    let mut lock = app.pool.begin().await.unwrap();
    let row = "SELECT FROM accounts WHERE account_id = $1 FOR UPDATE";
    sqlx::query(row).bind(&ann.account_id).execute(&mut *lock).await.unwrap();
    let revoking = app.call(Method::DELETE, &path, &ann.key, Value::Null);
    tokio::pin!(revoking);
    let early = tokio::time::timeout(RealTime::from_millis(300), &mut revoking).await;
    assert!(early.is_err(), "it waits for the account: {early:?}");
    lock.rollback().await.unwrap();
    revoking.await.expect(204);
}
