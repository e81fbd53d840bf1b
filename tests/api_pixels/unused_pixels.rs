//! Pixels that nobody ever uses end, and their hosts are free again.

use std::time::Duration as RealTime;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::server::start_of_time;
use crate::support::setup::{create_host, set_plan};
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::sites::install::check;
use crate::support::waiting::wait_until;
use crate::support::{Account, App, MailServer, fresh_address};

async fn is_there(app: &App, pixel: &str) -> bool {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM pixels WHERE pixel_id = $1)")
        .bind(pixel)
        .fetch_one(&app.pool)
        .await
        .unwrap()
}

async fn is_notified(app: &App, pixel: &str) -> bool {
    sqlx::query_scalar("SELECT ending_told_at IS NOT NULL FROM pixels WHERE pixel_id = $1")
        .bind(pixel)
        .fetch_one(&app.pool)
        .await
        .unwrap()
}

/// Waits for rounds in which nothing must happen: the service looks at its clock once a second.
async fn rounds() {
    tokio::time::sleep(RealTime::from_millis(2_200)).await;
}

async fn goes(app: &App, pixel: &str) {
    wait_until("the pixel ends", async || !is_there(app, pixel).await).await;
}

/// Moves the clock, and waits until the owner of a pixel that is due then was notified.
async fn notified_after(app: &App, pixel: &str, by: Duration) {
    app.clock.advance(by);
    wait_until("the owner is notified", async || is_notified(app, pixel).await).await;
}

async fn account_of(app: &App, name: &str) -> Account {
    app.account(&format!("{name}@example.com")).await
}

#[tokio::test]
async fn a_pixel_that_nobody_ever_used_ends_after_thirty_days_and_its_owner_is_notified_before() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let inbox = || MailServer::shared().inbox(&ann.email);
    let pixel = app.pixel(&ann.key, "shop.example").await;
    app.clock.advance(Duration::days(22) + Duration::hours(23));
    rounds().await;
    assert_eq!(inbox().len(), 1, "only the mail of the signup");
    notified_after(&app, &pixel, Duration::hours(1)).await;
    let mails = MailServer::shared().wait_for(&ann.email, 2).await;
    assert_eq!(mails[1].subject(), "shop.example will be removed on 9 April 2026");
    for part in [mails[1].text(), mails[1].html()] {
        assert!(part.contains(&pixel) && part.contains("on 9 April 2026"), "{part}");
    }
    app.clock.advance(Duration::days(7) - Duration::hours(1));
    rounds().await;
    assert!(is_there(&app, &pixel).await);
    app.clock.advance(Duration::hours(1));
    goes(&app, &pixel).await;
    let path = format!("/v1/pixels/{pixel}");
    let gone = app.call(Method::GET, &path, &ann.key, Value::Null).await;
    gone.refused(404, "pixel not found");
    let bob = app.mailed_account(&fresh_address("bob")).await;
    create_host(&app, &bob.key, "shop.example").await.expect(201);
    assert_eq!(inbox().len(), 2, "one mail, and none after the end");
}

/// Pixels used in different ways that anybody can forge.
async fn used_pixels(app: &App) -> Vec<String> {
    let (ann, bob) = (account_of(app, "ann").await, account_of(app, "bob").await);
    let served = app.consent_site(&ann.key, "served.example").await;
    assert_eq!(app.get(&format!("/px/{}.js", served.pixel_id)).await.status, 200);
    let asked = app.pixel(&ann.key, "asked.example").await;
    let query = format!("pid={asked}&host=www.asked.example");
    app.get(&format!("/external_api/install-pixel/tag-pixel?{query}")).await.expect(200);
    let tagged = app.pixel(&ann.key, "tagged.example").await;
    assert_eq!(app.get(&format!("/pixels/{tagged}/p.js")).await.status, 302);
    let recorded = app.consent_site(&bob.key, "recorded.example").await;
    app.recorded(&recorded.refusal("visitor-1", "declined")).await;
    let shown = app.consent_site(&bob.key, "shown.example").await;
    let body = json!({"pixel_id": shown.pixel_id, "visitor_id": "visitor-1",
                      "url": "https://shown.example/"});
    assert_eq!(app.post("/v1/consent/shown", body).await.status, 204);
    vec![served.pixel_id, asked, tagged, recorded.pixel_id, shown.pixel_id]
}

#[tokio::test]
async fn use_that_anybody_can_send_keeps_a_pixel_for_thirty_days_and_not_for_good() {
    let app = App::spawn().await;
    let used = used_pixels(&app).await;
    let carol = account_of(&app, "carol").await;
    let doomed = app.pixel(&carol.key, "unused.example").await;
    app.clock.advance(Duration::days(20));
    for pixel in &used[..3] {
        app.get(&format!("/px/{pixel}.js")).await;
        app.get(&format!("/pixels/{pixel}/p.js")).await;
    }
    let query = format!("pid={doomed}&host=other.example");
    app.get(&format!("/external_api/install-pixel/tag-pixel?{query}")).await;
    app.get(&format!("/v1/policy/{doomed}")).await;
    let days = async |pixel: &str| {
        let query =
            "SELECT extract(day FROM unused_since - $2)::int FROM pixels WHERE pixel_id = $1";
        let days = sqlx::query_scalar::<_, i32>(query).bind(pixel).bind(start_of_time());
        days.fetch_one(&app.pool).await.unwrap()
    };
    wait_until("use is noted once a day", async || days(&used[0]).await == 20).await;
    notified_after(&app, &doomed, Duration::days(3)).await;
    app.clock.advance(Duration::days(7));
    goes(&app, &doomed).await;
    assert!(is_there(&app, &used[0]).await && !is_notified(&app, &used[0]).await);
    notified_after(&app, &used[0], Duration::days(13)).await;
    // The week of a pixel begins when its own owner is notified.
    for pixel in &used[1..3] {
        wait_until("the owner is notified", async || is_notified(&app, pixel).await).await;
    }
    app.clock.advance(Duration::days(7));
    for pixel in &used {
        goes(&app, pixel).await;
    }
}

#[tokio::test]
async fn a_pixel_that_is_confirmed_or_has_contacts_does_not_end() {
    let site = HttpsSite::start(&["checked.example", "named.example"]).await;
    let resolve = site.resolve(&["checked.example", "named.example"]);
    let app = App::spawn_with(&[
        ("INSTALL_CHECK_RESOLVE", resolve.as_str()),
        ("INSTALL_CHECK_CA_FILE", ca_file()),
    ])
    .await;
    let bob = account_of(&app, "bob").await;
    let operator = app.unlimited_account("operator@example.com").await;
    let contact = app.pixel(&bob.key, "contact.example").await;
    let people = json!([{"hem": "a".repeat(64), "contact": {"name": "A"}}]);
    app.store(&bob.key, &contact, people).await.expect(200);
    let checked = app.pixel(&bob.key, "checked.example").await;
    let tag = format!("<script src={}/px/{checked}.js></script>", app.base);
    site.answer("checked.example/", Reply::page(tag));
    check(&app, &bob.key, &checked).await.expect(200);
    // It does not matter that the page is gone again.
    site.answer("checked.example/", Reply::page(""));
    check(&app, &bob.key, &checked).await.expect(200);
    // Text on the page is not enough.
    let named = app.pixel(&bob.key, "named.example").await;
    site.answer("named.example/", Reply::page(&named));
    check(&app, &bob.key, &named).await.expect(200);
    site.answer("named.example/", Reply::page(""));
    check(&app, &bob.key, &named).await.expect(200);
    let owned = app.pixel(&operator.key, "owned.example").await;
    let payer = account_of(&app, "payer").await;
    set_plan(&app, &payer.account_id, "paid").await;
    let order =
        json!({"domain": "piped.example", "pipeline": "utm", "account_id": payer.account_id});
    let piped = app.call(Method::POST, "/v1/pixels/pipeline", &operator.key, order).await;
    let piped = piped.expect(201)["pixel_id"].as_str().unwrap().to_owned();
    notified_after(&app, &named, Duration::days(30)).await;
    app.clock.advance(Duration::days(7));
    goes(&app, &named).await;
    app.clock.advance(Duration::days(7));
    rounds().await;
    for kept in [&contact, &checked, &owned, &piped] {
        assert!(is_there(&app, kept).await);
        assert!(!is_notified(&app, kept).await);
    }
}

#[tokio::test]
async fn a_pixel_that_is_used_in_its_last_week_stays() {
    let app = App::spawn().await;
    let ann = account_of(&app, "ann").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let doomed = app.pixel(&ann.key, "unused.example").await;
    notified_after(&app, &site.pixel_id, Duration::days(23)).await;
    app.recorded(&site.refusal("visitor-1", "declined")).await;
    app.clock.advance(Duration::days(8));
    goes(&app, &doomed).await;
    assert!(is_there(&app, &site.pixel_id).await);
    assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 1);
}

#[tokio::test]
async fn without_an_install_checker_no_pixel_ends() {
    let app = App::spawn_with(&[("INSTALL_CHECK", "off")]).await;
    let ann = account_of(&app, "ann").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    for _ in 0..2 {
        app.clock.advance(Duration::days(31));
        rounds().await;
        assert!(is_there(&app, &pixel).await && !is_notified(&app, &pixel).await);
    }
}

#[tokio::test]
async fn pixels_of_versions_before_this_rule_count_from_the_upgrade() {
    let app = App::spawn().await;
    let ann = account_of(&app, "ann").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    sqlx::query("UPDATE pixels SET unused_since = NULL, created_at = $1 - interval '1 year'")
        .bind(app.clock.now())
        .execute(&app.pool)
        .await
        .unwrap();
    app.clock.advance(Duration::hours(1));
    wait_until("its days count", async || {
        let counted = "SELECT unused_since IS NOT NULL FROM pixels WHERE domain = 'shop.example'";
        sqlx::query_scalar(counted).fetch_one(&app.pool).await.unwrap()
    })
    .await;
    app.clock.advance(Duration::days(22));
    rounds().await;
    assert!(!is_notified(&app, &pixel).await);
    notified_after(&app, &pixel, Duration::days(1)).await;
    app.clock.advance(Duration::days(7));
    goes(&app, &pixel).await;
}

#[tokio::test]
async fn a_pixel_that_moves_to_another_host_must_be_used_there() {
    let app = App::spawn().await;
    let ann = account_of(&app, "ann").await;
    let site = app.consent_site(&ann.key, "old.example").await;
    app.recorded(&site.refusal("visitor-1", "declined")).await;
    app.clock.advance(Duration::days(40));
    let path = format!("/v1/pixels/{}", site.pixel_id);
    app.call(Method::PATCH, &path, &ann.key, json!({"domain": "new.example"})).await.expect(200);
    notified_after(&app, &site.pixel_id, Duration::days(23)).await;
    app.clock.advance(Duration::days(7));
    goes(&app, &site.pixel_id).await;
}

#[tokio::test]
async fn two_nodes_send_one_mail() {
    let app = App::spawn_with_mail().await;
    let node = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut pixels = Vec::new();
    for host in ["a.example", "b.example", "c.example"] {
        pixels.push(app.pixel(&ann.key, host).await);
    }
    notified_after(&node, &pixels[0], Duration::days(23)).await;
    MailServer::shared().wait_for(&ann.email, 4).await;
    app.clock.advance(Duration::hours(2));
    rounds().await;
    let subjects = MailServer::shared().inbox(&ann.email);
    let of = |host: &str| subjects.iter().filter(|mail| mail.subject().contains(host)).count();
    assert_eq!([of("a.example"), of("b.example"), of("c.example")], [1, 1, 1]);
}

#[tokio::test]
async fn a_mail_that_fails_is_tried_again_and_a_dead_mailbox_keeps_no_host() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let set_address = async |address: &str| {
        sqlx::query("UPDATE accounts SET email = $1 WHERE account_id = $2")
            .bind(address)
            .bind(&ann.account_id)
            .execute(&app.pool)
            .await
            .unwrap();
    };
    let ends_at = async || {
        sqlx::query_scalar::<_, Option<chrono::DateTime<chrono::Utc>>>("SELECT ends_at FROM pixels")
            .fetch_one(&app.pool)
            .await
            .unwrap()
    };
    sqlx::query("DELETE FROM pixels WHERE account_id = 'acc_demo'")
        .execute(&app.pool)
        .await
        .unwrap();
    set_address(&fresh_address("refuse")).await;
    app.clock.advance(Duration::days(29));
    wait_until("it was tried", async || ends_at().await.is_some()).await;
    wait_until("it has failed", async || !is_notified(&app, &pixel).await).await;
    let first = ends_at().await.unwrap();
    assert_eq!(first, app.clock.now() + Duration::days(7), "a week from the first attempt");
    let address = fresh_address("ann");
    set_address(&address).await;
    notified_after(&app, &pixel, Duration::hours(1)).await;
    assert!(
        MailServer::shared()
            .newest(&address)
            .await
            .subject()
            .contains("will be removed on 15 April 2026")
    );
    assert_eq!(ends_at().await, Some(first));
    // That its owner was never notified does not keep it.
    sqlx::query("UPDATE pixels SET ending_told_at = NULL").execute(&app.pool).await.unwrap();
    set_address(&fresh_address("refuse")).await;
    app.clock.advance(Duration::days(7));
    goes(&app, &pixel).await;
}

#[tokio::test]
async fn no_connection_is_held_while_owners_are_mailed() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.pixel(&ann.key, "shop.example").await;
    sqlx::query("UPDATE accounts SET email = $1 WHERE account_id = $2")
        .bind(fresh_address("stall"))
        .bind(&ann.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
    app.clock.advance(Duration::days(23));
    let under_way = async || {
        let rows =
            sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox WHERE kind = 'pixel_ending'");
        rows.fetch_one(&app.pool).await.unwrap() == 1
    };
    wait_until("the mail is under way", under_way).await;
    // One listens for news, others may ask for a moment.
    let in_use = || app.pool.size() as usize - app.pool.num_idle();
    wait_until("the round's connections are free", async || in_use() <= 1).await;
    assert!(under_way().await);
    let labels = "mail=\"notice\",result=\"failed\"} 1";
    assert!(!app.metrics.scrape().unwrap().contains(labels), "it is still under way");
}
