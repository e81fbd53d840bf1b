//! Mails for the safety of an account: a new key, a new sign-in.

use std::time::Duration as RealTime;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::mail::Mail;
use crate::support::{Account, App, MailServer, fresh_address};

const KEY: &str = "A new API key for your Assent account";
const SIGN_IN: &str = "A new sign-in to your Assent account";

fn sent(email: &str, subject: &str) -> Vec<Mail> {
    let all = MailServer::shared().everything(email);
    all.into_iter().filter(|mail| mail.subject() == subject).collect()
}

/// Waits for the mails of a subject; more of them would come within moments.
async fn are_sent(email: &str, subject: &str, count: usize) -> Vec<Mail> {
    for _ in 0..400 {
        if sent(email, subject).len() >= count {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    // A further mail would arrive within this time.
    tokio::time::sleep(RealTime::from_millis(300)).await;
    let mails = sent(email, subject);
    assert_eq!(mails.len(), count, "{email}: {subject}");
    mails
}

async fn issue(app: &App, key: &str, body: Value) -> String {
    let issued = app.call(Method::POST, "/v1/api-keys", key, body).await.expect(201);
    issued["api_key"].as_str().unwrap().to_owned()
}

#[track_caller]
fn says(mail: &Mail, facts: &[&str]) {
    for part in [mail.text(), mail.html()] {
        let part = part.replace("&#x27;", "'").replace("&#x2F;", "/");
        for fact in facts {
            assert!(part.contains(fact), "{fact}: {part}");
        }
    }
}

#[tokio::test]
async fn the_owner_hears_of_every_key_but_the_first_of_a_new_account() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    are_sent(&ann.email, KEY, 0).await;
    let key = issue(&app, &ann.key, json!({"name": "shop server 2", "scope": "operate"})).await;
    let mail = are_sent(&ann.email, KEY, 1).await.remove(0);
    let console = format!("{}/console/account#keys", app.base);
    let prefix = &key[..12];
    let facts = [
        &*ann.account_id,
        prefix,
        "shop server 2",
        "Editor",
        "10 March 2026, 12:00 UTC",
        &ann.key[..12],
        &console,
    ];
    says(&mail, &facts);
    for part in [mail.text(), mail.html()] {
        assert!(!part.contains(&key) && !part.contains(&ann.key), "never the key itself");
    }
    assert!(mail.0["headers"]["List-Unsubscribe"].is_null(), "it cannot be turned off");
    app.issue_key(&ann.account_id, &ann.signup_token).await.expect(201);
    let mails = are_sent(&ann.email, KEY, 2).await;
    says(&mails[1], &["signup token"]);
}

#[tokio::test]
async fn the_owner_hears_of_a_first_key_that_comes_long_after_the_confirmation() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let mut browser = Browser::new(&app);
    browser.post("/console/sign-up", &[("email", &email), ("display_name", "Ann")]).await;
    let code = MailServer::shared().newest(&email).await.code();
    leads_to(&browser.type_code(&code).await, "/console");
    app.clock.advance(Duration::hours(2));
    browser.sign_in(&email).await;
    let made = browser.submit("/console/account", "/console/account/keys", &[]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mail = are_sent(&email, KEY, 1).await.remove(0);
    says(&mail, &[&email]);
}

#[tokio::test]
async fn odd_names_of_keys_do_no_harm() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let names = ["https://evil.example", "<b>bold</b>", "Call: 0900 now"];
    for name in names {
        issue(&app, &ann.key, json!({"name": name})).await;
    }
    for mail in are_sent(&ann.email, KEY, 3).await {
        says(&mail, &["as the console shows it"]);
        for (part, name) in [mail.text(), mail.html()].iter().zip(names) {
            assert!(!part.contains(name) && !part.contains("evil"), "{part}");
        }
    }
}

#[tokio::test]
async fn many_keys_do_not_flood_a_mailbox() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    for _ in 0..21 {
        let key = issue(&app, &ann.key, json!({})).await;
        let path = format!("/v1/api-keys/{}", &key[..12]);
        assert_eq!(app.call(Method::DELETE, &path, &ann.key, Value::Null).await.status, 204);
        // Not faster than keys may be made.
        app.clock.advance(Duration::minutes(1));
    }
    are_sent(&ann.email, KEY, 19).await;
    app.clock.advance(Duration::days(1));
    issue(&app, &ann.key, json!({})).await;
    are_sent(&ann.email, KEY, 20).await;
}

#[tokio::test]
async fn without_a_mail_server_no_mail_waits() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    issue(&app, &ann.key, json!({})).await;
    let waiting = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox");
    assert_eq!(waiting.fetch_one(&app.pool).await.unwrap(), 0);
}

// A new sign-in

#[tokio::test]
async fn a_sign_in_is_mailed_with_its_location_and_time() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    let code = browser.ask_for_code(&ann.email).await;
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let request = browser.request(Method::POST, "/console/sign-in/code");
    let request = request.header("origin", &app.base).header("user-agent", firefox);
    let request = request.header("x-forwarded-for", "203.0.113.77");
    leads_to(&browser.send(request.form(&[("code", &code)])).await, "/console");
    let mail = are_sent(&ann.email, SIGN_IN, 1).await.remove(0);
    let console = format!("{}/console/account#sessions", app.base);
    let facts =
        ["Firefox on Linux", "10 March 2026, 12:00 UTC", &*ann.email, &ann.account_id, &console];
    says(&mail, &facts);
    for part in [mail.text(), mail.html()] {
        assert!(!part.contains("203.0.113") && !part.contains("127.0.0.1"), "no address: {part}");
    }
    assert!(mail.0["headers"]["List-Unsubscribe"].is_null(), "it cannot be turned off");
    // A second browser is another sign-in.
    Browser::new(&app).sign_in(&ann.email).await;
    are_sent(&ann.email, SIGN_IN, 2).await;
}

#[tokio::test]
async fn a_sign_up_and_a_repeated_proof_cause_no_mail() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let mut browser = Browser::new(&app);
    browser.post("/console/sign-up", &[("email", &email), ("display_name", "Ann")]).await;
    let code = MailServer::shared().newest(&email).await.code();
    leads_to(&browser.type_code(&code).await, "/console");
    app.clock.advance(Duration::hours(1));
    browser.sign_in(&email).await;
    are_sent(&email, SIGN_IN, 0).await;
    // A session of somebody else in the browser changes nothing.
    let eve = app.mailed_account(&fresh_address("eve")).await;
    browser.sign_in(&eve.email).await;
    are_sent(&eve.email, SIGN_IN, 1).await;
    // Nor does one that has ended.
    app.clock.advance(Duration::days(31));
    browser.sign_in(&eve.email).await;
    are_sent(&eve.email, SIGN_IN, 2).await;
}

#[tokio::test]
async fn a_wrong_code_tells_nobody() {
    let app = App::spawn_with_mail().await;
    let ann: Account = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    let code = browser.ask_for_code(&ann.email).await;
    let wrong = if code == "000000" { "000001" } else { "000000" };
    assert_ne!(browser.type_code(wrong).await.status, 303);
    are_sent(&ann.email, SIGN_IN, 0).await;
}
