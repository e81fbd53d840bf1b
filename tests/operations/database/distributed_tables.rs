//! Recording and checking with the statements for distributed tables.
//!
//! It is asked of any PostgreSQL that has the table in which Citus keeps what is spread; here that table
//! is empty, and everything lies in one place. `make test-cluster` asks a real cluster.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::clock::Clock;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{PgPool, Postgres, Transaction, query_scalar};

use crate::support::postgres::cluster::workers;
use crate::support::postgres::database::{TestDatabase, statements_that_wait};
use crate::support::server::start_of_time;
use crate::support::sites::https_site::Reply;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::with;
use crate::support::webhooks::Hooks;
use crate::support::{Answer, App};

async fn distributed_database() -> Arc<TestDatabase> {
    let database = Arc::new(TestDatabase::create().await);
    if workers().is_empty() {
        let marker = "CREATE TABLE pg_dist_partition (logicalrelid regclass)";
        sqlx::query(marker).execute(&database.pool()).await.unwrap();
    }
    database
}

async fn distributed_app() -> App {
    App::spawn_on(distributed_database().await, Clock::manual(start_of_time()), &[]).await
}

async fn scene() -> (App, String, Site) {
    let app = distributed_app().await;
    let key = app.account("ann@spread.example").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    (app, key, site)
}

fn choice(number: usize) -> Value {
    json!(format!("0190d9d4-9b6a-7c3e-8a55-{number:012}"))
}

#[tokio::test]
async fn a_check_answers_the_choice_that_was_recorded_last() {
    let (app, key, site) = scene().await;
    app.add_alias(&site.pixel_id, "till").await;
    assert_eq!(app.check(&site.pixel_id, "visitor").await["reason"], "no_consent_record");
    let yes = app.recorded(&site.acceptance("visitor")).await;
    for name in [site.pixel_id.as_str(), "till"] {
        let found = app.check(name, "visitor").await;
        assert_eq!((&found["reason"], &found["receipt_id"]), (&json!("ok"), &yes["receipt_id"]));
        assert_eq!(found["expires_at"], "2026-09-08T12:00:00.000Z");
    }
    app.recorded(&site.refusal("visitor", "withdrawn")).await;
    assert_eq!(app.check("till", "visitor").await["reason"], "declined_or_withdrawn");
    assert_eq!(app.check("nowhere", "visitor").await["reason"], "no_consent_record");
    app.recorded(&site.acceptance("visitor")).await;
    app.reconfigured(&key, &site, "Another Ltd").await;
    assert_eq!(app.check("till", "visitor").await["reason"], "policy_version_stale");
    app.turn_consent_off(&site.pixel_id).await;
    assert_eq!(app.check("till", "visitor").await["reason"], "consent_off");
}

#[tokio::test]
async fn a_receipt_of_an_older_node_ends_by_the_days_of_its_policy() {
    let (app, _, site) = scene().await;
    app.recorded(&site.acceptance("visitor")).await;
    let of_before = "UPDATE consent_receipts SET expires_at = NULL";
    sqlx::query(of_before).execute(&app.pool).await.unwrap();
    let ends = async || app.check(&site.pixel_id, "visitor").await["expires_at"].clone();
    assert_eq!(ends().await, "2026-09-08T12:00:00.000Z");
    let days = "UPDATE consent_policies SET consent_days = 30";
    sqlx::query(days).execute(&app.pool).await.unwrap();
    assert_eq!(ends().await, "2026-04-09T12:00:00.000Z");
    app.clock.advance(chrono::Duration::days(30));
    assert_eq!(app.check(&site.pixel_id, "visitor").await["permitted"], false);
}

/// Nobody can write receipts until this ends.
async fn locked(pool: &PgPool) -> Transaction<'static, Postgres> {
    let mut lock = pool.begin().await.unwrap();
    let locking = "LOCK TABLE consent_receipts IN EXCLUSIVE MODE";
    sqlx::query(locking).execute(&mut *lock).await.unwrap();
    lock
}

/// Nobody says any more that they record: whoever erases an account is not held up.
async fn nobody_records(app: &App) {
    let none = "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid::bigint IN (173400344, 11258999068426 >> 32)";
    for _ in 0..100 {
        if query_scalar::<_, bool>(none).fetch_one(&app.pool).await.unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("somebody still records");
}

/// The answers to choices of one part of the tables, which are written together: they wait for `first`, and
/// that for a lock.
async fn written_together(app: &App, first: &Value, bodies: &[Value]) -> Vec<Answer> {
    let lock = locked(&app.pool).await;
    let waits = async || statements_that_wait(&app.pool, "INSERT INTO consent_receipts").await > 0;
    let others = async {
        until(waits).await;
        join_all(bodies.iter().map(|body| app.record(body))).await
    };
    let release = async {
        until(waits).await;
        until(async || app.receipts_that_wait() == bodies.len()).await;
        lock.rollback().await.unwrap();
    };
    let (first, answers, ()) = tokio::join!(app.record(first), others, release);
    first.expect(202);
    answers
}

async fn until(mut it_is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..300 {
        if it_is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it does not come to that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_choice_that_the_database_refuses_fails_none_that_is_written_with_it() {
    let (app, key, site) = scene().await;
    let refuse = "ALTER TABLE consent_receipts ADD CONSTRAINT refused CHECK (visitor_id <> 'no-1')";
    sqlx::query(refuse).execute(&app.pool).await.unwrap();
    let visitors = ["yes-1", "yes-2", "no-1", "yes-3"];
    let bodies = visitors.map(|visitor| site.acceptance(visitor));
    let answers = written_together(&app, &site.acceptance("first"), &bodies).await;
    let statuses = answers.iter().map(|answer| answer.status).collect::<Vec<_>>();
    assert_eq!(statuses, [202, 202, 500, 202]);
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 4);
    nobody_records(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn choices_are_stored_however_many_are_written_together_and_however_often() {
    let (app, _, site) = scene().await;
    // The statement for up to 32 is kept, that for more is not; PostgreSQL may plan one that is kept otherwise
    // after five times.
    let sizes = [1, 2, 31, 32, 33, 40, 32, 33, 3, 3, 3, 3, 3, 3, 3];
    for (nth, size) in sizes.into_iter().enumerate() {
        let bodies = (0..size).map(|number| match number % 3 {
            0 => site.refusal(&format!("visitor-{nth}-{number}"), "declined"),
            _ => site.acceptance(&format!("visitor-{nth}-{number}")),
        });
        let bodies = bodies.collect::<Vec<_>>();
        let first = site.acceptance(&format!("visitor-{nth}"));
        let answers = written_together(&app, &first, &bodies).await;
        assert!(answers.iter().all(|answer| answer.status == 202), "{size}: {answers:?}");
        // Each has its own receipt.
        for (number, answer) in answers.into_iter().enumerate() {
            let check = app.check(&site.pixel_id, &format!("visitor-{nth}-{number}")).await;
            assert_eq!(check["receipt_id"], answer.expect(202)["receipt_id"], "{size}");
            assert_eq!(check["permitted"], number % 3 != 0, "{size}");
        }
    }
    let stored = "SELECT count(*) FROM consent_receipts";
    let stored = query_scalar::<_, i64>(stored).fetch_one(&app.pool).await.unwrap();
    assert_eq!(stored as usize, sizes.len() + sizes.iter().sum::<usize>());
}

#[tokio::test]
async fn a_choice_that_is_sent_again_gets_its_first_receipt() {
    let (app, key, site) = scene().await;
    let sent = with(&site.acceptance("visitor"), "choice_id", choice(1));
    let first = app.recorded(&sent).await;
    assert_eq!(app.recorded(&sent).await["receipt_id"], first["receipt_id"]);
    // Also when both come at once, beside one that is new.
    let other = with(&site.acceptance("other"), "choice_id", choice(2));
    let all = join_all([&sent, &other, &sent, &other].map(|body| app.recorded(body))).await;
    assert_eq!(all[0]["receipt_id"], first["receipt_id"]);
    assert_eq!(all[2]["receipt_id"], first["receipt_id"]);
    assert_eq!(all[1]["receipt_id"], all[3]["receipt_id"]);
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 2);
}

#[tokio::test]
async fn every_pixel_keeps_the_order_in_which_its_choices_came() {
    let (app, _, first) = scene().await;
    let mut sites = vec![first];
    let owner = app.unlimited_account("bob@spread.example").await;
    for number in 1..4 {
        sites.push(app.consent_site(&owner.key, &format!("shop-{number}.example")).await);
    }
    let many = sites.iter().flat_map(|site| {
        let app = &app;
        (0..20).map(move |number| async move {
            app.recorded(&site.acceptance(&format!("visitor-{number}"))).await
        })
    });
    join_all(many).await;
    for site in &sites {
        let permitted = join_all((0..20).map(|number| {
            let (app, site) = (&app, &site);
            async move { app.check(&site.pixel_id, &format!("visitor-{number}")).await }
        }));
        assert!(permitted.await.iter().all(|check| check["permitted"] == true));
        app.recorded(&site.refusal("visitor-0", "withdrawn")).await;
        let newest = app.check(&site.pixel_id, "visitor-0").await;
        assert_eq!(newest["reason"], "declined_or_withdrawn");
    }
    let stored = "SELECT count(*) FROM consent_receipts";
    let stored = query_scalar::<_, i64>(stored).fetch_one(&app.pool).await.unwrap();
    assert_eq!(stored, 4 * 21);
}

#[tokio::test]
async fn nothing_is_recorded_for_an_account_that_is_suspended_elsewhere() {
    let (app, _, site) = scene().await;
    app.recorded(&site.acceptance("before")).await;
    // Without news of it: the node may still have the site in memory.
    let suspend = "UPDATE accounts SET status = 'suspended', suspended_from = 'active'";
    sqlx::query(suspend).execute(&app.pool).await.unwrap();
    assert_ne!(app.record(&site.acceptance("after")).await.status, 202);
    nobody_records(&app).await;
    assert_eq!(app.check(&site.pixel_id, "after").await["reason"], "no_consent_record");
}

/// The columns of a choice, without those that differ between choices.
async fn rows(app: &App) -> Vec<Value> {
    let rows =
        "SELECT to_jsonb(receipt) - 'seq' - 'receipt_id' - 'pixel_id' - 'signature' - 'policy_hash'
            || jsonb_build_object('signature', octet_length(signature))
        FROM consent_receipts AS receipt ORDER BY visitor_id, consent_state";
    query_scalar(rows).fetch_all(&app.pool).await.unwrap()
}

#[tokio::test]
async fn both_forms_write_the_same_rows_and_notify_the_same_endpoints() {
    let mut written = Vec::new();
    for app in [distributed_app().await, App::spawn().await] {
        let key = app.account("ann@spread.example").await.key;
        let site = app.consent_site(&key, "shop.example").await;
        let endpoint = json!({"url": "https://hooks.example/a"});
        app.call(Method::POST, "/v1/webhooks", &key, endpoint).await.expect(201);
        let shown = json!({"language": "de", "notice": "0".repeat(64)});
        let yes = with(&site.acceptance("yes"), "choice_id", choice(3));
        app.recorded(&with(&yes, "shown", shown)).await;
        app.recorded(&yes).await;
        app.recorded(&site.refusal("no", "declined")).await;
        let kinds = "SELECT kind || ' ' || (subject -> 'seq' IS NOT NULL) FROM webhook_deliveries
            WHERE pixel_id = $1 AND kind = 'choice.recorded' ORDER BY seq";
        let kinds = query_scalar::<_, String>(kinds).bind(&site.pixel_id);
        written.push((rows(&app).await, kinds.fetch_all(&app.pool).await.unwrap()));
    }
    assert_eq!(written[0].0.len(), 2);
    assert_eq!(written[0].1.len(), 2);
    assert_eq!(written[0], written[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_choices_that_are_written_together_each_keeps_what_was_shown_with_it() {
    for logged in [false, true] {
        let settings = if logged { &[LOG_KEY][..] } else { &[] };
        let clock = Clock::manual(start_of_time());
        let app = App::spawn_on(distributed_database().await, clock, settings).await;
        let key = app.account("ann@spread.example").await.key;
        let site = app.consent_site(&key, "shop.example").await;
        let body = |visitor: &str| match visitor.split_once('-') {
            Some((language, _)) => {
                with(&site.acceptance(visitor), "shown", json!({"language": language}))
            }
            None => site.refusal(visitor, "declined"),
        };
        // None of the first two has what others have.
        let bodies = ["never", "no", "de-1", "fr-1", "de-2"].map(body);
        let answers = written_together(&app, &body("first"), &bodies).await;
        assert!(answers.iter().all(|answer| answer.status == 202), "{answers:?}");
        let kept = "SELECT visitor_id, shown_language, salt IS NOT NULL AND log_batch IS NOT NULL
            FROM consent_receipts ORDER BY visitor_id";
        let kept = sqlx::query_as::<_, (String, Option<String>, bool)>(kept);
        let expected = [
            ("de-1", Some("de")),
            ("de-2", Some("de")),
            ("first", None),
            ("fr-1", Some("fr")),
            ("never", None),
            ("no", None),
        ];
        let expected =
            expected.map(|(visitor, shown)| (visitor.to_owned(), shown.map(str::to_owned), logged));
        assert_eq!(kept.fetch_all(&app.pool).await.unwrap(), expected);
        assert_eq!(app.check(&site.pixel_id, "de-2").await["reason"], "ok");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_is_answered_and_an_erasure_let_pass_before_endpoints_are_notified() {
    let hooks = Hooks::on(distributed_database().await, Clock::manual(start_of_time())).await;
    hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    let slowly = "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN PERFORM pg_sleep(2); RETURN NEW; END';
        CREATE TRIGGER slowly BEFORE UPDATE ON webhook_deliveries
            FOR EACH ROW WHEN (OLD.attempts = 0) EXECUTE FUNCTION slowly()";
    sqlx::raw_sql(slowly).execute(&hooks.infra.pool).await.unwrap();
    let begun = Instant::now();
    hooks.app.recorded(&hooks.shop.acceptance("visitor")).await;
    nobody_records(&hooks.app).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    hooks.arrived("hooks.example/a", 1).await;
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    // The operator sees it.
    let scrape = || hooks.infra.metrics.scrape().unwrap();
    let name = "assent_receipts_settling_duration_seconds_sum ";
    let settling = || scrape().lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    while settling().is_none_or(|seconds: f64| seconds < 2.0) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", scrape());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_notified_of_a_choice_that_is_stored_and_never_of_one_that_was_not() {
    let hooks = Hooks::on(distributed_database().await, Clock::manual(start_of_time())).await;
    let endpoint = hooks.webhook("hooks.example/a", Reply::page("ok")).await["endpoint_id"].clone();
    let choose = |number: usize| {
        let body = hooks.shop.acceptance(&format!("visitor-{number}"));
        with(&body, "choice_id", choice(number))
    };
    // While nobody can write receipts, a choice is refused, and nobody is told of it.
    let lock = locked(&hooks.infra.pool).await;
    assert_eq!(hooks.app.record(&choose(1)).await.status, 503);
    lock.rollback().await.unwrap();
    hooks.app.recorded(&choose(2)).await;
    nobody_records(&hooks.app).await;
    hooks.arrived("hooks.example/a", 1).await;
    // A repeat is no choice of its own.
    hooks.app.recorded(&choose(2)).await;
    hooks.app.clock.advance(chrono::Duration::seconds(61));
    hooks.infra.events.wake();
    hooks.settled(&endpoint).await;
    assert_eq!(hooks.numbers("hooks.example/a"), [2]);
    // The choice that was refused is sent again, and told like any other.
    hooks.app.recorded(&choose(1)).await;
    hooks.arrived("hooks.example/a", 2).await;
    assert_eq!(hooks.numbers("hooks.example/a"), [2, 1]);
}
