//! After a restore that lost signed entries the log goes on under another name, at another address.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::proof::format::policy::TrustPolicy;
use assent::proof::verifying;
use reqwest::Method;
use sqlx::query_scalar;

use crate::support::App;
use crate::support::consent::shop;
use crate::support::postgres::database::TestDatabase;
use crate::support::server::start_of_time;
use crate::support::transparency_log::log::{LOG_KEY, PublicLog};
use crate::support::transparency_log::witnesses::{Witness, policy_file};

/// A node that keeps the last checkpoint in a folder.
async fn node(there: Option<&App>, folder: &Path, settings: &[(&str, &str)]) -> App {
    let (database, clock) = match there {
        Some(app) => (Arc::clone(&app.database), app.clock.clone()),
        None => (Arc::new(TestDatabase::create().await), Clock::manual(start_of_time())),
    };
    let file = folder.join("log-checkpoint");
    let state = [("LOG_STATE", file.to_str().unwrap())];
    let settings = [settings, &state[..]].concat();
    App::spawn_on(database, clock, &settings).await
}

const TABLES: [&str; 5] =
    ["publications", "log_head", "log_tiles", "log_published", "log_memories"];

async fn in_all_tables(app: &App, statement: impl Fn(&str) -> String) {
    for table in TABLES {
        let statement = sqlx::AssertSqlSafe(statement(table));
        sqlx::raw_sql(statement).execute(&app.pool).await.unwrap();
    }
}

async fn signed(app: &App) -> String {
    let note = query_scalar("SELECT checkpoint FROM log_head");
    note.fetch_one(&app.pool).await.unwrap()
}

async fn is_all_added(app: &App) -> bool {
    let waiting = "SELECT count(*) FROM publications WHERE entry IS NULL";
    query_scalar::<_, i64>(waiting).fetch_one(&app.pool).await.unwrap() == 0
}

fn is_stopped(app: &App) -> bool {
    app.metrics.scrape().unwrap().contains("assent_log_stopped 1")
}

/// The second log, as soon as all that waits is in it.
async fn second_log(app: &App) -> PublicLog {
    for _ in 0..150 {
        let log = PublicLog::read_at(&app.client, &app.base, "/log/2").await;
        if let Some(log) = log
            && is_all_added(app).await
        {
            return log;
        }
        app.clock.advance(chrono::Duration::seconds(10));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("it never goes on");
}

#[tokio::test]
async fn after_a_loss_it_goes_on_under_another_name_from_what_was_signed_last() {
    let (folder, policies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let witness = Witness::start("w.one", &Clock::manual(start_of_time())).await;
    let policy = policy_file(policies.path(), &format!("{}quorum none\n", witness.line()));
    let first = [LOG_KEY, ("LOG_WITNESSES", &*policy)];
    let second = [LOG_KEY, ("LOG_WITNESSES", &*policy), ("LOG_NUMBER", "2")];
    let app = node(None, folder.path(), &first).await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("v-1")).await;
    let early = app.proof(&site, "v-1").await;
    let early_policy = app.get("/log/policy").await.text;
    app.until(async || is_all_added(&app).await).await;
    in_all_tables(&app, |table| format!("CREATE TABLE kept_{table} AS TABLE {table}")).await;
    let kept = signed(&app).await;
    app.publish_many(0, 300).await;
    let lost = app.log_with(|log| log.entries.len() > 300).await;
    let lost = lost.note.split_inclusive('\n').take(5).collect::<String>();
    let file = folder.path().join("log-checkpoint");
    app.until(async || std::fs::read_to_string(&file).unwrap() == lost).await;

    let there = app.another_node(&[]).await;
    app.end().await;
    in_all_tables(&there, |table| {
        format!("DELETE FROM {table}; INSERT INTO {table} TABLE kept_{table}")
    })
    .await;
    there.publish_many(1_000, 20).await;
    let app = node(Some(&there), folder.path(), &second).await;
    let log = second_log(&app).await;
    assert!(!is_stopped(&app));
    let size = kept.lines().nth(1).unwrap().parse::<usize>().unwrap();
    assert_eq!(
        crate::support::transparency_log::log::root(&log.leaves[..size]),
        kept.lines().nth(2).unwrap()
    );
    assert_eq!(log.entries[size], format!("assent/continuation/v1\n{lost}"));
    let continuations = log.entries.iter().filter(|entry| entry.contains("/continuation/"));
    assert_eq!((continuations.count(), log.entries.len() > size + 20), (1, true));
    app.until(async || witness.has_cosigned(&app.get("/log/2/checkpoint").await.text)).await;

    // The addresses of the first log serve nothing of another.
    for path in ["/log/checkpoint", "/log/tile/0/000", "/log/tile/entries/000", "/log/1/checkpoint"]
    {
        assert_eq!(app.get(path).await.status, 404, "{path}");
    }
    for path in ["/log/2/policy", "/log/02/checkpoint", "/log/3/checkpoint", "/log/2/tile/0/900"] {
        app.get(path).await.refused(404, "not in the log");
    }
    let policy = app.get("/log/policy").await.text;
    let line = policy.lines().next().unwrap();
    assert!(line.starts_with("log localhost/log/2+") && line.ends_with("/log/2"), "{line}");
    let asked = app.client.request(Method::OPTIONS, format!("{}/log/2/checkpoint", app.base));
    assert_eq!(asked.send().await.unwrap().status(), 204);

    // Choices from before the loss are proved by both logs, each with its own policy.
    app.recorded(&site.refusal("v-2", "declined")).await;
    for visitor in ["v-1", "v-2"] {
        let proof = app.proof(&site, visitor).await;
        assert!(proof.checkpoint().starts_with("localhost/log/2\n"));
        let verdict =
            verifying::verify(&proof.text, &TrustPolicy::trusting(&policy).unwrap(), None);
        assert!(verdict.valid, "{visitor}: {:?}", verdict.sentences);
    }
    for (trusted, is_valid) in [(&early_policy, true), (&policy, false)] {
        let verdict =
            verifying::verify(&early.text, &TrustPolicy::trusting(trusted).unwrap(), None);
        assert_eq!(verdict.valid, is_valid, "{:?}", verdict.sentences);
    }
}

#[tokio::test]
async fn a_node_that_knows_the_first_name_only_adds_nothing_to_the_second() {
    let app = App::spawn_on(
        Arc::new(TestDatabase::create().await),
        Clock::manual(start_of_time()),
        &[LOG_KEY, ("LOG_NUMBER", "2")],
    )
    .await;
    app.until(async || is_all_added(&app).await && !signed(&app).await.is_empty()).await;
    // Where nothing was signed before, there is nothing to go on from.
    let log = second_log(&app).await;
    assert!(!log.entries.iter().any(|entry| entry.contains("/continuation/")));
    let before = signed(&app).await;
    let there = app.another_node(&[]).await;
    app.end().await;
    there.publish_many(0, 5).await;
    let late = there.another_node(&[LOG_KEY]).await;
    late.until(async || is_stopped(&late)).await;
    late.some_rounds().await;
    assert_eq!(signed(&late).await, before);
    assert!(!is_all_added(&late).await);
}
