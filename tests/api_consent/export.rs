//! Every policy and every receipt of a pixel, as lines of JSON.

use std::time::{Duration as RealTime, Instant};

use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::story::Site;

impl App {
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
        assert_eq!(keys, ["receipt", "shown", "signature", "signature_alg"]);
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
    // The service could read ahead within this time.
    tokio::time::sleep(RealTime::from_secs(1)).await;
    // Rows that were not read by now are not found any more.
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

impl App {
    /// Inserts versions of the pixel's policy of about 60 KB each, as if published long ago.
    async fn fill_with_policies(&self, site: &Site, count: i32) {
        sqlx::query(
            "INSERT INTO consent_policies (pixel_id, version, policy_hash, document, domain,
                 published_at, account_id, consent_days)
             SELECT pixel_id, version + number, 'hash-' || number,
                 left(document, -1) || ',\"padding\":\"' || repeat('x', 60000) || '\"}', domain,
                 published_at, account_id, consent_days
             FROM consent_policies, generate_series(1, $2) AS number WHERE pixel_id = $1",
        )
        .bind(&site.pixel_id)
        .bind(count)
        .execute(&self.pool)
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn pieces_are_bounded_by_bytes_and_nothing_is_lost_between_them() {
    let (app, ann, site) = app_with_site().await;
    app.fill_with_policies(&site, 30).await;
    app.fill_with_receipts(&site, 1_234).await;
    let answer = app.client.get(app.url(&site.path("/export"))).bearer_auth(&ann.key);
    let mut pieces = answer.send().await.unwrap().bytes_stream();
    let (mut text, mut longest) = (Vec::new(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.unwrap();
        longest = longest.max(piece.len());
        text.extend_from_slice(&piece);
    }
    let lines = String::from_utf8(text).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.collect::<Vec<_>>();
    let versions = lines.iter().filter_map(|line| line["policy_version"].as_i64());
    assert_eq!(versions.collect::<Vec<_>>(), (1..=31).collect::<Vec<_>>());
    let visitors = lines.iter().filter_map(|line| line["receipt"]["visitor_id"].as_str());
    let expected = (1..=1_234).map(|number| format!("visitor-{number}"));
    assert!(visitors.eq(expected));
    assert!(longest <= 512 << 10, "{longest}");

    let document = app.read(&ann.key, &site.path("/export?format=dpv")).await;
    assert_eq!(document.expect(200)["@graph"].as_array().unwrap().len(), 1_234);
    let request = app.client.get(app.url("/v1/account/export")).bearer_auth(&ann.key);
    let whole = request.send().await.unwrap().text().await.unwrap();
    let count = |record: &str| whole.matches(&format!("{{\"record\":\"{record}\"")).count();
    assert_eq!((count("policy"), count("receipt"), count("end")), (31, 1_234, 1));
}

#[tokio::test]
async fn an_account_has_two_exports_at_a_time() {
    let (app, ann, site) = app_with_site().await;
    app.fill_with_policies(&site, 400).await;
    let eve = app.account("eve@example.com").await;
    let export = |path: String, key: String| {
        let request = app.client.get(app.url(&path)).bearer_auth(key);
        async move { request.send().await.unwrap() }
    };
    let consent = site.path("/export");
    // Neither export is read to its end.
    let first = export(consent.clone(), ann.key.clone()).await;
    let second = export("/v1/account/export".to_owned(), ann.key.clone()).await;
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    for path in [&*consent, "/v1/account/export", &site.path("/export?format=dpv")] {
        let refused = export(path.to_owned(), ann.key.clone()).await;
        assert_eq!(refused.status(), 429, "{path}");
        assert_eq!(refused.headers()["retry-after"], "10");
    }
    assert_eq!(export("/v1/account/export".to_owned(), eve.key).await.status(), 200);
    drop(first);
    for _ in 0..400 {
        if export(consent.clone(), ann.key.clone()).await.status() == 200 {
            return;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    panic!("an export whose reader has gone still counts");
}
