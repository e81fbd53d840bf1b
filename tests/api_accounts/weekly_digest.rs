//! The weekly digest: who receives it, when, once, and what it contains.

use std::time::Duration as RealTime;

use chrono::{DateTime, Duration, Utc};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::mail::Mail;
use crate::support::{Account, App, MailServer, fresh_address};

const MAILS: &str = "/v1/account/mails";

/// Sets the clock, and waits until every node has looked around twice.
async fn at(app: &App, time: &str) {
    app.clock.set(time.parse::<DateTime<Utc>>().unwrap());
    for _ in 0..2 {
        tokio::time::sleep(RealTime::from_millis(1_300)).await;
        app.clock.advance(Duration::minutes(1));
    }
    tokio::time::sleep(RealTime::from_millis(1_300)).await;
}

fn digests(account: &Account) -> Vec<Mail> {
    let all = MailServer::shared().everything(&account.email);
    all.into_iter().filter(|mail| mail.subject().starts_with("Your sites from")).collect()
}

/// Waits for the digests of an account, and that there are no more.
async fn are_sent(account: &Account, count: usize) -> Vec<Mail> {
    for _ in 0..400 {
        if digests(account).len() >= count {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    let mails = digests(account);
    assert_eq!(mails.len(), count, "{}", account.email);
    mails
}

async fn turn_on(app: &App, account: &Account) {
    let on = app.call(Method::PATCH, MAILS, &account.key, json!({"weekly_digest": true})).await;
    assert_eq!(on.expect(200)["weekly_digest"], true);
}

async fn run(app: &App, statement: &'static str, account: &Account) {
    sqlx::query(statement).bind(&account.account_id).execute(&app.pool).await.unwrap();
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
async fn two_nodes_send_one_digest_a_week_to_an_owner_who_wants_it() {
    let app = App::spawn_with_mail().await;
    let _other = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let eve = app.mailed_account(&fresh_address("eve")).await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let eves = app.consent_site(&eve.key, "eve.example").await;
    turn_on(&app, &ann).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    app.recorded(&site.refusal("visitor-2", "declined")).await;
    app.recorded(&eves.acceptance("visitor-3")).await;
    let asks = json!({"pixel_id": site.pixel_id, "visitor_id": "visitor-1"});
    app.post("/v1/consent/erasure-requests", asks).await.expect(202);
    let hook = json!({"url": "https://hooks.example/secret", "events": ["choice.recorded"]});
    app.call(Method::POST, "/v1/webhooks", &ann.key, hook).await.expect(201);
    let fails = "UPDATE webhook_endpoints SET failing_since = created_at WHERE account_id = $1";
    run(&app, fails, &ann).await;
    let overdue = "UPDATE erasure_requests SET due_at = requested_at + interval '1 day' FROM pixels
         WHERE pixels.pixel_id = erasure_requests.pixel_id AND account_id = $1";
    run(&app, overdue, &ann).await;

    at(&app, "2026-03-16T06:55:00Z").await;
    are_sent(&ann, 0).await;
    at(&app, "2026-03-16T10:00:00Z").await;
    let mail = are_sent(&ann, 1).await.remove(0);
    assert_eq!(mail.subject(), "Your sites from 9 March to 15 March 2026");
    let overview = format!("/console/sites/{}/overview", site.pixel_id);
    let facts = [
        "ann.example",
        &*overview,
        "2 (none in the week before)",
        "50% (no responses in the week before)",
        "1 open, 1 overdue",
        "Not verified",
        "No report yet",
        "1: hooks.example",
        &*ann.account_id,
    ];
    says(&mail, &facts);
    for part in [mail.text(), mail.html()] {
        for secret in ["visitor-", "eve.example", "secret"] {
            assert!(!part.contains(secret), "{secret}: {part}");
        }
    }
    assert_eq!(mail.0["headers"]["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");

    at(&app, "2026-03-17T12:00:00Z").await;
    are_sent(&ann, 1).await;
    at(&app, "2026-03-23T10:00:00Z").await;
    let second = are_sent(&ann, 2).await.remove(1);
    says(&second, &["16 March to 22 March 2026", "0 (100% fewer than in the week before)"]);
    let link = second.0["headers"]["List-Unsubscribe"].as_str().unwrap();
    let (_, rest) = link.split_once("/v1/email/").expect("a link of the service");
    let path = format!("/v1/email/{}", rest.trim_end_matches('>'));
    let clicked = app
        .request(Method::POST, &path)
        .form(&[("List-Unsubscribe", "One-Click")])
        .send()
        .await
        .unwrap();
    assert_eq!(clicked.status(), 200);
    let now = app.call(Method::GET, MAILS, &ann.key, Value::Null).await.expect(200);
    assert_eq!(now["weekly_digest"], false);
    at(&app, "2026-03-30T10:00:00Z").await;
    are_sent(&ann, 2).await;
    are_sent(&eve, 0).await;
}

#[tokio::test]
async fn nobody_receives_a_digest_without_a_site_on_hold_or_long_after_monday() {
    let app = App::spawn_with_mail().await;
    let account = async || app.mailed_account(&fresh_address("ann")).await;
    let [without_site, on_hold, mailed] = [account().await, account().await, account().await];
    app.pixel(&on_hold.key, "hold.example").await;
    app.pixel(&mailed.key, "told.example").await;
    for account in [&without_site, &on_hold, &mailed] {
        turn_on(&app, account).await;
    }
    let hold =
        "UPDATE accounts SET status = 'suspended', suspended_from = 'active' WHERE account_id = $1";
    run(&app, hold, &on_hold).await;
    at(&app, "2026-03-18T08:00:00Z").await;
    are_sent(&mailed, 0).await;
    at(&app, "2026-03-23T10:00:00Z").await;
    let mail = are_sent(&mailed, 1).await.remove(0);
    says(&mail, &["told.example", "No responses", "None open", "Failing webhooks"]);
    let release =
        "UPDATE accounts SET status = 'active', suspended_from = NULL WHERE account_id = $1";
    run(&app, release, &on_hold).await;
    at(&app, "2026-03-23T12:00:00Z").await;
    are_sent(&on_hold, 0).await;
    are_sent(&without_site, 0).await;
}

#[tokio::test]
async fn a_site_with_a_time_zone_has_its_own_days_if_its_week_is_over() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    app.pixel(&ann.key, "utc.example").await;
    turn_on(&app, &ann).await;
    let zone = "UPDATE pixels SET time_zone = 'Pacific/Auckland', time_zone_from = '2026-03-11'
        WHERE account_id = $1 AND domain = 'ann.example'";
    run(&app, zone, &ann).await;
    // On Sunday in Auckland, and on Monday there.
    for (time, visitor) in [("2026-03-15T10:00:00Z", "one"), ("2026-03-15T12:00:00Z", "two")] {
        app.clock.set(time.parse::<DateTime<Utc>>().unwrap());
        app.recorded(&site.acceptance(visitor)).await;
    }
    at(&app, "2026-03-16T10:00:00Z").await;
    let first = are_sent(&ann, 1).await.remove(0);
    says(&first, &["Pacific/Auckland", "1 (none in the week before)"]);
    // Sunday is not over in Honolulu when the digests are sent, so the days are those of UTC.
    let zone = "UPDATE pixels SET time_zone = 'Pacific/Honolulu'
        WHERE account_id = $1 AND domain = 'ann.example'";
    run(&app, zone, &ann).await;
    at(&app, "2026-03-23T10:00:00Z").await;
    let second = are_sent(&ann, 2).await.remove(1);
    says(&second, &["Time zone", "0 (100% fewer than in the week before)"]);
    let text = second.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("time zone of each site, or in UTC days"), "{text}");
    assert!(!text.contains("Honolulu"), "{text}");
}
