//! Days that are counted once tell the same as their rows, whatever happens meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration as RealTime, Instant};

use chrono::{Duration, NaiveDate};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{query, query_as, query_scalar};

use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::postgres::cluster::workers;
use crate::support::process::program;
use crate::support::story::Site;

/// Days of a range that ends on the day of the clock.
const DAYS: i64 = 180;

/// Records choices behind the service's back: spread over the last days, of visitors of whom each has
/// some, with all kinds of answers.
pub async fn fill(app: &App, site: &Site, receipts: i32) {
    query(
        "INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, shown_language)
         SELECT $1, gen_random_uuid(), 'filled-' || n % (1 + $3 / 3), 'https://' || $2,
             (ARRAY['accepted', 'accepted', 'declined', 'withdrawn'])[1 + n % 4],
             CASE n % 5 WHEN 0 THEN 'of before' ELSE $4 END,
             CASE n % 4 WHEN 0 THEN '{analytics,resolution}' WHEN 1 THEN '{resolution}'
                 ELSE '{}' END::text[],
             $5 - make_interval(days => n % 50, mins => n % 1500), '\\x00',
             (ARRAY['de', 'ar', NULL])[1 + n % 3]
         FROM generate_series(1, $3) AS n",
    )
    .bind(&site.pixel_id)
    .bind(&site.domain)
    .bind(receipts)
    .bind(&site.policy_hash)
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    query(
        "INSERT INTO consent_shown (pixel_id, shown_on, visitor_id)
         SELECT $1, $2::date - n % 50, 'filled-' || n FROM generate_series(1, $3) AS n",
    )
    .bind(&site.pixel_id)
    .bind(app.clock.now().date_naive())
    .bind(receipts)
    .execute(&app.pool)
    .await
    .unwrap();
}

/// The counts of the rows themselves, without the service's statements.
async fn by_rows(app: &App, site: &Site) -> Value {
    type Row = (NaiveDate, String, String, Vec<String>, String, Option<String>);
    let rows = query_as::<_, Row>(
        "SELECT (recorded_at AT TIME ZONE 'UTC')::date, visitor_id, consent_state, purposes,
             policy_hash, shown_language
         FROM consent_receipts WHERE pixel_id = $1",
    );
    let rows = rows.bind(&site.pixel_id).fetch_all(&app.pool).await.unwrap();
    let shown = query_as::<_, (NaiveDate, i64)>(
        "SELECT shown_on, count(*) FROM consent_shown WHERE pixel_id = $1 GROUP BY 1",
    );
    let shown = shown.bind(&site.pixel_id).fetch_all(&app.pool).await.unwrap();
    let shown = shown.into_iter().collect::<BTreeMap<_, _>>();
    let mut counts = BTreeMap::<String, i64>::new();
    let mut choosers = BTreeMap::<NaiveDate, BTreeSet<String>>::new();
    for (day, visitor, state, purposes, hash, language) in rows {
        let language = language.unwrap_or_else(|| "null".to_owned());
        for key in [
            format!("{day} {state}"),
            format!("{hash} {day} {state}"),
            format!("{language} {day} {state}"),
            format!("{hash} {language} {state}"),
        ] {
            *counts.entry(key).or_default() += 1;
        }
        for purpose in purposes {
            *counts.entry(format!("{day} {purpose}")).or_default() += 1;
        }
        choosers.entry(day).or_default().insert(visitor);
    }
    for (day, shown) in shown {
        let choosers = choosers.get(&day).map_or(0, BTreeSet::len);
        counts.insert(format!("{day} shown"), shown);
        let unanswered = shown - i64::try_from(choosers).unwrap();
        counts.insert(format!("{day} unanswered"), unanswered.max(0));
    }
    counts.retain(|_, count| *count != 0);
    json!(counts)
}

/// The counts that the service answers, in the same form.
async fn reported(app: &App, key: &str, site: &Site) -> Value {
    let today = app.clock.now().date_naive();
    let (from, to) = (today - Duration::days(DAYS), today + Duration::days(DAYS));
    let stats = app.read(key, &site.path(&format!("/stats?from={from}&to={to}"))).await.expect(200);
    let mut counts = BTreeMap::<String, i64>::new();
    let days = stats["days"].as_array().unwrap();
    for day in days {
        let date = day["day"].as_str().unwrap();
        for (name, count) in day.as_object().unwrap() {
            if let Some(count) = count.as_i64() {
                counts.insert(format!("{date} {name}"), count);
            }
        }
        for (purpose, count) in day["purposes"].as_object().unwrap() {
            counts.insert(format!("{date} {purpose}"), count.as_i64().unwrap());
        }
    }
    for (series, name) in [("by_version", "policy_hash"), ("by_language", "language")] {
        for line in stats[series].as_array().unwrap() {
            let name = line[name].as_str().unwrap_or("null");
            for (state, of_days) in line["days"].as_object().unwrap() {
                for (day, count) in days.iter().zip(of_days.as_array().unwrap()) {
                    let date = day["day"].as_str().unwrap();
                    counts.insert(format!("{name} {date} {state}"), count.as_i64().unwrap());
                }
            }
        }
    }
    for pair in stats["by_version_and_language"].as_array().unwrap() {
        let hash = pair["policy_hash"].as_str().unwrap();
        let language = pair["language"].as_str().unwrap_or("null");
        for state in ["accepted", "declined", "withdrawn"] {
            counts.insert(format!("{hash} {language} {state}"), pair[state].as_i64().unwrap());
        }
    }
    counts.retain(|_, count| *count != 0);
    json!(counts)
}

pub async fn tells_the_truth(app: &App, key: &str, site: &Site) {
    let (reported, rows) = (reported(app, key, site).await, by_rows(app, site).await);
    let (reported, rows) = (reported.as_object().unwrap(), rows.as_object().unwrap());
    let keys = reported.keys().chain(rows.keys()).collect::<BTreeSet<_>>();
    let differ = keys.into_iter().filter(|key| reported.get(*key) != rows.get(*key));
    let differ = differ.map(|key| (key, reported.get(key), rows.get(key))).collect::<Vec<_>>();
    assert!(differ.is_empty(), "(what, told, rows): {differ:?}");
}

/// Waits until a statement is true; the service's clock moves on meanwhile, so that its rounds come.
pub async fn becomes_true(app: &App, statement: &'static str) {
    let started = Instant::now();
    while !query_scalar::<_, bool>(statement).fetch_one(&app.pool).await.unwrap() {
        assert!(started.elapsed() < RealTime::from_secs(120), "never: {statement}");
        app.clock.advance(Duration::seconds(61));
        tokio::time::sleep(RealTime::from_millis(100)).await;
    }
}

/// Waits until all is counted. A day that is noted makes the next round count whatever there is, also
/// when it is too little to be worth a round of its own.
pub async fn counted(app: &App) {
    query(
        "INSERT INTO consent_day_changes (pixel_id, day) 
         SELECT pixel_id, '2026-01-01' FROM pixels WHERE domain LIKE '%.example'",
    )
    .execute(&app.pool)
    .await
    .unwrap();
    let all = "SELECT NOT EXISTS (SELECT 1 FROM consent_day_changes)
        AND (SELECT COALESCE(bool_and(is_ready
                AND up_to_seq >= COALESCE((SELECT max(seq) FROM consent_receipts), 0)), false)
             FROM consent_counted)";
    becomes_true(app, all).await;
}

/// Executes a statement without any trigger.
async fn unseen(app: &App, statement: &'static str) {
    let mut transaction = app.pool.begin().await.unwrap();
    for statement in ["SET LOCAL session_replication_role = replica", statement] {
        query(statement).execute(&mut *transaction).await.unwrap();
    }
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn existing_rows_are_counted_once_and_read_from_the_counts() {
    // Not on a cluster: it silences triggers, and those of workers do not hear it.
    if !workers().is_empty() {
        return;
    }
    let (app, ann, site) = app_with_site().await;
    // Just two batches.
    fill(&app, &site, 20_000).await;
    tells_the_truth(&app, &ann.key, &site).await;
    counted(&app).await;
    tells_the_truth(&app, &ann.key, &site).await;
    let before = reported(&app, &ann.key, &site).await;
    unseen(&app, "DELETE FROM consent_receipts").await;
    unseen(&app, "DELETE FROM consent_shown WHERE shown_on < '2026-03-10'").await;
    assert_eq!(reported(&app, &ann.key, &site).await, before);
}

#[tokio::test]
async fn new_choices_are_added_and_erased_visitors_are_subtracted_at_once() {
    let (app, ann, site) = app_with_site().await;
    fill(&app, &site, 1_200).await;
    counted(&app).await;
    // Somebody who chose today already, somebody new, and a popup.
    for visitor in ["filled-50", "new", "new"] {
        app.recorded(&site.acceptance(visitor)).await;
        app.post("/v1/consent/shown", site.refusal(visitor, "declined")).await.expect(204);
    }
    tells_the_truth(&app, &ann.key, &site).await;
    for visitor in ["filled-50", "filled-3", "new"] {
        let path = format!("/v1/pixels/{}/visitors/{visitor}", site.pixel_id);
        app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(200);
        tells_the_truth(&app, &ann.key, &site).await;
    }
    counted(&app).await;
    tells_the_truth(&app, &ann.key, &site).await;
    // By age, in the middle of a day.
    query("DELETE FROM consent_receipts WHERE recorded_at < $1")
        .bind(app.clock.now() - Duration::hours(700))
        .execute(&app.pool)
        .await
        .unwrap();
    tells_the_truth(&app, &ann.key, &site).await;
    counted(&app).await;
    tells_the_truth(&app, &ann.key, &site).await;
}

#[tokio::test]
async fn popups_are_counted_also_where_nobody_chooses() {
    // Not on a cluster: it silences triggers, and those of workers do not hear it.
    if !workers().is_empty() {
        return;
    }
    let (app, ann, site) = app_with_site().await;
    fill(&app, &site, 600).await;
    unseen(&app, "DELETE FROM consent_receipts").await;
    counted(&app).await;
    let before = reported(&app, &ann.key, &site).await;
    assert_eq!(before, by_rows(&app, &site).await);
    unseen(&app, "DELETE FROM consent_shown WHERE shown_on < '2026-03-10'").await;
    assert_eq!(reported(&app, &ann.key, &site).await, before);
}

#[tokio::test]
async fn a_pixel_or_an_account_takes_its_counts_along() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    fill(&app, &site, 600).await;
    fill(&app, &other, 600).await;
    counted(&app).await;
    let left = async || {
        let left = "SELECT (SELECT count(DISTINCT pixel_id) FROM consent_days)
            + (SELECT count(*) FROM consent_counted) + (SELECT count(*) FROM consent_day_changes)";
        query_scalar::<_, i64>(left).fetch_one(&app.pool).await.unwrap()
    };
    assert_eq!(left().await, 4);
    let path = format!("/v1/pixels/{}", other.pixel_id);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    assert_eq!(left().await, 2);
    let mut command = program(&app.database.url);
    command.args(["erase-account", &ann.account_id]);
    let erased = crate::support::process::run(command).await;
    assert!(erased.status.success(), "{erased:?}");
    assert_eq!(left().await, 0);
}
