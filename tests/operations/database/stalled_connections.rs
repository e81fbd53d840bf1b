//! Connections to the database that stall, or lose data without an error.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::postgres::cluster::workers;
use crate::support::postgres::database::described_statements;
use crate::support::postgres::outage::Road;
use crate::support::process::{program, run, said};
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::waiting::wait_until;
use crate::support::{Answer, App};

/// After so long the tag gives a choice up.
const TAG_TIMEOUT: Duration = Duration::from_secs(8);

/// Two nodes on one database, the second by a road that can be held up, and a site that both know.
async fn scene() -> (App, App, Road, Site) {
    let here = App::spawn().await;
    let key = here.account("shop@stalls.example").await.key;
    let site = here.consent_site(&key, "shop.example").await;
    let road = Road::to(&here.database.url).await;
    let there = here.another_node_by(&road.url).await;
    there.recorded(&site.refusal("first", "declined")).await;
    (here, there, road, site)
}

/// Records until it succeeds again.
async fn recovers(app: &App, site: &Site) {
    let started = Instant::now();
    while app.record(&site.refusal("last", "declined")).await.status != 202 {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not recover");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until nothing that is recorded is under way in the database.
async fn nothing_is_being_recorded(app: &App) {
    // The delayed statements arrive first; `wait_for_recorders` then waits for their transactions.
    tokio::time::sleep(Duration::from_millis(300)).await;
    sqlx::query("SELECT wait_for_recorders()").execute(&app.pool).await.unwrap();
}

async fn permitted(app: &App, site: &Site, visitors: &[String]) -> usize {
    let checks = visitors.iter().map(|visitor| app.check(&site.pixel_id, visitor));
    join_all(checks).await.iter().filter(|check| check["permitted"] == true).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_road_is_held_up_nodes_say_so_and_a_yes_that_was_given_up_never_beats_a_later_no()
{
    let (here, there, road, site) = scene().await;
    let visitors = (0..30).map(|number| format!("visitor-{number}")).collect::<Vec<_>>();
    road.stall();
    let stalled = Instant::now();
    let accepting = join_all(visitors.iter().enumerate().map(|(number, visitor)| {
        // With and without an id of the choice.
        let choice = json!(format!("0190d9d4-9b6a-7c3e-8a55-{number:012}"));
        let body = site.acceptance(visitor);
        let body = if number % 2 == 0 { with(&body, "choice_id", choice) } else { body };
        let there = &there;
        async move { there.record(&body).await }
    }));
    let path = format!("/v1/consent/check?pixel_id={}&visitor_id=first", site.pixel_id);
    let (answers, health, check) = tokio::join!(accepting, there.get("/healthz"), there.get(&path));
    assert!(stalled.elapsed() < TAG_TIMEOUT, "{:?}", stalled.elapsed());
    health.refused(503, "database unavailable");
    check.refused(503, "database unavailable");
    for answer in &answers {
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(answer.header("retry-after").is_some());
    }
    let declining = visitors.iter().map(|visitor| {
        let (body, here) = (site.refusal(visitor, "declined"), &here);
        async move { here.recorded(&body).await }
    });
    join_all(declining).await;
    road.mend();
    nothing_is_being_recorded(&here).await;
    recovers(&there, &site).await;
    assert_eq!(permitted(&here, &site, &visitors).await, 0);
    let late = "SELECT count(*) FROM consent_receipts WHERE consent_state = 'accepted'";
    let late = sqlx::query_scalar::<_, i64>(late).fetch_one(&here.pool).await.unwrap();
    assert_eq!(late, 0);
    there.get("/healthz").await.expect(200);
}

/// The nodes of a plan that look at the clock.
fn clock_watchers(plan: &Value, found: &mut Vec<String>) {
    if plan["Filter"].as_str().is_some_and(|filter| filter.contains("clock_timestamp")) {
        found.push(plan["Node Type"].as_str().unwrap_or_default().to_owned());
    }
    for part in plan["Plans"].as_array().into_iter().flatten() {
        clock_watchers(part, found);
    }
}

#[tokio::test]
async fn the_database_looks_at_its_clock_row_by_row_when_all_else_has_been_waited_for() {
    // Not on a cluster: it reads the plan of one server.
    if !workers().is_empty() {
        return;
    }
    let statements = described_statements().into_iter().filter_map(|described| {
        let query = described["query"].as_str()?.to_owned();
        let arguments = described["describe"]["parameters"]["Left"].as_array()?.len();
        query.contains("INSERT INTO consent_receipts").then_some((query, arguments))
    });
    let statements = statements.collect::<Vec<_>>();
    assert_eq!(statements.len(), 4, "with and without a log, with and without endpoints");
    let app = App::spawn().await;
    for (statement, arguments) in statements {
        let mut connection = app.pool.acquire().await.unwrap().detach();
        let nulls = vec!["NULL"; arguments].join(",");
        let asked = format!(
            "SET plan_cache_mode = force_generic_plan; PREPARE storing AS {statement};
             CREATE FUNCTION pg_temp.plan() RETURNS json LANGUAGE plpgsql AS $$
             DECLARE found json;
             BEGIN EXECUTE 'EXPLAIN (FORMAT JSON) EXECUTE storing({nulls})' INTO found; RETURN found; END $$",
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(asked)).execute(&mut connection).await.unwrap();
        let plan = sqlx::query_scalar::<_, Value>("SELECT pg_temp.plan()");
        let plan = plan.fetch_one(&mut connection).await.unwrap();
        let mut found = Vec::new();
        clock_watchers(&plan[0]["Plan"], &mut found);
        // Above the sorting of the rows, which is above the question whether they may be recorded.
        assert_eq!(found, ["Subquery Scan"], "{plan:#}");
    }
}

#[tokio::test]
async fn a_yes_that_is_held_up_for_a_moment_is_recorded_once_however_often_it_is_sent() {
    let (here, there, road, site) = scene().await;
    let choice = json!("0190d9d4-9b6a-7c3e-8a55-0123456789ab");
    let body = with(&site.acceptance("ann"), "choice_id", choice);
    road.stall();
    let meanwhile = async {
        // The request is under way after this time.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let first = here.recorded(&body).await;
        road.mend();
        first
    };
    let (held_up, first) = tokio::join!(there.record(&body), meanwhile);
    assert_eq!(held_up.expect(202)["receipt_id"], first["receipt_id"]);
    assert_eq!(permitted(&here, &site, &["ann".to_owned()]).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_stuck_holds_up_no_other_check() {
    let (_here, there, road, site) = scene().await;
    // One reader has a connection now, and the other one's turn is next.
    there.check(&site.pixel_id, "first").await;
    road.lose();
    let path = format!("/v1/consent/check?pixel_id={}&visitor_id=first", site.pixel_id);
    let mut stuck = 0;
    for _ in 0..8 {
        let asked = tokio::time::timeout(Duration::from_millis(1_500), there.get(&path)).await;
        match asked {
            Ok(answer) => assert_eq!(answer.expect(200)["reason"], "declined_or_withdrawn"),
            Err(_) => stuck += 1,
        }
    }
    // On a cluster a check may take three connections, one after the other: settings, which part of the tables,
    // the receipt.
    let connections = if workers().is_empty() { 1 } else { 3 };
    assert!(stuck <= connections, "{stuck} of 8 checks were held up");
}

/// Runs a command on the database of the service.
async fn operate(app: &App, arguments: &[&str]) -> String {
    let mut command = program(&app.database.url);
    command.args(arguments);
    let (code, output, complaint) = said(&run(command).await);
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{arguments:?}");
    output
}

async fn receipts_of(app: &App, visitor: &str) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM consent_receipts WHERE visitor_id = $1")
        .bind(visitor)
        .fetch_one(&app.pool)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_choice_on_its_way_while_its_account_is_erased_is_not_stored_afterwards() {
    let (here, there, road, site) = scene().await;
    let (owner,) =
        sqlx::query_as::<_, (String,)>("SELECT account_id FROM pixels WHERE pixel_id = $1")
            .bind(&site.pixel_id)
            .fetch_one(&here.pool)
            .await
            .unwrap();
    road.stall();
    let erasing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let erased = operate(&here, &["erase-account", &owner]).await;
        road.mend();
        erased
    };
    let body = site.acceptance("late");
    let (answer, erased) = tokio::join!(there.record(&body), erasing);
    assert!(erased.contains("receipts: 1\n"), "{erased}");
    assert_eq!(answer.status, 503, "{}", answer.text);
    nothing_is_being_recorded(&here).await;
    assert_eq!(receipts_of(&here, "late").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_waits_for_the_choice_that_is_just_being_stored_and_takes_it_along() {
    // Not on a cluster: it looks at the locks of one server.
    if !workers().is_empty() {
        return;
    }
    let app = App::spawn().await;
    let ann = app.account("ann@stalls.example").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let choice = json!("0190d9d4-9b6a-7c3e-8a55-0123456789ab");
    let body = with(&site.acceptance("slow"), "choice_id", choice);
    app.recorded(&body).await;
    // While its first receipt is being deleted, the same choice waits to learn what becomes of it.
    let mut deleting = app.pool.begin().await.unwrap();
    sqlx::query("DELETE FROM consent_receipts").execute(&mut *deleting).await.unwrap();
    let waiting = async {
        let asked =
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'";
        while sqlx::query_scalar::<_, i64>(asked).fetch_one(&app.pool).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let id = &*ann.account_id;
        let command = ["erase-account", id];
        let erasing = operate(&app, &command);
        let letting_go = async {
            let asked = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'";
            while sqlx::query_scalar::<_, i64>(asked).fetch_one(&app.pool).await.unwrap() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            deleting.commit().await.unwrap();
        };
        tokio::join!(erasing, letting_go).0
    };
    let (answer, erased): (Answer, String) = tokio::join!(app.record(&body), waiting);
    answer.expect(202);
    assert!(erased.contains("receipts: 1\n"), "{erased}");
    assert_eq!(receipts_of(&app, "slow").await, 0);
}

#[tokio::test]
async fn choices_that_are_refused_in_an_outage_are_counted() {
    let (_here, there, road, site) = scene().await;
    road.cut();
    let refused = there.record(&site.refusal("second", "declined")).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    // The caller may give up a moment before the writer does, which counts.
    let counted = "assent_receipts_refused_total 1\n";
    let is_counted = async || there.metrics.scrape().unwrap().contains(counted);
    wait_until("the refused choice is counted", is_counted).await;
}
