//! Opened popups are counted: once per visitor, pixel and day, and only on the site.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::{Answer, App};

async fn shown_rows(app: &App) -> i64 {
    let count = sqlx::query_scalar("SELECT count(*) FROM consent_shown");
    count.fetch_one(&app.pool).await.unwrap()
}

#[tokio::test]
async fn an_opened_popup_is_counted_once_per_visitor_pixel_and_day() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    let show = |site: &Site, visitor: &str| {
        let url = format!("https://{}/page", site.domain);
        let body = json!({"pixel_id": site.pixel_id, "visitor_id": visitor, "url": url});
        app.post("/v1/consent/shown", body)
    };
    for (visitor, rows) in [("one", 1), ("one", 1), ("two", 2)] {
        show(&site, visitor).await.expect(204);
        assert_eq!(shown_rows(&app).await, rows);
    }
    show(&other, "one").await.expect(204);
    assert_eq!(shown_rows(&app).await, 3);
    app.clock.set("2026-03-10T23:59:59.999Z".parse().unwrap());
    show(&site, "one").await.expect(204);
    assert_eq!(shown_rows(&app).await, 3);
    app.clock.advance(chrono::Duration::milliseconds(1));
    show(&site, "one").await.expect(204);
    assert_eq!(shown_rows(&app).await, 4);
    let stats = app.read(&ann.key, &site.path("/stats?from=2026-03-10")).await.expect(200);
    let days = stats["days"].as_array().unwrap().iter().map(|day| day["shown"].as_i64());
    assert_eq!(days.collect::<Vec<_>>(), [Some(2), Some(1)]);
}

#[tokio::test]
async fn a_popup_that_opened_on_a_page_of_another_site_is_not_counted() {
    let (app, _, site) = app_with_site().await;
    let body = json!({"pixel_id": site.pixel_id, "visitor_id": "v", "url": "https://ann.example/"});
    let show_from = async |origin: &'static str| {
        let request = app.request(Method::POST, "/v1/consent/shown").header("origin", origin);
        Answer::of(request.json(&body)).await.expect(204);
        shown_rows(&app).await
    };
    for origin in ["https://evil.example", "null", "https://ann.example.evil.com"] {
        assert_eq!(show_from(origin).await, 0, "{origin}");
    }
    assert_eq!(show_from("https://www.ann.example").await, 1);
}

#[tokio::test]
async fn an_opened_popup_that_cannot_be_counted_is_ignored() {
    let (app, _, site) = app_with_site().await;
    let fine = json!({"pixel_id": site.pixel_id, "visitor_id": "v", "url": "https://ann.example/"});
    for (field, value) in [
        ("pixel_id", json!("unknown")),
        ("pixel_id", json!(1)),
        ("pixel_id", Value::Null),
        ("visitor_id", json!("a b")),
        ("visitor_id", Value::Null),
        ("url", json!("https://evil.example/")),
        ("url", json!("no url")),
        ("url", Value::Null),
    ] {
        app.post("/v1/consent/shown", with(&fine, field, value)).await.expect(204);
    }
    for text in ["", "{", "[]"] {
        Answer::of(app.request(Method::POST, "/v1/consent/shown").body(text)).await.expect(204);
    }
    assert_eq!(shown_rows(&app).await, 0);
    let plain = app.request(Method::POST, "/v1/consent/shown").header("content-type", "text/plain");
    Answer::of(plain.body(fine.to_string())).await.expect(204);
    assert_eq!(shown_rows(&app).await, 1);
}

#[tokio::test]
async fn under_global_privacy_control_nothing_was_shown() {
    let (app, _, site) = app_with_site().await;
    let shown =
        json!({"pixel_id": site.pixel_id, "visitor_id": "v", "url": "https://ann.example/"});
    let request = app.request(Method::POST, "/v1/consent/shown").header("Sec-GPC", "1");
    Answer::of(request.json(&shown)).await.expect(204);
    assert_eq!(shown_rows(&app).await, 0);
}

#[tokio::test]
async fn no_popup_is_shown_to_a_bot() {
    let (app, _, site) = app_with_site().await;
    let shown =
        json!({"pixel_id": site.pixel_id, "visitor_id": "v", "url": "https://ann.example/"});
    for (agent, rows) in [
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", 0),
        ("Mozilla/5.0 (compatible; Baiduspider/2.0)", 0),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36", 1),
    ] {
        let request = app.request(Method::POST, "/v1/consent/shown").header("user-agent", agent);
        Answer::of(request.json(&shown)).await.expect(204);
        assert_eq!(shown_rows(&app).await, rows, "{agent}");
    }
    // A choice is taken from whoever makes it.
    let request = app.request(Method::POST, "/v1/consent/record").header("user-agent", "a bot");
    Answer::of(request.json(&site.refusal("v", "declined"))).await.expect(202);
}
