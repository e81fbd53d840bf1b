//! Daily counts while receipts commit late, clocks go back, and nodes are killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as RealTime;

use assent::clock::Clock;
use chrono::Duration;
use futures_util::future::{join, join_all};
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{PgConnection, query, query_scalar};

use super::daily_counts::{becomes_true, counted, fill, tells_the_truth};
use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::{Process, program};
use crate::support::server::client;
use crate::support::story::Site;
use crate::support::visitors::with;

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

/// Copies a receipt as that of another visitor, at its own position or the next one.
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

/// On distributed tables, a node allocates the positions of receipts before it writes them: until then only its
/// announcement that it records for their pixel exists.
#[tokio::test]
async fn a_receipt_whose_position_was_allocated_before_later_ones_is_not_missed() {
    let (app, ann, site) = app_with_site().await;
    fill(&app, &site, 600).await;
    let mut late = app.pool.acquire().await.unwrap();
    let allocated = "SELECT nextval('consent_receipt_seq') FROM hold_recordable_pixels(ARRAY[$1])";
    let allocated = query_scalar::<_, i64>(allocated).bind(&site.pixel_id);
    let allocated = allocated.fetch_one(&mut *late).await.unwrap();
    fill_more(&app, &site).await;
    nothing_is_counted(&app).await;
    insert_late(&mut late, Some(allocated)).await;
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
        // Transactions of the killed node end when PostgreSQL notices its end.
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
