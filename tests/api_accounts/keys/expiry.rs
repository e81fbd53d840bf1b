//! Keys that end by themselves.

use std::time::Duration as RealTime;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::mail::Mail;
use crate::support::tools::{call, refused};
use crate::support::{Account, Answer, App, MailServer, fresh_address};

const KEYS: &str = "/v1/api-keys";
const EXPIRED: &str = "api key expired";

async fn issue(app: &App, key: &str, body: Value) -> Answer {
    app.call(Method::POST, KEYS, key, body).await
}

async fn key_for(app: &App, ann: &Account, days: i64) -> String {
    let issued = issue(app, &ann.key, json!({"name": "CI", "expires_in_days": days})).await;
    issued.expect(201)["api_key"].as_str().unwrap().to_owned()
}

async fn get(app: &App, path: &str, key: &str) -> Answer {
    app.call(Method::GET, path, key, Value::Null).await
}

async fn listed(app: &App, ann: &Account, key: &str) -> Option<Value> {
    let list = get(app, KEYS, &ann.key).await.expect(200);
    let keys = list["api_keys"].as_array().unwrap().iter();
    keys.into_iter().find(|listed| listed["prefix"] == key[..12]).cloned()
}

/// Moves the clock, and waits until the service has looked at it twice.
async fn rounds(app: &App, by: Duration) {
    for by in [by, Duration::minutes(1)] {
        app.clock.advance(by);
        tokio::time::sleep(RealTime::from_millis(1_300)).await;
    }
}

fn sent(email: &str) -> Vec<Mail> {
    let all = MailServer::shared().everything(email);
    all.into_iter().filter(|mail| mail.subject().contains("expires on")).collect()
}

#[tokio::test]
async fn a_key_ends_after_its_days_on_every_kind_of_route() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let issued = issue(&app, &ann.key, json!({"expires_in_days": 30})).await.expect(201);
    assert_eq!(issued["expires_at"], "2026-04-09T12:00:00.000Z");
    let key = issued["api_key"].as_str().unwrap().to_owned();
    let row = listed(&app, &ann, &key).await.unwrap();
    assert_eq!((&row["expires_at"], &row["expired"]), (&issued["expires_at"], &json!(false)));
    assert_eq!(listed(&app, &ann, &ann.key).await.unwrap()["expires_at"], Value::Null);

    app.clock.advance(Duration::days(30) - Duration::seconds(1));
    get(&app, "/v1/whoami", &key).await.expect(200);
    app.clock.advance(Duration::seconds(1));
    let log = format!("/v1/pixels/{}/consent", site.pixel_id);
    for path in ["/v1/whoami", "/v1/pixels", KEYS, &log] {
        let answer = get(&app, path, &key).await;
        answer.refused(401, EXPIRED);
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("invalid_token"), "{challenge}");
    }
    let portal = format!("/v1/accounts/{}/portal", ann.account_id);
    app.call(Method::POST, &portal, &key, Value::Null).await.refused(401, EXPIRED);
    issue(&app, &key, json!({})).await.refused(401, EXPIRED);
    refused(&call(&app, "list_pixels", json!({"api_key": key})).await, 401, EXPIRED);

    assert_eq!(listed(&app, &ann, &key).await.unwrap()["expired"], true);
    app.clock.advance(Duration::days(30));
    assert!(listed(&app, &ann, &key).await.is_none());
    get(&app, "/v1/whoami", &key).await.refused(401, EXPIRED);
}

#[tokio::test]
async fn a_key_lasts_1_to_730_days_and_leaves_none_that_lasts_longer() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for days in [json!(0), json!(731), json!(-1), json!("30"), json!(1.5)] {
        let body = json!({"expires_in_days": days});
        issue(&app, &ann.key, body).await.invalid(&["body", "expires_in_days"]);
    }
    for days in [1, 730] {
        issue(&app, &ann.key, json!({"expires_in_days": days})).await.expect(201);
    }
    let parent = key_for(&app, &ann, 10).await;
    app.clock.advance(Duration::days(1));
    for (body, end) in [
        (json!({}), "2026-03-20T12:00:00.000Z"),
        (json!({"expires_in_days": 100}), "2026-03-20T12:00:00.000Z"),
        (json!({"expires_in_days": 1}), "2026-03-12T12:00:00.000Z"),
    ] {
        assert_eq!(issue(&app, &parent, body).await.expect(201)["expires_at"], end);
    }
}

#[tokio::test]
async fn expired_keys_leave_room_and_are_noted_in_the_activity_log() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let key = key_for(&app, &ann, 1).await;
    for _ in 0..18 {
        issue(&app, &ann.key, json!({})).await.expect(201);
    }
    issue(&app, &ann.key, json!({})).await.refused(403, "key allowance reached");
    rounds(&app, Duration::days(1)).await;
    issue(&app, &ann.key, json!({})).await.expect(201);
    let page = get(&app, "/v1/account/events", &ann.key).await.expect(200);
    let ended = page["events"].as_array().unwrap().iter();
    let ended = ended.filter(|event| event["kind"] == "key_expired").collect::<Vec<_>>();
    assert_eq!(ended.len(), 1, "{page}");
    assert_eq!((&ended[0]["actor"], &ended[0]["subject"]), (&json!("service"), &json!(key[..12])));
}

#[tokio::test]
async fn the_owner_is_notified_once_seven_days_before_unless_such_mails_are_off() {
    let app = App::spawn_with_mail().await;
    let _other = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let [ann, bob] = [fresh_address("ann"), fresh_address("bob")];
    let [ann, bob] = [app.mailed_account(&ann).await, app.mailed_account(&bob).await];
    let key = key_for(&app, &ann, 20).await;
    key_for(&app, &ann, 7).await;
    key_for(&app, &bob, 20).await;
    let off = json!({"key_expiring": false});
    app.call(Method::PATCH, "/v1/account/mails", &bob.key, off).await.expect(200);
    rounds(&app, Duration::days(12)).await;
    assert!(sent(&ann.email).is_empty(), "a key for a week is too short");
    rounds(&app, Duration::days(1)).await;
    for _ in 0..400 {
        if !sent(&ann.email).is_empty() {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    rounds(&app, Duration::days(1)).await;
    let mails = sent(&ann.email);
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].subject(), "A key for your Assent account expires on 30 March 2026");
    for fact in [&key[..12], "CI", "30 March 2026, 12:00 UTC"] {
        assert!(mails[0].text().contains(fact), "{fact}: {}", mails[0].text());
    }
    assert!(mails[0].0["headers"]["List-Unsubscribe"].is_string());
    assert!(sent(&bob.email).is_empty());
}

#[tokio::test]
async fn the_console_makes_keys_that_end_and_marks_those_that_have() {
    const ACCOUNT: &str = "/console/account";
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let other = app.consent_site(&ann.key, "other.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let ticked = format!("site-{}", site.pixel_id);
    let path = "/console/account/keys";
    let fields = [("name", "CI"), ("scope", "operate"), ("days", "30"), (&*ticked, "on")];
    let unclear = browser.submit(ACCOUNT, path, &fields).await;
    assert_eq!(unclear.status, 422);
    assert!(unclear.text.contains("choose “Only these”"), "{}", unclear.text);
    assert!(unclear.text.contains("value=\"CI\""), "what was typed stays: {}", unclear.text);
    let none = browser.submit(ACCOUNT, path, &[("sites", "some")]).await;
    assert!(none.status == 422 && none.text.contains("Tick at least one site."), "{}", none.text);
    for days in ["0", "731", "soon"] {
        assert_eq!(browser.submit(ACCOUNT, path, &[("days", days)]).await.status, 422, "{days}");
    }
    let fields = [&fields[..], &[("sites", "some")]].concat();
    let made = browser.submit(ACCOUNT, path, &fields).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert!(made.text.contains("9 April 2026"), "{}", made.text);
    let (_, rest) = made.text.split_once("px_").unwrap();
    let key = format!("px_{}", rest.split('<').next().unwrap());
    get(&app, &format!("/v1/pixels/{}", site.pixel_id), &key).await.expect(200);
    let hidden = get(&app, &format!("/v1/pixels/{}", other.pixel_id), &key).await;
    hidden.refused(404, "pixel not found");
    let page = browser.page(ACCOUNT).await;
    assert!(page.contains("9 April 2026") && !page.contains(">expired<"), "{page}");
    // The session lasts 30 days too.
    app.clock.advance(Duration::days(30));
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page(ACCOUNT).await;
    assert!(page.contains(">expired<") && page.contains("ann.example"), "{page}");
}
