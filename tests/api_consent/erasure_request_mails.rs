//! Mails to the owner of a pixel about open erasure requests.

use chrono::Duration;
use reqwest::Method;
use serde_json::json;

use super::erasure_requests::{asked, complete, erase};
use crate::support::consent::app_with_site;
use crate::support::{App, MailServer, fresh_address};

// The owner is mailed

/// Marks a pixel as confirmed, so that no mail announces its deletion.
async fn confirm_install(app: &App, pixel_id: &str) {
    let confirm = sqlx::query("UPDATE pixels SET confirmed_at = $2 WHERE pixel_id = $1");
    confirm.bind(pixel_id).bind(app.clock.now()).execute(&app.pool).await.unwrap();
}

/// Moves the clock, and gives the mails of an address once there are so many.
async fn mails_after(app: &App, wait: Duration, email: &str, count: usize) -> Vec<String> {
    app.clock.advance(wait);
    let mails = MailServer::shared().wait_for(email, count).await;
    // Further mails that are due would arrive as well.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(MailServer::shared().inbox(email).len(), count);
    mails.iter().map(|mail| format!("{}\n{}", mail.subject(), mail.text())).collect()
}

#[tokio::test]
async fn an_owner_is_notified_once_a_day_and_again_seven_days_before_time_is_over() {
    let app = App::spawn_with_mail().await;
    let another = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let email = fresh_address("erasure");
    let ann = app.mailed_account(&email).await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    confirm_install(&app, &site.pixel_id).await;
    let mut requests = Vec::new();
    for visitor in ["visitor-one", "visitor-two"] {
        requests.push(asked(&another, &ann.key, &site, visitor).await);
    }
    let pause = Duration::seconds(15);
    let mails = mails_after(&app, pause, &email, 2).await;
    assert!(mails[1].starts_with("A visitor of ann.example asks to be erased"), "{}", mails[1]);
    assert!(
        mails[1].contains("ann.example: 2 requests are open. The first is due on 9 April 2026.")
    );
    assert!(!mails[1].contains("visitor-one"), "a mail names no visitor");
    for line in ["ann.example: request of 10 March 2026", "Due: 9 April 2026"] {
        assert_eq!(mails[1].matches(line).count(), 2, "{line}: {}", mails[1]);
    }
    for request_id in &requests {
        let link = format!("/console/sites/{}/requests/{request_id}", site.pixel_id);
        assert!(mails[1].contains(&link), "{link}: {}", mails[1]);
    }
    let third = asked(&app, &ann.key, &site, "visitor-three").await;
    mails_after(&app, pause, &email, 2).await;
    let mails = mails_after(&app, Duration::days(1), &email, 3).await;
    assert!(mails[2].contains("3 requests are open"), "{}", mails[2]);
    // A reminder, one for all that are due by then.
    let mails = mails_after(&app, Duration::days(22), &email, 4).await;
    assert!(mails[3].starts_with("Erasure requests are due on 9 April 2026"), "{}", mails[3]);
    mails_after(&app, Duration::days(2), &email, 4).await;
    complete(&app, &ann.key, &site.pixel_id, &third).await.expect(200);
}

#[tokio::test]
async fn without_an_open_request_nobody_is_mailed() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("erasure");
    let ann = app.mailed_account(&email).await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    confirm_install(&app, &site.pixel_id).await;
    let id = asked(&app, &ann.key, &site, "v1").await;
    complete(&app, &ann.key, &site.pixel_id, &id).await.expect(200);
    mails_after(&app, Duration::days(29), &email, 1).await;
}

#[tokio::test]
async fn a_request_that_the_owner_has_recorded_is_only_reminded_of() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("erasure");
    let ann = app.mailed_account(&email).await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    confirm_install(&app, &site.pixel_id).await;
    let path = format!("/v1/pixels/{}/erasure-requests", site.pixel_id);
    let person = json!({"hem": "1".repeat(64)});
    app.call(Method::POST, &path, &ann.key, person).await.expect(200);
    mails_after(&app, Duration::days(1), &email, 1).await;
    let mails = mails_after(&app, Duration::days(23), &email, 2).await;
    assert!(mails[1].starts_with("Erasure requests are due on"), "{}", mails[1]);
}

#[tokio::test]
async fn erasing_the_only_visitor_of_a_pixel_counts_as_its_use() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("v1")).await;
    app.clock.advance(Duration::days(5));
    erase(&app, &ann.key, &site.pixel_id, "v1").await.expect(200);
    let unused = sqlx::query_scalar("SELECT unused_since FROM pixels WHERE pixel_id = $1");
    let unused: chrono::DateTime<chrono::Utc> =
        unused.bind(&site.pixel_id).fetch_one(&app.pool).await.unwrap();
    assert_eq!(unused, app.clock.now());
}
