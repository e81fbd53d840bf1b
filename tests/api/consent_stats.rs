//! A pixel's counts by day.

use chrono::Duration;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;

const PURPOSES: [&str; 8] = [
    "analytics",
    "email_sharing",
    "newsletter",
    "partner_calls",
    "partner_email",
    "partner_sms",
    "phone_sharing",
    "resolution",
];

#[tokio::test]
async fn without_days_the_last_thirty_are_counted_with_zeros() {
    let (app, ann, site) = app_with_site().await;
    let stats = app.read(&ann.key, &site.path("/stats")).await.expect(200);
    assert_eq!(stats["pixel_id"], json!(site.pixel_id));
    assert_eq!((&stats["from"], &stats["to"]), (&json!("2026-02-09"), &json!("2026-03-10")));
    let days = stats["days"].as_array().unwrap();
    assert_eq!(days.len(), 30);
    assert_eq!(days[0]["day"], "2026-02-09");
    assert_eq!(days[29]["day"], "2026-03-10");
    for day in days.iter().chain([&stats["totals"]]) {
        for count in ["shown", "accepted", "declined", "withdrawn"] {
            assert_eq!(day[count], 0, "{day}");
        }
        let purposes = day["purposes"].as_object().unwrap();
        assert!(purposes.keys().eq(PURPOSES.iter()), "{day}");
        assert!(purposes.values().all(|count| count == 0), "{day}");
    }
}

#[tokio::test]
async fn each_day_counts_what_was_shown_and_answered() {
    let (app, ann, site) = app_with_site().await;
    for visitor in ["one", "two", "two", "three"] {
        let mut shown = site.refusal(visitor, "declined");
        shown.as_object_mut().unwrap().remove("consent");
        app.post("/v1/consent/shown", shown).await.expect(204);
    }
    app.recorded(&site.acceptance("one")).await;
    let mut both = site.acceptance("two");
    both["purposes"] = json!(["resolution", "analytics"]);
    app.recorded(&both).await;
    app.recorded(&site.refusal("three", "declined")).await;
    app.clock.advance(Duration::days(1));
    app.recorded(&site.refusal("one", "withdrawn")).await;

    let stats = app.read(&ann.key, &site.path("/stats?from=2026-03-09&to=2026-03-12")).await;
    let stats = stats.expect(200);
    let counts = |day: &Value| {
        ["shown", "accepted", "declined", "withdrawn"].map(|name| day[name].as_i64().unwrap())
    };
    let days = stats["days"].as_array().unwrap();
    assert_eq!(
        days.iter().map(counts).collect::<Vec<_>>(),
        [[0, 0, 0, 0], [3, 2, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0],]
    );
    let granted = |day: &Value| {
        [&day["purposes"]["resolution"], &day["purposes"]["analytics"]]
            .map(|count| count.as_i64().unwrap())
    };
    assert_eq!(granted(&days[1]), [2, 1]);
    assert_eq!(granted(&days[2]), [0, 0]);
    assert_eq!(counts(&stats["totals"]), [3, 2, 1, 1]);
    assert_eq!(granted(&stats["totals"]), [2, 1]);
}

#[tokio::test]
async fn a_day_begins_and_ends_at_midnight_utc() {
    let (app, ann, site) = app_with_site().await;
    let at = |text: &str| app.clock.set(text.parse().unwrap());
    for (number, moment) in [
        "2026-03-10T23:59:59.999999Z",
        "2026-03-11T00:00:00Z",
        "2026-03-11T23:59:59.999Z",
        "2026-03-12T00:00:00Z",
    ]
    .iter()
    .enumerate()
    {
        at(moment);
        let visitor = format!("visitor-{number}");
        app.recorded(&site.acceptance(&visitor)).await;
        app.post("/v1/consent/shown", site.refusal(&visitor, "declined")).await.expect(204);
    }
    let stats = app.read(&ann.key, &site.path("/stats?from=2026-03-11&to=2026-03-11")).await;
    let stats = stats.expect(200);
    assert_eq!(stats["days"].as_array().unwrap().len(), 1);
    assert_eq!(stats["totals"]["accepted"], 2);
    assert_eq!(stats["totals"]["shown"], 2);
}

#[tokio::test]
async fn one_end_of_the_range_is_enough() {
    let (app, ann, site) = app_with_site().await;
    for (query, from, to, days) in [
        ("?from=2026-03-01", "2026-03-01", "2026-03-10", 10),
        ("?to=2026-01-31", "2026-01-02", "2026-01-31", 30),
        ("?from=&to=", "2026-02-09", "2026-03-10", 30),
        ("?from=2026-03-10&to=2026-03-10", "2026-03-10", "2026-03-10", 1),
        ("?from=2024-02-28&to=2024-03-01", "2024-02-28", "2024-03-01", 3),
        ("?from=2026-03-09&to=2026-03-20", "2026-03-09", "2026-03-20", 12),
        ("?from=2025-02-04", "2025-02-04", "2026-03-10", 400),
    ] {
        let stats = app.read(&ann.key, &site.path(&format!("/stats{query}"))).await.expect(200);
        assert_eq!((&stats["from"], &stats["to"]), (&json!(from), &json!(to)), "{query}");
        assert_eq!(stats["days"].as_array().unwrap().len(), days, "{query}");
    }
}

#[tokio::test]
async fn a_range_that_is_none_is_named() {
    let (app, ann, site) = app_with_site().await;
    for (query, parameter) in [
        ("?from=2026-03-10&to=2026-03-09", "from"),
        ("?from=2026-03-11", "from"),
        ("?from=2025-02-03", "from"),
        ("?from=0001-01-01&to=9999-12-31", "from"),
        ("?from=yesterday", "from"),
        ("?from=2026-02-30", "from"),
        ("?from=2026-3-1", "from"),
        ("?from=%2B12026-01-01", "from"),
        ("?from=2026-03-01T00:00:00Z", "from"),
        ("?from=1772323200", "from"),
        ("?from=%00", "from"),
        ("?to=tomorrow", "to"),
        ("?from=2026-03-01&to=2026-02-29", "to"),
    ] {
        let answer = app.read(&ann.key, &site.path(&format!("/stats{query}"))).await;
        assert_eq!(answer.status, 422, "{query}: {}", answer.text);
        answer.invalid(&["query", parameter]);
    }
}

#[tokio::test]
async fn the_ends_of_the_calendar_are_days_too() {
    let (app, ann, site) = app_with_site().await;
    for query in
        ["?from=0001-01-01&to=0001-01-02", "?from=9999-12-31&to=9999-12-31", "?to=0000-01-01"]
    {
        app.read(&ann.key, &site.path(&format!("/stats{query}"))).await.expect(200);
    }
}

#[tokio::test]
async fn stats_count_one_pixel_and_belong_to_its_owner() {
    let (app, ann, site) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.consent_site(&bob.key, "bob.example").await;
    app.recorded(&bobs.acceptance("visitor")).await;
    let stats = app.read(&ann.key, &site.path("/stats")).await.expect(200);
    assert_eq!(stats["totals"]["accepted"], 0);
    app.read(&ann.key, &bobs.path("/stats")).await.refused(404, "pixel not found");
    let operator = app.unlimited_account("op@example.com").await;
    let stats = app.read(&operator.key, &bobs.path("/stats")).await.expect(200);
    assert_eq!(stats["totals"]["accepted"], 1);
}
