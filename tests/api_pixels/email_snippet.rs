//! `POST /v1/pixels/{pixel_id}/email-snippet`, by real mail.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::setup::set_install_status;
use crate::support::{Answer, App, MailServer};

/// A service with a mail server, and the key and pixel of an account.
struct Scene {
    app: App,
    mails: &'static MailServer,
    key: String,
    pixel: String,
}

/// An address of this test alone. The mail server behaves as the beginning says.
fn address(beginning: &str) -> String {
    format!("{beginning}-{}@example.com", assent::types::ids::random_text(12).to_lowercase())
}

impl Scene {
    async fn new() -> Self {
        let mails = MailServer::shared();
        let app = App::spawn_with(&[("SMTP_URL", &mails.url)]).await;
        let key = confirmed_key(&app, mails).await;
        let pixel = app.pixel(&key, "shop.example").await;
        Self { app, mails, key, pixel }
    }

    async fn send(&self, to: &str) -> Answer {
        send(&self.app, &self.key, &self.pixel, json!({"email": to})).await
    }
}

/// The key of an account that was confirmed through its mail.
async fn confirmed_key(app: &App, mails: &MailServer) -> String {
    let email = address("owner");
    let opened = app.sign_up(&email).await;
    assert_eq!(app.get(&mails.newest(&email).await.link()).await.status, 200);
    let text = |field: &str| opened[field].as_str().unwrap().to_owned();
    let issued = app.issue_key(&text("account_id"), &text("signup_token")).await.expect(201);
    issued["api_key"].as_str().unwrap().to_owned()
}

async fn send(app: &App, key: &str, pixel: &str, body: Value) -> Answer {
    app.call(Method::POST, &format!("/v1/pixels/{pixel}/email-snippet"), key, body).await
}

#[track_caller]
fn sent(answer: &Answer) {
    assert_eq!(answer.expect(200), json!({"sent": true, "install_status": "not_checked"}));
}

#[track_caller]
fn too_soon(answer: &Answer, seconds: &str) {
    answer.refused(429, "wait before sending the snippet again");
    assert_eq!(answer.header("retry-after"), Some(seconds));
}

#[tokio::test]
async fn the_snippet_arrives_as_text_and_html() {
    let scene = Scene::new().await;
    let to = address("dev");
    sent(&scene.send(&to.to_uppercase()).await);
    let mail = scene.mails.newest(&to).await;
    assert_eq!(mail.subject(), "Your Assent snippet for shop.example");
    let (base, pixel) = (&scene.app.base, &scene.pixel);
    let snippet = format!("<script async src=\"{base}/pixel.js\" data-pixel=\"{pixel}\"></script>");
    assert!(mail.text().contains(&snippet), "{}", mail.text());
    let escaped = snippet.replace('<', "&lt;").replace('>', "&gt;");
    assert!(mail.html().contains(&escaped), "{}", mail.html());
    assert!(mail.text().contains("Test asked us"), "{}", mail.text());
    assert!(mail.text().contains("acc_"), "{}", mail.text());
    for part in [mail.text(), mail.html()] {
        assert!(part.contains("shop.example") && !part.contains("{{"));
    }
}

#[tokio::test]
async fn the_mail_carries_no_words_of_the_senders_own() {
    let scene = Scene::new().await;
    let phrase = "Your invoice is due today";
    let renamed = sqlx::query("UPDATE accounts SET display_name = $1").bind(phrase);
    renamed.execute(&scene.app.pool).await.unwrap();
    let to = address("dev");
    let body = json!({"email": to, "method": "Pay at bank.example"});
    sent(&send(&scene.app, &scene.key, &scene.pixel, body).await);
    let mail = scene.mails.newest(&to).await;
    for part in [mail.subject(), mail.text(), mail.html()] {
        assert!(!part.contains("invoice") && !part.contains("bank.example"), "{part}");
    }
    assert!(mail.text().starts_with("Someone asked us"), "{}", mail.text());
}

#[tokio::test]
async fn the_answer_tells_the_install_status() {
    let scene = Scene::new().await;
    set_install_status(&scene.app, &scene.pixel, "installed").await;
    let answer = scene.send(&address("dev")).await.expect(200);
    assert_eq!(answer, json!({"sent": true, "install_status": "installed"}));
}

#[tokio::test]
async fn the_immediate_snippet_is_sent_also_when_consent_is_on() {
    let scene = Scene::new().await;
    scene.app.consent_site(&scene.key, "shop.example").await;
    let to = address("dev");
    sent(&scene.send(&to).await);
    let mail = scene.mails.newest(&to).await;
    assert!(mail.text().contains("/pixel.js") && !mail.text().contains("/px/"));
}

#[tokio::test]
async fn an_address_that_cannot_be_written_to_is_refused() {
    let scene = Scene::new().await;
    let bodies = [json!({}), json!({"email": null}), json!({"email": ""}), json!({"email": "  "})];
    let malformed = [
        "dev",
        "dev@",
        "dev@localhost",
        "a b@example.com",
        "a@b@",
        "dev@example.com\r\nBcc: x@example.com",
    ];
    let malformed = malformed.iter().map(|email| json!({"email": email}));
    for body in bodies.into_iter().chain(malformed) {
        send(&scene.app, &scene.key, &scene.pixel, body).await.refused(400, "invalid email");
    }
    // None of it started the pause.
    sent(&scene.send(&address("dev")).await);
}

#[tokio::test]
async fn a_second_mail_within_ten_minutes_is_refused() {
    let scene = Scene::new().await;
    sent(&scene.send(&address("dev")).await);
    too_soon(&scene.send(&address("other")).await, "600");
    scene.app.clock.advance(chrono::Duration::seconds(599));
    too_soon(&scene.send(&address("other")).await, "1");
    scene.app.clock.advance(chrono::Duration::seconds(1));
    sent(&scene.send(&address("dev")).await);
    too_soon(&scene.send(&address("other")).await, "600");
}

#[tokio::test]
async fn the_pause_is_each_pixels_own() {
    let scene = Scene::new().await;
    sent(&scene.send(&address("dev")).await);
    let other = scene.app.pixel(&scene.key, "other.example").await;
    let body = json!({"email": address("dev")});
    sent(&send(&scene.app, &scene.key, &other, body).await);
}

#[tokio::test]
async fn a_mail_that_fails_is_said_and_starts_no_pause() {
    let scene = Scene::new().await;
    for beginning in ["refuse", "later"] {
        let failed = scene.send(&address(beginning)).await;
        failed.refused(502, "could not send the snippet email");
    }
    sent(&scene.send(&address("dev")).await);
}

#[tokio::test]
async fn a_failure_leaves_the_pause_of_the_mail_before_it() {
    let scene = Scene::new().await;
    sent(&scene.send(&address("dev")).await);
    scene.app.clock.advance(chrono::Duration::minutes(10));
    scene.send(&address("refuse")).await.refused(502, "could not send the snippet email");
    sent(&scene.send(&address("dev")).await);
}

#[tokio::test]
async fn a_mail_server_that_stalls_is_given_up_and_holds_nothing() {
    let scene = Scene::new().await;
    let started = Instant::now();
    let stalled = address("stall");
    let sends = async {
        let failed = scene.send(&stalled).await;
        failed.refused(502, "could not send the snippet email");
    };
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The mail may still be on its way: no second one goes out beside it.
        too_soon(&scene.send(&address("dev")).await, "15");
    };
    tokio::join!(sends, meanwhile);
    // The mail server would take a minute.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    sent(&scene.send(&address("dev")).await);
}

#[tokio::test]
async fn without_a_mail_server_nothing_is_sent_and_nothing_is_paused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    for _ in 0..2 {
        let answer = send(&app, &ann.key, &pixel, json!({"email": "dev@example.com"})).await;
        let skipped = json!({"sent": false, "install_status": "not_checked"});
        assert_eq!(answer.expect(200), skipped);
    }
}

#[tokio::test]
async fn many_requests_at_once_send_one_mail() {
    let scene = Scene::new().await;
    let to = address("dev");
    let answers = futures_util::future::join_all((0..8).map(|_| scene.send(&to))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    answers
        .iter()
        .filter(|answer| answer.status != 200)
        .for_each(|answer| answer.refused(429, "wait before sending the snippet again"));
    scene.mails.newest(&to).await;
    // A further mail would arrive within this time.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(scene.mails.inbox(&to).len(), 1);
}

#[tokio::test]
async fn nobody_mails_the_snippet_of_another_accounts_pixel() {
    let scene = Scene::new().await;
    let bob = confirmed_key(&scene.app, scene.mails).await;
    let to = address("dev");
    let refused = send(&scene.app, &bob, &scene.pixel, json!({"email": to})).await;
    refused.refused(404, "pixel not found");
    assert!(scene.mails.inbox(&to).is_empty());
}

#[tokio::test]
async fn the_present_snippet_asks_where_consent_is_on_and_shares_the_pause() {
    let scene = Scene::new().await;
    let path = format!("{}/px/{}.js", scene.app.base, scene.pixel);
    let mailed = async |body: Value| send(&scene.app, &scene.key, &scene.pixel, body).await;
    let to = address("developer");
    sent(&mailed(json!({"email": to, "snippet": "present"})).await);
    assert!(scene.mails.newest(&to).await.text().contains("data-pixel="), "consent is off");
    too_soon(&mailed(json!({"email": to, "snippet": "immediate"})).await, "600");
    let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]});
    scene.app.configure(&scene.key, &scene.pixel, body).await.expect(200);
    for (snippet, asks) in
        [(json!("present"), true), (json!("immediate"), false), (Value::Null, false)]
    {
        scene.app.clock.advance(chrono::Duration::minutes(10));
        let to = address("developer");
        sent(&mailed(json!({"email": to, "snippet": snippet})).await);
        let mail = scene.mails.newest(&to).await;
        for part in [mail.text(), mail.html()] {
            assert_eq!(part.contains(&path), asks, "{part}");
            assert_eq!(part.contains("without asking"), !asks, "{part}");
        }
    }
    let unknown = mailed(json!({"email": to, "snippet": "every"})).await;
    unknown.invalid(&["body", "snippet"]);
}
