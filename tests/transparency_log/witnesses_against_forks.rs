//! Nothing is signed against a checkpoint that a witness has seen, after any loss of data.

use std::time::Duration;

use nix::sys::signal::Signal;
use sqlx::{query, query_scalar};

use super::witnesses::{Scene, is_stopped};
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::client;
use crate::support::transparency_log::log::{LOG_KEY, PUBLISH_MANY, PublicLog, parse};
use crate::support::transparency_log::witnesses::{
    Mode, has_cosigned, hash_of, policy_file, process_cosigner, witness_process,
};
use crate::support::{Answer, App, Process};

/// The log's tables are put aside, or brought back as they were.
const TABLES: [&str; 4] = ["publications", "log_head", "log_tiles", "log_published"];

async fn back_up(app: &App, name: &str) {
    for table in TABLES {
        let copy = format!("CREATE TABLE {name}_{table} AS TABLE {table}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(copy)).execute(&app.pool).await.unwrap();
    }
}

async fn restore(app: &App, name: &str) {
    for table in TABLES {
        let copy = format!("DELETE FROM {table}; INSERT INTO {table} TABLE {name}_{table}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(copy)).execute(&app.pool).await.unwrap();
    }
}

async fn signed(app: &App) -> String {
    let note = query_scalar("SELECT checkpoint FROM log_head");
    note.fetch_one(&app.pool).await.unwrap()
}

#[tokio::test]
async fn a_node_without_state_never_signs_against_a_checkpoint_that_a_witness_has_seen() {
    let mut scene = Scene::with(&["w.one"], "quorum none").await;
    scene.cosigned_by(&[0]).await;
    back_up(&scene.app, "old").await;
    scene.app.publish_many(0, 10).await;
    let newest = scene.cosigned_by(&[0]).await;
    back_up(&scene.app, "new").await;
    // The node that signed it ends, and an old backup is brought back.
    let there = scene.app.another_node(&[]).await;
    std::mem::replace(&mut scene.app, there).end().await;
    restore(&scene.app, "old").await;
    let restored = signed(&scene.app).await;
    scene.app.publish_many(100, 50).await;
    let started = scene.another_node().await;
    started.until(async || is_stopped(&started)).await;
    started.some_rounds().await;
    assert!(is_stopped(&started));
    assert_eq!(signed(&started).await, restored);
    assert_eq!(parse(&scene.witnesses[0].last().unwrap()), parse(&newest));
    // The signed state is restored, and the log continues from there by itself.
    restore(&scene.app, "new").await;
    scene.app.publish_many(200, 5).await;
    let log = started.log_with(|log| log.entries.len() > parse(&newest).0).await;
    log.assert_extends(&newest);
    assert!(!is_stopped(&started));
}

#[tokio::test]
async fn another_root_of_the_same_size_is_not_signed_either() {
    let mut scene = Scene::with(&["w.one"], "quorum none").await;
    scene.cosigned_by(&[0]).await;
    back_up(&scene.app, "old").await;
    scene.app.publish_many(0, 10).await;
    let newest = scene.cosigned_by(&[0]).await;
    let there = scene.app.another_node(&[]).await;
    std::mem::replace(&mut scene.app, there).end().await;
    restore(&scene.app, "old").await;
    // Somebody without witnesses goes on, up to the same size.
    scene.app.publish_many(100, 10).await;
    let careless = scene.app.another_node(&[LOG_KEY]).await;
    careless.until(async || scene.waiting().await == 0).await;
    careless.end().await;
    assert_eq!(parse(&signed(&scene.app).await).0, parse(&newest).0);
    let forked = signed(&scene.app).await;
    scene.app.publish_many(200, 10).await;
    let started = scene.another_node().await;
    started.until(async || is_stopped(&started)).await;
    started.some_rounds().await;
    assert_eq!(signed(&started).await, forked);
    assert_eq!(parse(&scene.witnesses[0].last().unwrap()), parse(&newest));
}

#[tokio::test]
async fn a_node_without_state_waits_for_a_witness_and_accepts_one_that_has_no_checkpoint() {
    let scene = Scene::with_modes(&["w.one"], "quorum none", &[(0, Mode::Away)]).await;
    scene.app.until(async || is_stopped(&scene.app)).await;
    scene.app.some_rounds().await;
    assert_eq!(signed(&scene.app).await, "");
    scene.witnesses[0].behave(Mode::Closed);
    scene.cosigned_by(&[0]).await;
    assert!(!is_stopped(&scene.app));
    // A node that starts now is told that there is more than it knows.
    let before = signed(&scene.app).await;
    scene.witnesses[0].behave(Mode::Claims(1 << 30));
    let started = scene.another_node().await;
    started.until(async || is_stopped(&started)).await;
    // The one that runs has signed all that it knows of, and goes on.
    scene.app.publish_many(0, 10).await;
    scene.cosigned_by(&[]).await;
    assert_ne!(signed(&scene.app).await, before);
    assert!(is_stopped(&started) && !is_stopped(&scene.app));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_that_add_at_the_same_time_have_one_log_cosigned() {
    let scene = Scene::with(&["w.one", "w.two"], "quorum none").await;
    let there = scene.another_node().await;
    let mut notes = Vec::<String>::new();
    for round in 0..4 {
        scene.app.publish_many(round * 1_000, 700).await;
        let note = scene.cosigned_by(&[0, 1]).await;
        let log = there.log_with(|log| log.entries.len() >= parse(&note).0).await;
        notes.iter().chain([&note]).for_each(|note| log.assert_extends(note));
        notes.push(note);
    }
    assert!(!is_stopped(&scene.app) && !is_stopped(&there));
}

/// Waits until the log is shown whole, with the cosignature of the process.
async fn cosigned_log(service: &Process, entries: usize) -> PublicLog {
    let client = client();
    for _ in 0..900 {
        let log = PublicLog::read(&client, &service.base).await;
        let log = log.filter(|log| log.entries.len() >= entries);
        if let Some(log) = log.filter(|log| has_cosigned(&process_cosigner(), &log.note)) {
            return log;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never cosigned with {entries}: {}", service.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_around_a_cosignature_it_goes_on_with_one_log() {
    let (database, folder) = (TestDatabase::create().await, tempfile::tempdir().unwrap());
    let (pool, client) = (database.pool(), client());
    let witness = witness_process(folder.path()).await;
    let line = format!("witness w {} {}\nquorum w\n", process_cosigner(), witness.base);
    let policy = policy_file(folder.path(), &line);
    let start = || {
        let mut command = program(&database.url);
        command.env(LOG_KEY.0, LOG_KEY.1).env("LOG_WITNESSES", &policy);
        Process::start(command)
    };
    let mut notes = Vec::<String>::new();
    for kill in 0..6_u64 {
        let number = i32::try_from(kill).unwrap() * 3_000;
        query(PUBLISH_MANY).bind(number).bind(3_000).execute(&pool).await.unwrap();
        let mut service = start().await;
        tokio::time::sleep(Duration::from_millis(70 * kill)).await;
        service.send(Signal::SIGKILL);
        service.exit_code().await;
        let path = format!("/{}/checkpoint", hash_of("localhost/log"));
        let seen = Answer::of(client.get(witness.url(&path))).await;
        notes.extend((seen.status == 200).then_some(seen.text));
        let shown = query_scalar::<_, String>("SELECT checkpoint FROM log_published");
        let shown = shown.fetch_one(&pool).await.unwrap();
        notes.extend(Some(shown).filter(|note| !note.is_empty()));
    }
    let service = start().await;
    let log = cosigned_log(&service, 18_000).await;
    notes.iter().for_each(|note| log.assert_extends(note));
}
