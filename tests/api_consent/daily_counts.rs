//! Days that are counted once tell the same as their rows, whatever happens meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as RealTime, Instant};

use assent::clock::Clock;
use chrono::{Duration, NaiveDate};
use futures_util::future::{join, join_all};
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::support::App;
use crate::support::cluster::workers;
use crate::support::consent::app_with_site;
use crate::support::database::TestDatabase;
use crate::support::process::{Process, program};
use crate::support::server::client;
use crate::support::story::Site;
use crate::support::visitors::with;

/// Days of a range that ends on the day of the clock.
const DAYS: i64 = 180;

/// Records choices behind the service's back: spread over the last days, of visitors of whom each has
/// some, with all kinds of answers.
async fn fill(app: &App, site: &Site, receipts: i32) {
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

/// What the rows themselves tell, counted without any of the service's statements.
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

/// What the service tells, in the same form.
async fn told(app: &App, key: &str, site: &Site) -> Value {
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
    counts.retain(|_, count| *count != 0);
    json!(counts)
}

async fn tells_the_truth(app: &App, key: &str, site: &Site) {
    let (told, rows) = (told(app, key, site).await, by_rows(app, site).await);
    let (told, rows) = (told.as_object().unwrap(), rows.as_object().unwrap());
    let keys = told.keys().chain(rows.keys()).collect::<BTreeSet<_>>();
    let differ = keys.into_iter().filter(|key| told.get(*key) != rows.get(*key));
    let differ = differ.map(|key| (key, told.get(key), rows.get(key))).collect::<Vec<_>>();
    assert!(differ.is_empty(), "(what, told, rows): {differ:?}");
}

/// Waits until a statement is true; the service's clock moves on meanwhile, so that its rounds come.
async fn becomes_true(app: &App, statement: &'static str) {
    let started = Instant::now();
    while !query_scalar::<_, bool>(statement).fetch_one(&app.pool).await.unwrap() {
        assert!(started.elapsed() < RealTime::from_secs(120), "never: {statement}");
        app.clock.advance(Duration::seconds(61));
        tokio::time::sleep(RealTime::from_millis(100)).await;
    }
}

/// Waits until all is counted. A day that is noted makes the next round count whatever there is, also
/// when it is too little to be worth a round of its own.
async fn counted(app: &App) {
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

/// What happens here is not noted by anything.
async fn unseen(app: &App, statement: &'static str) {
    let mut transaction = app.pool.begin().await.unwrap();
    for statement in ["SET LOCAL session_replication_role = replica", statement] {
        query(statement).execute(&mut *transaction).await.unwrap();
    }
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn what_was_there_before_is_counted_once_and_read_from_the_counts() {
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
    let before = told(&app, &ann.key, &site).await;
    unseen(&app, "DELETE FROM consent_receipts").await;
    unseen(&app, "DELETE FROM consent_shown WHERE shown_on < '2026-03-10'").await;
    assert_eq!(told(&app, &ann.key, &site).await, before);
}

#[tokio::test]
async fn what_is_new_is_added_and_who_is_erased_is_taken_away_at_once() {
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
async fn a_clock_that_goes_back_changes_days_that_were_over() {
    let (app, ann, site) = app_with_site().await;
    fill(&app, &site, 1_200).await;
    counted(&app).await;
    let now = app.clock.now();
    for days in [3, 40, -2] {
        app.clock.set(now - Duration::days(days));
        for visitor in ["filled-1", "late"] {
            app.recorded(&site.acceptance(visitor)).await;
            app.post("/v1/consent/shown", site.refusal(visitor, "declined")).await.expect(204);
        }
        app.clock.set(now);
        tells_the_truth(&app, &ann.key, &site).await;
    }
    counted(&app).await;
    tells_the_truth(&app, &ann.key, &site).await;
    app.clock.set(now + Duration::days(3));
    counted(&app).await;
    tells_the_truth(&app, &ann.key, &site).await;
}

/// Copies a receipt as that of another visitor, at its own place or the next one.
async fn insert_late(connection: &mut PgConnection, seq: Option<i64>) {
    query(
        "INSERT INTO consent_receipts (pixel_id, seq, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature)
         SELECT pixel_id, COALESCE($1, nextval('consent_receipt_seq')), gen_random_uuid(), 'late',
             origin, consent_state, policy_hash, purposes, recorded_at, signature
         FROM consent_receipts LIMIT 1",
    )
    .bind(seq)
    .execute(connection)
    .await
    .unwrap();
}

/// A round has come, and has found out that somebody is not done.
async fn nothing_is_counted(app: &App) {
    let begun = "SELECT EXISTS (SELECT 1 FROM consent_counted)";
    becomes_true(app, begun).await;
    tokio::time::sleep(RealTime::from_millis(300)).await;
    let counted_any = "SELECT EXISTS (SELECT 1 FROM consent_days)";
    assert!(!query_scalar::<_, bool>(counted_any).fetch_one(&app.pool).await.unwrap());
}

#[tokio::test]
async fn a_receipt_that_commits_after_later_ones_is_not_missed() {
    let (app, ann, site) = app_with_site().await;
    fill(&app, &site, 600).await;
    let mut late = app.pool.begin().await.unwrap();
    insert_late(&mut late, None).await;
    fill_more(&app, &site).await;
    nothing_is_counted(&app).await;
    late.commit().await.unwrap();
    tells_the_truth(&app, &ann.key, &site).await;
    counted(&app).await;
    tells_the_truth(&app, &ann.key, &site).await;
}

/// Where tables are spread over several machines, a node draws the places of receipts before it writes
/// them: until then there is nothing of them but its word that it records for their pixel.
#[tokio::test]
async fn a_receipt_whose_place_was_drawn_before_later_ones_is_not_missed() {
    let (app, ann, site) = app_with_site().await;
    fill(&app, &site, 600).await;
    let mut late = app.pool.acquire().await.unwrap();
    let drawn = "SELECT nextval('consent_receipt_seq') FROM hold_recordable_pixels(ARRAY[$1])";
    let drawn = query_scalar::<_, i64>(drawn).bind(&site.pixel_id);
    let drawn = drawn.fetch_one(&mut *late).await.unwrap();
    fill_more(&app, &site).await;
    nothing_is_counted(&app).await;
    insert_late(&mut late, Some(drawn)).await;
    // The same connection goes on with what is next. Whoever counts does not wait for that.
    query("SELECT pg_advisory_unlock_all()").execute(&mut *late).await.unwrap();
    let hold = query("SELECT hold_recordable_pixels(ARRAY[$1])").bind(&site.pixel_id);
    hold.execute(&mut *late).await.unwrap();
    let any = "SELECT EXISTS (SELECT 1 FROM consent_days)";
    becomes_true(&app, any).await;
    tells_the_truth(&app, &ann.key, &site).await;
    query("SELECT pg_advisory_unlock_all()").execute(&mut *late).await.unwrap();
    counted(&app).await;
    tells_the_truth(&app, &ann.key, &site).await;
}

async fn fill_more(app: &App, site: &Site) {
    for visitor in ["one", "two"] {
        app.recorded(&site.acceptance(visitor)).await;
    }
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
    let before = told(&app, &ann.key, &site).await;
    assert_eq!(before, by_rows(&app, &site).await);
    unseen(&app, "DELETE FROM consent_shown WHERE shown_on < '2026-03-10'").await;
    assert_eq!(told(&app, &ann.key, &site).await, before);
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

const WRITERS: usize = 32;
const WAVES: usize = 2;
const CHOICES: usize = 12;

/// One of many visitors' browsers: sends to one node or another, whatever becomes of it.
async fn write(bases: &[String], site: &Site, wave: usize, writer: usize) {
    let client = client();
    for number in 0..CHOICES {
        let base = &bases[(writer + number) % bases.len()];
        let visitor = format!("visitor-{}", (writer * 7 + number * 3 + wave) % 40);
        let choice = match (writer + number) % 3 {
            0 => site.refusal(&visitor, "declined"),
            1 => with(&site.acceptance(&visitor), "purposes", json!(["analytics", "resolution"])),
            _ => site.acceptance(&visitor),
        };
        let shown = client.post(format!("{base}/v1/consent/shown")).json(&choice).send().await;
        let record = client.post(format!("{base}/v1/consent/record")).json(&choice).send().await;
        // A node that is killed answers nothing.
        for status in [shown, record].into_iter().flatten().map(|answer| answer.status()) {
            assert!(status.is_success() || status == 503, "{status}");
        }
    }
}

/// Erases visitors and old receipts, moves the clock, until nobody writes any more.
async fn disturb(app: &App, key: &str, site: &Site, writing: &AtomicBool) {
    for number in 0.. {
        if !writing.load(Ordering::SeqCst) {
            return;
        }
        let visitor = [format!("visitor-{}", number % 40), format!("filled-{number}")];
        let path = format!("/v1/pixels/{}/visitors/{}", site.pixel_id, visitor[number % 2]);
        app.call(Method::DELETE, &path, key, Value::Null).await;
        query(
            "DELETE FROM consent_receipts WHERE pixel_id = $1 AND seq IN (
                 SELECT seq FROM consent_receipts WHERE pixel_id = $1 ORDER BY recorded_at LIMIT 5)",
        )
        .bind(&site.pixel_id)
        .execute(&app.pool)
        .await
        .unwrap();
        // A day on, two days back: rounds come, and days that were over get more. On the whole time
        // passes slowly: what is there stays within the days that are asked for, however long it takes.
        let hours = if number % 3 == 2 { -49 } else { 25 };
        app.clock.advance(Duration::hours(hours));
        tokio::time::sleep(RealTime::from_millis(40)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn counts_are_those_of_the_rows_after_everybody_was_at_work_and_a_node_was_killed() {
    let database = Arc::new(TestDatabase::create().await);
    let app = App::spawn_on(Arc::clone(&database), Clock::manual(Clock::System.now()), &[]).await;
    let other = app.another_node(&[]).await;
    let owner = app.unlimited_account("operator@example.com").await;
    let site = app.consent_site(&owner.key, "operator.example").await;
    fill(&app, &site, 3_000).await;
    for wave in 0..WAVES {
        let mut killed = Process::start(program(&database.url)).await;
        let nodes = [app.base.clone(), other.base.clone(), killed.url("")];
        let writing = AtomicBool::new(true);
        let writers = async {
            join_all((0..WRITERS).map(|writer| write(&nodes, &site, wave, writer))).await;
            writing.store(false, Ordering::SeqCst);
        };
        let end = async {
            tokio::time::sleep(RealTime::from_millis(150 + 200 * wave as u64)).await;
            killed.send(Signal::SIGKILL);
            killed.exit_code().await;
        };
        join(join(writers, end), disturb(&app, &owner.key, &site, &writing)).await;
        // What the killed node had begun is over when PostgreSQL has noticed.
        let idle = "SELECT count(*) = 0 FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE relation = 'consent_receipts'::regclass AND mode = 'RowExclusiveLock'
                AND datname = current_database()";
        becomes_true(&app, idle).await;
        for node in [&app, &other] {
            tells_the_truth(node, &owner.key, &site).await;
        }
    }
    counted(&app).await;
    for node in [&app, &other] {
        tells_the_truth(node, &owner.key, &site).await;
    }
    let rows = "SELECT count(*) > 200 FROM consent_receipts WHERE visitor_id LIKE 'visitor-%'";
    assert!(query_scalar::<_, bool>(rows).fetch_one(&app.pool).await.unwrap());
}
