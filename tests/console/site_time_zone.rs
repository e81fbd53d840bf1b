//! The time zone in which the statistics of a site count days.

use std::collections::BTreeMap;
use std::time::{Duration as RealTime, Instant};

use chrono::{DateTime, Duration, Utc};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::console::{Browser, leads_to, token_of};
use crate::support::story::Site;
use crate::support::{App, fresh_address};

const AUCKLAND: &str = "Pacific/Auckland";
const NEW_YORK: &str = "America/New_York";

fn address_of(site: &Site) -> String {
    format!("/console/sites/{}/time-zone", site.pixel_id)
}

async fn set_zone(app: &App, key: &str, site: &Site, zone: &str) {
    let (mut browser, address) = (app.browser_of(key).await, address_of(site));
    let saved = browser.submit(&address, &address, &[("time_zone", zone)]).await;
    leads_to(&saved, &format!("{address}?done=saved"));
}

fn at(app: &App, time: &str) {
    app.clock.set(time.parse::<DateTime<Utc>>().unwrap());
}

/// A visitor sees the popup at a time, and accepts.
async fn accept_at(app: &App, site: &Site, time: &str, visitor: &str) {
    at(app, time);
    app.post("/v1/consent/shown", site.refusal(visitor, "declined")).await.expect(204);
    app.recorded(&site.acceptance(visitor)).await;
}

/// Impressions, impressions without a choice, and acceptances of each day, of days that have any.
type Days = BTreeMap<String, [i64; 3]>;

fn days_of(table: &str) -> Days {
    let days = table.lines().skip(1).map(|line| {
        let cells = line.split(',').collect::<Vec<_>>();
        let counts = [1, 2, 3].map(|column| cells[column].parse::<i64>().unwrap());
        (cells[0].to_owned(), counts)
    });
    days.filter(|(_, counts)| *counts != [0, 0, 0]).collect()
}

const RANGE: &str = "from=2026-03-01&to=2026-04-20";

async fn in_console(app: &App, key: &str, site: &Site) -> Days {
    let path = format!("/console/sites/{}/overview.csv?{RANGE}", site.pixel_id);
    days_of(&app.browser_of(key).await.page(&path).await)
}

async fn in_api(app: &App, key: &str, site: &Site) -> Days {
    let answer = app.read(key, &site.path(&format!("/stats?{RANGE}&format=csv"))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    days_of(&answer.text)
}

fn expected(days: &[(&str, [i64; 3])]) -> Days {
    days.iter().map(|(day, counts)| ((*day).to_owned(), *counts)).collect()
}

/// Waits until the days of a time zone are counted. A day that is noted makes the next round count them, also where
/// there are few choices.
async fn counted(app: &App, site: &Site, zone: &'static str) {
    sqlx::query(
        "INSERT INTO consent_day_changes (pixel_id, time_zone, day) VALUES ($1, $2, '2026-01-01')",
    )
    .bind(&site.pixel_id)
    .bind(zone)
    .execute(&app.pool)
    .await
    .unwrap();
    let started = Instant::now();
    loop {
        let done = "SELECT NOT EXISTS (SELECT FROM consent_day_changes WHERE time_zone = $1)
            AND EXISTS (SELECT FROM consent_counted WHERE time_zone = $1 AND is_ready)";
        let done = sqlx::query_scalar::<_, bool>(done).bind(zone);
        if done.fetch_one(&app.pool).await.unwrap() {
            return;
        }
        assert!(started.elapsed() < RealTime::from_secs(120), "{zone} is never counted");
        app.clock.advance(Duration::seconds(61));
        tokio::time::sleep(RealTime::from_millis(100)).await;
    }
}

async fn erase(app: &App, key: &str, site: &Site, visitor: &str) {
    let path = format!("/v1/pixels/{}/visitors/{visitor}", site.pixel_id);
    app.call(Method::DELETE, &path, key, Value::Null).await.expect(200);
}

#[tokio::test]
async fn choices_and_impressions_near_midnight_are_on_the_local_day_and_in_the_api_on_the_utc_day()
{
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    set_zone(&app, &ann.key, &site, AUCKLAND).await;
    set_zone(&app, &ann.key, &other, NEW_YORK).await;
    accept_at(&app, &site, "2026-03-15T10:59:59Z", "one").await;
    accept_at(&app, &site, "2026-03-15T11:00:00Z", "one").await;
    let local = [("2026-03-15", [1, 0, 1]), ("2026-03-16", [1, 0, 1])];
    assert_eq!(in_console(&app, &ann.key, &site).await, expected(&local));
    let utc = expected(&[("2026-03-15", [1, 0, 2])]);
    assert_eq!(in_api(&app, &ann.key, &site).await, utc);

    accept_at(&app, &other, "2026-03-16T03:59:59Z", "one").await;
    let page = format!("/console/sites/{}/overview", other.pixel_id);
    let page = app.browser_of(&ann.key).await.page(&page).await;
    assert!(page.contains("Time zone: America&#x2F;New_York"), "{page}");
    assert!(page.contains("14 February to 15 March 2026"), "{page}");
    accept_at(&app, &other, "2026-03-16T04:00:00Z", "two").await;
    assert_eq!(in_console(&app, &ann.key, &other).await, expected(&local));
    let utc = expected(&[("2026-03-16", [2, 0, 2])]);
    assert_eq!(in_api(&app, &ann.key, &other).await, utc);
}

#[tokio::test]
async fn a_day_may_have_23_or_25_hours() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    set_zone(&app, &ann.key, &site, AUCKLAND).await;
    set_zone(&app, &ann.key, &other, "Europe/Berlin").await;
    for (number, time) in [
        "2026-03-28T22:59:59Z",
        "2026-03-28T23:00:00Z",
        "2026-03-29T21:59:59Z",
        "2026-03-29T22:00:00Z",
    ]
    .into_iter()
    .enumerate()
    {
        accept_at(&app, &other, time, &format!("visitor-{number}")).await;
    }
    let days = [("2026-03-28", [1, 0, 1]), ("2026-03-29", [2, 0, 2]), ("2026-03-30", [1, 0, 1])];
    assert_eq!(in_console(&app, &ann.key, &other).await, expected(&days));
    for (number, time) in [
        "2026-04-04T10:59:59Z",
        "2026-04-04T11:00:00Z",
        "2026-04-05T11:59:59Z",
        "2026-04-05T12:00:00Z",
    ]
    .into_iter()
    .enumerate()
    {
        accept_at(&app, &site, time, &format!("visitor-{number}")).await;
    }
    let days = [("2026-04-04", [1, 0, 1]), ("2026-04-05", [2, 0, 2]), ("2026-04-06", [1, 0, 1])];
    assert_eq!(in_console(&app, &ann.key, &site).await, expected(&days));
    at(&app, "2026-04-08T12:00:00Z");
    counted(&app, &site, AUCKLAND).await;
    assert_eq!(in_console(&app, &ann.key, &site).await, expected(&days));
}

#[tokio::test]
async fn counted_days_show_the_same_and_erased_visitors_are_subtracted_from_the_local_day() {
    let (app, ann, site) = app_with_site().await;
    set_zone(&app, &ann.key, &site, AUCKLAND).await;
    for (time, visitor) in [
        ("2026-03-15T10:30:00Z", "one"),
        ("2026-03-15T11:30:00Z", "one"),
        ("2026-03-15T11:31:00Z", "two"),
    ] {
        accept_at(&app, &site, time, visitor).await;
    }
    at(&app, "2026-03-20T12:00:00Z");
    let days = expected(&[("2026-03-15", [1, 0, 1]), ("2026-03-16", [2, 0, 2])]);
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    counted(&app, &site, AUCKLAND).await;
    let stored = "SELECT count(*) FROM consent_days WHERE time_zone = 'Pacific/Auckland'";
    assert_eq!(app.count(stored).await, 2);
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    let utc = expected(&[("2026-03-15", [2, 0, 3])]);
    assert_eq!(in_api(&app, &ann.key, &site).await, utc);

    erase(&app, &ann.key, &site, "two").await;
    let days = expected(&[("2026-03-15", [1, 0, 1]), ("2026-03-16", [1, 0, 1])]);
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    counted(&app, &site, AUCKLAND).await;
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    erase(&app, &ann.key, &site, "one").await;
    assert_eq!(in_console(&app, &ann.key, &site).await, Days::new());
    counted(&app, &site, AUCKLAND).await;
    assert_eq!(in_console(&app, &ann.key, &site).await, Days::new());
    assert_eq!(app.count("SELECT count(*) FROM consent_shown_local").await, 0);
}

#[tokio::test]
async fn days_before_the_change_have_the_impressions_of_the_utc_day() {
    let (app, ann, site) = app_with_site().await;
    accept_at(&app, &site, "2026-03-10T12:30:00Z", "one").await;
    set_zone(&app, &ann.key, &site, AUCKLAND).await;
    let page = app.browser_of(&ann.key).await.page(&address_of(&site)).await;
    assert!(page.contains("since 12 March 2026"), "{page}");
    // The choice is on the next local day, the impression on the UTC day.
    let days = expected(&[("2026-03-10", [1, 1, 0]), ("2026-03-11", [0, 0, 1])]);
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    at(&app, "2026-03-20T12:00:00Z");
    counted(&app, &site, AUCKLAND).await;
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    erase(&app, &ann.key, &site, "one").await;
    assert_eq!(in_console(&app, &ann.key, &site).await, Days::new());
}

#[tokio::test]
async fn another_time_zone_counts_again_and_utc_counts_as_the_api_does() {
    let (app, ann, site) = app_with_site().await;
    set_zone(&app, &ann.key, &site, AUCKLAND).await;
    accept_at(&app, &site, "2026-03-15T11:30:00Z", "one").await;
    at(&app, "2026-03-20T12:00:00Z");
    counted(&app, &site, AUCKLAND).await;
    let days = expected(&[("2026-03-16", [1, 0, 1])]);
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    set_zone(&app, &ann.key, &site, NEW_YORK).await;
    for table in ["consent_counted", "consent_days", "consent_day_changes"] {
        let left = format!("SELECT count(*) FROM {table} WHERE time_zone = '{AUCKLAND}'");
        let left = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(left));
        assert_eq!(left.fetch_one(&app.pool).await.unwrap(), 0, "{table}");
    }
    let days = expected(&[("2026-03-15", [1, 0, 1])]);
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    counted(&app, &site, NEW_YORK).await;
    assert_eq!(in_console(&app, &ann.key, &site).await, days);
    set_zone(&app, &ann.key, &site, "UTC").await;
    assert_eq!(in_console(&app, &ann.key, &site).await, in_api(&app, &ann.key, &site).await);
    let left = "SELECT count(*) FROM consent_counted WHERE time_zone <> 'UTC'";
    assert_eq!(app.count(left).await, 0);
    accept_at(&app, &site, "2026-03-21T11:30:00Z", "two").await;
    let local = "SELECT count(*) FROM consent_shown_local WHERE visitor_id = 'two'";
    assert_eq!(app.count(local).await, 0, "a site in UTC writes no local day");
}

#[tokio::test]
async fn a_shared_link_shows_the_days_of_the_site() {
    let (app, ann, site) = app_with_site().await;
    set_zone(&app, &ann.key, &site, AUCKLAND).await;
    accept_at(&app, &site, "2026-03-15T11:30:00Z", "one").await;
    let links = format!("/v1/pixels/{}/shared-links", site.pixel_id);
    let link = app.call(Method::POST, &links, &ann.key, json!({"days": 7})).await.expect(201);
    let page = format!("/shared/{}", link["token"].as_str().unwrap());
    let shown = Browser::new(&app).get(&page).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for text in ["Time zone: Pacific&#x2F;Auckland", "15 February to 16 March 2026"] {
        assert!(shown.text.contains(text), "{text}: {}", shown.text);
    }
    assert!(!shown.text.contains("href=\"time-zone\""), "{}", shown.text);
}

#[tokio::test]
async fn a_change_is_in_the_audit_log_once() {
    let (app, ann, site) = app_with_site().await;
    for _ in 0..2 {
        set_zone(&app, &ann.key, &site, AUCKLAND).await;
    }
    let log = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await.expect(200);
    let changes = log["events"].as_array().unwrap().iter();
    let changes = changes.filter(|event| event["kind"] == "time_zone_changed").collect::<Vec<_>>();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["subject"], json!(site.pixel_id));
    let page = app.browser_of(&ann.key).await.page("/console/account/events").await;
    assert!(page.contains("Changed the time zone of a site’s statistics:"), "{page}");
}

#[tokio::test]
async fn unknown_zones_and_forms_of_others_are_refused() {
    let (app, ann, site) = app_with_site().await;
    let eve = app.account("eve@example.com").await;
    let own = app.consent_site(&eve.key, "eve.example").await;
    let (mut browser, address) = (app.browser_of(&ann.key).await, address_of(&site));
    for zone in ["", "Mars/Olympus", "US/Eastern", "pacific/auckland", "+13", "'; --"] {
        let refused = browser.submit(&address, &address, &[("time_zone", zone)]).await;
        assert_eq!(refused.status, 400, "{zone}");
        let error = "<p class=\"wrong\" id=\"time_zone-error\">Choose a time zone of the list.</p>";
        assert!(refused.text.contains(error), "{}", refused.text);
    }
    let mut eves = app.browser_of(&eve.key).await;
    for foreign in [&*address, "/console/sites/unknown/time-zone"] {
        assert_eq!(eves.get(foreign).await.status, 404, "{foreign}");
        let fields = [("time_zone", AUCKLAND)];
        let sent = eves.submit(&address_of(&own), foreign, &fields).await;
        assert_eq!(sent.status, 404, "{foreign}");
    }
    let token = token_of(&browser.page(&address).await);
    let fields = [("time_zone", AUCKLAND), ("form_token", &*token)];
    let request = browser.request(Method::POST, &address);
    let request = request.header("origin", "https://evil.example").form(&fields);
    assert_eq!(browser.send(request).await.status, 403);
    assert_eq!(app.count("SELECT count(*) FROM pixels WHERE time_zone IS NOT NULL").await, 0);
}

#[tokio::test]
async fn a_read_only_member_sees_the_time_zone_and_no_form() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let address = address_of(&site);
    for (role, may) in [("read", false), ("operate", true)] {
        let email = fresh_address(role);
        sqlx::query(
            "INSERT INTO members (member_id, account_id, email, role, created_at)
             VALUES (gen_random_uuid(), $1, $2, $3, now())",
        )
        .bind(&ann.account_id)
        .bind(&email)
        .bind(role)
        .execute(&app.pool)
        .await
        .unwrap();
        let mut browser = Browser::new(&app);
        browser.sign_in(&email).await;
        let page = browser.page(&address).await;
        assert_eq!(page.contains("<select id=\"time_zone\""), may, "{role}: {page}");
        assert_eq!(page.contains("Time zone: UTC"), !may, "{role}: {page}");
        let sent = browser.submit(&address, &address, &[("time_zone", AUCKLAND)]).await;
        assert_eq!(sent.status, if may { 303 } else { 403 }, "{role}: {}", sent.text);
    }
}
