//! A pixel's counts by day.

use chrono::Duration;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::story::Site;

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
        for count in ["shown", "unanswered", "accepted", "declined", "withdrawn"] {
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

/// Counts a shown popup for each of these visitors.
async fn show(app: &App, site: &Site, visitors: &[&str]) {
    for visitor in visitors {
        app.post("/v1/consent/shown", site.refusal(visitor, "declined")).await.expect(204);
    }
}

#[tokio::test]
async fn a_visitor_who_saw_the_popup_and_did_not_choose_counts_as_unanswered() {
    let (app, ann, site) = app_with_site().await;
    show(&app, &site, &["one", "two", "three", "four"]).await;
    // Only the first choice of a day counts.
    app.recorded(&site.acceptance("one")).await;
    app.recorded(&site.refusal("one", "withdrawn")).await;
    app.recorded(&site.acceptance("one")).await;
    app.recorded(&site.refusal("two", "declined")).await;
    app.clock.advance(Duration::days(1));
    // More choose than saw the popup: it was open since yesterday, or reopened.
    show(&app, &site, &["five"]).await;
    app.recorded(&site.acceptance("three")).await;
    app.recorded(&site.acceptance("five")).await;
    app.clock.advance(Duration::days(1));
    show(&app, &site, &["one", "six"]).await;
    app.recorded(&site.refusal("one", "withdrawn")).await;

    let stats = app.read(&ann.key, &site.path("/stats?from=2026-03-09")).await.expect(200);
    let unanswered = |counts: &Value| counts["unanswered"].as_i64().unwrap();
    let days = stats["days"].as_array().unwrap().iter().map(unanswered).collect::<Vec<_>>();
    assert_eq!(days, [0, 2, 0, 1]);
    assert_eq!(unanswered(&stats["totals"]), 3);
}

#[tokio::test]
async fn another_pixels_choices_answer_nothing() {
    let (app, ann, site) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.consent_site(&bob.key, "bob.example").await;
    show(&app, &site, &["one"]).await;
    app.recorded(&bobs.acceptance("one")).await;
    let stats = app.read(&ann.key, &site.path("/stats")).await.expect(200);
    assert_eq!(stats["totals"]["unanswered"], 1);
    assert_eq!(stats["by_version"], json!([]));
}

#[tokio::test]
async fn each_version_of_the_policy_has_its_choices_per_day() {
    let (app, ann, site) = app_with_site().await;
    let configure = async |name: &str| {
        let configured = app.reconfigured(&ann.key, &site, name).await;
        configured["policy_hash"].as_str().unwrap().to_owned()
    };
    let accept = async |visitor: &str, hash: &str| {
        let mut choice = site.acceptance(visitor);
        choice["policy_version_hash"] = json!(hash);
        app.recorded(&choice).await;
    };
    let first = &site.policy_hash;
    accept("one", first).await;
    accept("two", first).await;
    let second = configure("Another Shop").await;
    accept("one", &second).await;
    app.clock.advance(Duration::days(1));
    app.recorded(&site.refusal("one", "withdrawn")).await;
    app.recorded(&site.refusal("two", "declined")).await;
    // The first text again is version 3.
    let third = configure("Shop Ltd").await;
    assert_eq!(third, *first);
    accept("two", &third).await;
    configure("Not Answered").await;

    let stats = app.read(&ann.key, &site.path("/stats?from=2026-03-10&to=2026-03-12")).await;
    let line = |hash: &str,
                (version, published),
                accepted: [i64; 3],
                declined: i64,
                withdrawn: i64| {
        json!({
            "policy_hash": hash, "version": version, "published_at": published,
            "accepted": accepted.iter().sum::<i64>(), "declined": declined, "withdrawn": withdrawn,
            "days": {
                "accepted": accepted, "declined": [0, declined, 0], "withdrawn": [0, withdrawn, 0],
            },
        })
    };
    // The days on which they were published.
    let (third_version, second_version) =
        ((3, "2026-03-11T12:00:00.000Z"), (2, "2026-03-10T12:00:00.000Z"));
    let lines = [
        line(&third, third_version, [2, 1, 0], 0, 0),
        line(&second, second_version, [1, 0, 0], 1, 1),
    ];
    assert_eq!(stats.expect(200)["by_version"], json!(lines));
}

#[tokio::test]
async fn the_newest_twenty_versions_have_a_line() {
    let (app, ann, site) = app_with_site().await;
    for number in 1..23 {
        let mut choice = site.acceptance(&format!("visitor-{number}"));
        let configured = app.reconfigured(&ann.key, &site, &format!("Shop {number}")).await;
        choice["policy_version_hash"] = configured["policy_hash"].clone();
        app.recorded(&choice).await;
    }
    let stats = app.read(&ann.key, &site.path("/stats")).await.expect(200);
    let lines = stats["by_version"].as_array().unwrap().iter();
    let versions = lines.map(|line| line["version"].as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!(versions, (4..=23).rev().collect::<Vec<_>>());
    assert_eq!(stats["totals"]["accepted"], 22);
}

#[tokio::test]
async fn each_language_has_its_choices_per_day() {
    let (app, ann, site) = app_with_site().await;
    for (visitor, language) in [("one", "de"), ("two", "ar"), ("three", "de")] {
        app.recorded(&site.acceptance(visitor)).await;
        sqlx::query("UPDATE consent_receipts SET shown_language = $1 WHERE visitor_id = $2")
            .bind(language)
            .bind(visitor)
            .execute(&app.pool)
            .await
            .unwrap();
        app.clock.advance(Duration::hours(8));
    }
    app.recorded(&site.refusal("four", "declined")).await;
    let stats = app.read(&ann.key, &site.path("/stats?from=2026-03-10&to=2026-03-11")).await;
    let line = |language: Value, accepted: [i64; 2], declined: i64| {
        json!({
            "language": language, "accepted": accepted[0] + accepted[1],
            "declined": declined, "withdrawn": 0,
            "days": {"accepted": accepted, "declined": [0, declined], "withdrawn": [0, 0]},
        })
    };
    let lines =
        [line(json!("ar"), [1, 0], 0), line(json!("de"), [1, 1], 0), line(Value::Null, [0, 0], 1)];
    assert_eq!(stats.expect(200)["by_language"], json!(lines));
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
    assert_eq!(stats["totals"]["unanswered"], 0);
    assert_eq!(stats["by_version"][0]["days"]["accepted"], json!([2]));
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
        ("?from=2026-03-01&to=%2B262142-12-31", "to"),
        ("?from=%2B262142-12-31&to=%2B262142-12-31", "to"),
        ("?from=-9999-01-01&to=-9999-01-02", "to"),
        ("?from=-0001-01-01&to=0001-01-01", "from"),
        ("?to=0000-12-31", "to"),
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
        ["?from=0001-01-01&to=0001-01-02", "?from=9999-12-31&to=9999-12-31", "?to=0001-01-10"]
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
