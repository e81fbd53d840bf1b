//! What a pixel's owner does with consent besides configuring it: turning it off, counting,
//! exporting, and reading the policy that a receipt names.

use std::time::{Duration as RealTime, Instant};

use chrono::Duration;
use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::story::Site;
use crate::support::{Account, Answer, App};

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

async fn app_with_site() -> (App, Account, Site) {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    (app, ann, site)
}

impl Site {
    fn path(&self, rest: &str) -> String {
        format!("/v1/pixels/{}/consent{rest}", self.pixel_id)
    }
}

impl App {
    async fn read(&self, key: &str, path: &str) -> Answer {
        self.call(Method::GET, path, key, Value::Null).await
    }

    async fn turn_off(&self, key: &str, site: &Site) -> Answer {
        self.call(Method::DELETE, &site.path(""), key, Value::Null).await
    }

    async fn reconfigured(&self, key: &str, site: &Site, controller: &str) -> Value {
        let body = json!({"controller_name": controller, "purposes": ["resolution", "analytics"]});
        self.call(Method::POST, &site.path(""), key, body).await.expect(200)
    }

    async fn export(&self, key: &str, site: &Site) -> Vec<Value> {
        let answer = self.read(key, &site.path("/export")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.text.is_empty() || answer.text.ends_with('\n'));
        answer.text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Receipts as if recorded long ago; their signatures are not ours.
    async fn fill_with_receipts(&self, site: &Site, count: i64) {
        sqlx::query(
            "INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
                 policy_hash, purposes, recorded_at, signature)
             SELECT $1, gen_random_uuid(), 'visitor-' || number, 'https://ann.example', 'accepted',
                 $2, '{resolution}', '2026-03-01T00:00:00Z', decode(repeat('ab', 32), 'hex')
             FROM generate_series(1, $3) AS number",
        )
        .bind(&site.pixel_id)
        .bind(&site.policy_hash)
        .bind(count)
        .execute(&self.pool)
        .await
        .unwrap();
    }
}

// DELETE /v1/pixels/{pixel_id}/consent

#[tokio::test]
async fn turning_consent_off_takes_the_tag_away_at_once() {
    let (app, ann, site) = app_with_site().await;
    let script = format!("/px/{}.js", site.pixel_id);
    assert_eq!(app.get(&script).await.status, 200);
    let answer = app.turn_off(&ann.key, &site).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    app.get(&script).await.refused(404, "consent tag not found");
    app.get(&format!("/v1/policy/{}", site.pixel_id)).await.refused(404, "policy not found");
    app.post("/v1/consent/record", site.acceptance("visitor")).await.expect(204);
    app.post("/v1/consent/record", site.refusal("visitor", "declined")).await.expect(204);
    let pixel = app.read(&ann.key, &format!("/v1/pixels/{}", site.pixel_id)).await.expect(200);
    assert_eq!(pixel["consent_enabled"], false);
    assert!(pixel["snippet"].as_str().unwrap().contains("/pixel.js"));
}

#[tokio::test]
async fn receipts_and_policies_outlive_the_popup() {
    let (app, ann, site) = app_with_site().await;
    let saved = app.recorded(&site.acceptance("visitor")).await;
    app.turn_off(&ann.key, &site).await.expect(204);
    let query = format!("?pixel_id={}&visitor_id=visitor", site.pixel_id);
    let check = app.get(&format!("/v1/consent/check{query}")).await.expect(200);
    assert_eq!(check["permitted"], false);
    assert_eq!(check["reason"], "consent_off");
    assert_eq!(check["receipt"], saved["receipt"]);
    let body = json!({"receipt": saved["receipt"], "signature": saved["signature"]});
    assert_eq!(app.post("/v1/consent/verify", body).await.expect(200)["valid"], true);
    let events = app.read(&ann.key, &site.path("")).await.expect(200);
    assert_eq!(events["events"].as_array().unwrap().len(), 1);
    assert_eq!(app.export(&ann.key, &site).await.len(), 2);
    let named = format!("/v1/policy/{}?hash={}", site.pixel_id, site.policy_hash);
    assert_eq!(app.get(&named).await.status, 200);
}

#[tokio::test]
async fn turned_on_again_the_same_text_is_the_same_version() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("visitor")).await;
    app.turn_off(&ann.key, &site).await.expect(204);
    let again = app.reconfigured(&ann.key, &site, "Shop Ltd").await;
    assert_eq!(again["policy_version"], 1);
    assert_eq!(again["policy_hash"], json!(site.policy_hash));
    let query = format!("?pixel_id={}&visitor_id=visitor", site.pixel_id);
    assert_eq!(app.get(&format!("/v1/consent/check{query}")).await.expect(200)["reason"], "ok");
}

#[tokio::test]
async fn turning_off_what_is_off_changes_nothing() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel_id = app.pixel(&ann.key, "ann.example").await;
    let path = format!("/v1/pixels/{pixel_id}/consent");
    for _ in 0..2 {
        app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    }
}

#[tokio::test]
async fn an_unlimited_key_may_turn_off_any_popup_and_a_customers_only_its_own() {
    let (app, ann, site) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    app.turn_off(&bob.key, &site).await.refused(404, "pixel not found");
    assert_eq!(app.get(&format!("/px/{}.js", site.pixel_id)).await.status, 200);
    let operator = app.unlimited_account("op@example.com").await;
    app.turn_off(&operator.key, &site).await.expect(204);
    assert_eq!(app.get(&format!("/px/{}.js", site.pixel_id)).await.status, 404);
    drop(ann);
}

// Credentials of all three routes

#[tokio::test]
async fn each_route_asks_for_a_key_of_an_active_account() {
    let (app, ann, site) = app_with_site().await;
    for (method, rest) in [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
    {
        let path = site.path(rest);
        let call = |key: &'static str| app.call(method.clone(), &path, key, Value::Null);
        Answer::of(app.request(method.clone(), &path)).await.refused(401, "api key required");
        let basic = app.request(method.clone(), &path).header("Authorization", "Basic eDp5");
        Answer::of(basic).await.refused(401, "api key required");
        call("px_wrong").await.refused(401, "invalid api key");
        call("nonsense").await.refused(401, "invalid api key");
    }
    set_status(&app, &ann, "suspended").await;
    for (method, rest) in [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
    {
        let answer = app.call(method, &site.path(rest), &ann.key, Value::Null).await;
        answer.refused(403, "account is not active");
    }
    set_status(&app, &ann, "active").await;
    sqlx::query("UPDATE api_keys SET revoked_at = created_at").execute(&app.pool).await.unwrap();
    for (method, rest) in [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
    {
        let answer = app.call(method, &site.path(rest), &ann.key, Value::Null).await;
        answer.refused(401, "invalid api key");
    }
}

async fn set_status(app: &App, account: &Account, status: &str) {
    sqlx::query("UPDATE accounts SET status = $2 WHERE account_id = $1")
        .bind(&account.account_id)
        .bind(status)
        .execute(&app.pool)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_unknown_pixel_is_not_found_and_an_alias_is_none() {
    let (app, ann, site) = app_with_site().await;
    let alias: String =
        sqlx::query_scalar("SELECT alias FROM pixel_aliases").fetch_one(&app.pool).await.unwrap();
    assert_ne!(alias, site.pixel_id);
    for id in ["unknown", alias.as_str(), "a%00b", &"x".repeat(100)] {
        for (method, rest) in
            [(Method::DELETE, ""), (Method::GET, "/stats"), (Method::GET, "/export")]
        {
            let path = format!("/v1/pixels/{id}/consent{rest}");
            let answer = app.call(method, &path, &ann.key, Value::Null).await;
            answer.refused(404, "pixel not found");
        }
    }
}

// GET …/consent/stats

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

// GET …/consent/export

#[tokio::test]
async fn an_export_has_every_policy_and_then_every_receipt_oldest_first() {
    let (app, ann, site) = app_with_site().await;
    let first = app.recorded(&site.acceptance("one")).await;
    let second = app.reconfigured(&ann.key, &site, "New Name Ltd").await;
    let refused = app.recorded(&site.refusal("one", "withdrawn")).await;
    let declined = app.recorded(&site.refusal("two", "declined")).await;

    let answer = app.read(&ann.key, &site.path("/export")).await;
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let lines = app.export(&ann.key, &site).await;
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["policy_version"], 1);
    assert_eq!(lines[0]["policy_hash"], json!(site.policy_hash));
    assert_eq!(lines[0]["published_at"], "2026-03-10T12:00:00.000Z");
    assert_eq!(lines[0]["domain"], "ann.example");
    assert_eq!(lines[0]["policy"]["controller"]["name"], "Shop Ltd");
    assert_eq!(lines[1]["policy_version"], 2);
    assert_eq!(lines[1]["policy_hash"], second["policy_hash"]);
    for (line, saved) in lines[2..].iter().zip([first, refused, declined]) {
        let keys = line.as_object().unwrap().keys().collect::<Vec<_>>();
        assert_eq!(keys, ["receipt", "signature", "signature_alg"]);
        for key in keys {
            assert_eq!(line[key], saved[key], "{key}");
        }
        let body = json!({"receipt": line["receipt"], "signature": line["signature"]});
        assert_eq!(app.post("/v1/consent/verify", body).await.expect(200)["valid"], true);
    }
}

#[tokio::test]
async fn the_policy_in_an_export_has_the_bytes_that_were_hashed() {
    let (app, ann, site) = app_with_site().await;
    app.reconfigured(&ann.key, &site, "Ünïcode & \"Söhne\" </script>").await;
    let answer = app.read(&ann.key, &site.path("/export")).await;
    for line in answer.text.lines() {
        let start = line.find("\"policy\":").unwrap() + "\"policy\":".len();
        let policy = &line[start..line.len() - 1];
        let hash = hex::encode(Sha256::digest(policy));
        assert!(line.contains(&format!("\"policy_hash\":\"{hash}\"")), "{line}");
    }
}

#[tokio::test]
async fn a_pixel_without_consent_exports_nothing() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel_id = app.pixel(&ann.key, "ann.example").await;
    let answer = app.read(&ann.key, &format!("/v1/pixels/{pixel_id}/consent/export")).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
}

#[tokio::test]
async fn an_export_belongs_to_the_pixels_owner() {
    let (app, _, site) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.consent_site(&bob.key, "bob.example").await;
    app.recorded(&site.acceptance("visitor")).await;
    app.read(&bob.key, &site.path("/export")).await.refused(404, "pixel not found");
    assert_eq!(app.export(&bob.key, &bobs).await.len(), 1);
    let operator = app.unlimited_account("op@example.com").await;
    assert_eq!(app.export(&operator.key, &site).await.len(), 2);
}

#[tokio::test]
async fn head_of_an_export_and_of_stats_has_no_body() {
    let (app, ann, site) = app_with_site().await;
    for rest in ["/export", "/stats", ""] {
        let request = app.request(Method::HEAD, &site.path(rest)).bearer_auth(&ann.key);
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, ""), "{rest}");
    }
}

#[tokio::test]
async fn tens_of_thousands_of_receipts_are_exported_whole_and_in_order() {
    let (app, ann, site) = app_with_site().await;
    app.fill_with_receipts(&site, 40_000).await;
    let lines = app.export(&ann.key, &site).await;
    assert_eq!(lines.len(), 40_001);
    for (line, number) in lines[1..].iter().zip(1..) {
        assert_eq!(line["receipt"]["visitor_id"], json!(format!("visitor-{number}")));
    }
}

#[tokio::test]
async fn an_export_is_read_no_faster_than_it_is_sent() {
    let (app, ann, site) = app_with_site().await;
    app.fill_with_receipts(&site, 60_000).await;
    let request = app.request(Method::GET, &site.path("/export")).bearer_auth(&ann.key);
    let mut stream = request.send().await.unwrap().bytes_stream();
    let mut bytes = stream.next().await.unwrap().unwrap().to_vec();
    tokio::time::sleep(RealTime::from_secs(1)).await;
    // What had not been read by now is not found any more.
    sqlx::query("DELETE FROM consent_receipts").execute(&app.pool).await.unwrap();
    while let Some(chunk) = stream.next().await {
        bytes.extend(chunk.unwrap());
    }
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!((500..50_000).contains(&lines), "{lines} lines were read ahead");
}

#[tokio::test]
async fn slow_readers_of_exports_keep_no_connection_from_others() {
    let (app, ann, site) = app_with_site().await;
    app.fill_with_receipts(&site, 60_000).await;
    let mut held = Vec::new();
    for _ in 0..30 {
        let request = app.request(Method::GET, &site.path("/export")).bearer_auth(&ann.key);
        held.push(request.send().await.unwrap().bytes_stream());
    }
    let first = held.iter_mut().map(|stream| stream.next());
    assert!(futures_util::future::join_all(first).await.iter().all(Option::is_some));
    // They read ahead what fits into the sockets; until then connections may be rare.
    let (choice, started) = (site.acceptance("visitor"), Instant::now());
    while app.record(&choice).await.status != 202 {
        assert!(started.elapsed() < RealTime::from_secs(60), "no connection is free");
    }
    drop(held);
}

#[tokio::test]
async fn an_export_that_breaks_off_says_so_in_its_last_line() {
    let (app, ann, site) = app_with_site().await;
    app.fill_with_receipts(&site, 60_000).await;
    let request = app.request(Method::GET, &site.path("/export")).bearer_auth(&ann.key);
    let mut stream = request.send().await.unwrap().bytes_stream();
    let mut bytes = stream.next().await.unwrap().unwrap().to_vec();
    sqlx::query("ALTER TABLE consent_receipts RENAME TO lost").execute(&app.pool).await.unwrap();
    while let Some(chunk) = stream.next().await {
        bytes.extend(chunk.unwrap());
    }
    let text = String::from_utf8(bytes).unwrap();
    let last = text.lines().last().unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap(), json!({"error": "internal error"}));
}

#[tokio::test]
async fn an_export_that_cannot_begin_is_an_error() {
    let (app, ann, site) = app_with_site().await;
    sqlx::query("ALTER TABLE consent_policies RENAME TO lost").execute(&app.pool).await.unwrap();
    app.read(&ann.key, &site.path("/export")).await.refused(500, "internal error");
}

// GET /v1/policy/{pixel_id}?hash=…

#[tokio::test]
async fn the_policy_that_a_receipt_names_is_shown_when_another_is_in_force() {
    let (app, ann, site) = app_with_site().await;
    app.reconfigured(&ann.key, &site, "New Name Ltd").await;
    let named = app.get(&format!("/v1/policy/{}?hash={}", site.pixel_id, site.policy_hash)).await;
    assert_eq!(named.status, 200);
    assert!(named.text.contains("Shop Ltd") && !named.text.contains("New Name Ltd"));
    assert!(named.text.contains("noindex"), "an earlier version is not for search engines");
    let current = app.get(&format!("/v1/policy/{}", site.pixel_id)).await;
    assert!(current.text.contains("New Name Ltd"));
}

#[tokio::test]
async fn a_hash_that_names_nothing_is_not_found() {
    let (app, _, site) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.pixel(&bob.key, "bob.example").await;
    let body = json!({"controller_name": "Bob Ltd", "purposes": ["analytics"]});
    let path = format!("/v1/pixels/{bobs}/consent");
    let bobs_hash = app.call(Method::POST, &path, &bob.key, body).await.expect(200);
    let bobs_hash = bobs_hash["policy_hash"].as_str().unwrap();
    for hash in ["0".repeat(64).as_str(), "x", "%00", "%ff", &"a".repeat(5000), bobs_hash] {
        let answer = app.get(&format!("/v1/policy/{}?hash={hash}", site.pixel_id)).await;
        answer.refused(404, "policy not found");
    }
}

#[tokio::test]
async fn names_in_a_notice_are_set_apart_where_text_runs_from_right_to_left() {
    let (app, _, site) = app_with_site().await;
    let notice =
        async |lang: &str| app.get(&format!("/v1/policy/{}?lang={lang}", site.pixel_id)).await.text;
    for lang in ["ar", "he", "fa"] {
        let text = notice(lang).await;
        assert!(text.contains("dir=\"rtl\""), "{lang}");
        assert!(text.contains("\u{2068}Shop Ltd\u{2069}"), "{lang}");
        assert!(text.contains("\u{2068}ann.example\u{2069}"), "{lang}");
    }
    assert!(!notice("de").await.contains('\u{2068}'));
}

// POST /v1/consent/shown

#[tokio::test]
async fn the_popup_is_counted_once_per_visitor_pixel_and_day() {
    let (app, ann, site) = app_with_site().await;
    let shown = |visitor: &str| site.refusal(visitor, "declined");
    for _ in 0..3 {
        app.post("/v1/consent/shown", shown("one")).await.expect(204);
    }
    app.clock.advance(Duration::days(1));
    app.post("/v1/consent/shown", shown("one")).await.expect(204);
    app.post("/v1/consent/shown", shown("two")).await.expect(204);
    let stats = app.read(&ann.key, &site.path("/stats?from=2026-03-10")).await.expect(200);
    let days = stats["days"].as_array().unwrap();
    assert_eq!(days.iter().map(|day| day["shown"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn what_was_not_shown_on_the_site_is_not_counted() {
    let (app, ann, site) = app_with_site().await;
    let changed = |name: &str, value: Value| {
        let mut body = site.refusal("one", "declined");
        body[name] = value;
        body
    };
    for body in [
        changed("url", json!("https://other.example/")),
        changed("url", Value::Null),
        changed("visitor_id", json!("not an id")),
        changed("pixel_id", json!("unknown")),
        json!([]),
    ] {
        app.post("/v1/consent/shown", body).await.expect(204);
    }
    let gpc = app
        .request(Method::POST, "/v1/consent/shown")
        .header("Sec-GPC", "1")
        .json(&site.refusal("one", "declined"));
    assert_eq!(Answer::of(gpc).await.status, 204);
    let stats = app.read(&ann.key, &site.path("/stats")).await.expect(200);
    assert_eq!(stats["totals"]["shown"], 0);
}
