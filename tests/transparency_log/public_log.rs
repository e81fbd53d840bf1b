//! Publications come into the public log, which anybody can check and which is only appended to.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::DateTime;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{query, query_as, query_scalar};

use crate::support::App;
use crate::support::consent::shop;
use crate::support::server::{Answer, start_of_time};
use crate::support::story::Site;
use crate::support::transparency_log::log::{LOG_KEY, parse};
use crate::support::waiting::wait_until;

/// A choice whose tag says what it showed in this language; what is kept of that.
async fn shown(app: &App, key: &str, site: &Site, language: &str) -> Value {
    app.recorded_as_shown(site, language, language).await;
    app.log(key, &site.pixel_id).await[0]["shown"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[tokio::test]
async fn the_hashes_that_a_choice_keeps_are_in_the_log_and_nothing_of_whose_they_are() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = shop(&app).await;
    let shown = shown(&app, &key, &site, "de").await;
    let log = app.log_with(|log| log.has("notice", text(&shown["notice"]))).await;
    assert!(log.has("policy", &site.policy_hash));
    assert!(log.has("script", text(&shown["script"])));
    let published = log.entries.iter().filter(|entry| !entry.starts_with("assent/choices/v1\n"));
    for entry in published {
        let lines = entry.lines().collect::<Vec<_>>();
        let [version, kind, sha256, at] = lines[..] else { panic!("{entry}") };
        assert_eq!(version, "assent/publication/v1");
        assert!(["kind policy", "kind notice", "kind script"].contains(&kind), "{entry}");
        assert_eq!(hex::decode(&sha256["sha256 ".len()..]).unwrap().len(), 32);
        let at = DateTime::parse_from_rfc3339(at.strip_prefix("at ").unwrap()).unwrap();
        assert!(at >= start_of_time() && at <= app.clock.now(), "{entry}");
        assert!(entry.ends_with('\n') && !entry.contains(&site.pixel_id));
    }
}

#[tokio::test]
async fn a_notice_is_published_in_the_languages_in_which_it_is_read() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    let log = app.log_with(|log| log.has("policy", &site.policy_hash)).await;
    let path = format!("/v1/policy/{}?lang=fr", site.pixel_id);
    assert_eq!(app.get(&path).await.status, 200);
    let plain = app.request(Method::GET, &path).header("accept", "text/plain");
    let notice = sha256(&Answer::of(plain).await.text);
    assert!(!log.has("notice", &notice));
    let later = app.log_with(|log| log.has("notice", &notice)).await;
    assert_eq!(later.entries.len(), log.entries.len() + 1);
    later.assert_extends(&log.note);
}

fn sha256(text: &str) -> String {
    use sha2::Digest;
    hex::encode(sha2::Sha256::digest(text))
}

#[tokio::test]
async fn the_log_only_grows_and_only_when_something_new_is_published() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = shop(&app).await;
    let mut notes = vec![app.log_with(|log| log.has("policy", &site.policy_hash)).await.note];
    // The same text, once more and for another site.
    app.consent_site(&key, "other.example").await;
    let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    app.configure(&key, &site.pixel_id, body).await.expect(200);
    app.some_rounds().await;
    assert_eq!(app.get("/log/checkpoint").await.text, notes[0]);
    for number in 1..4 {
        let body = json!({"controller_name": format!("Shop {number}"), "purposes": ["analytics"]});
        let configured = app.configure(&key, &site.pixel_id, body).await.expect(200);
        let log = app.log_with(|log| log.has("policy", text(&configured["policy_hash"]))).await;
        assert_eq!(log.entries.len(), parse(notes.last().unwrap()).0 + 1);
        notes.iter().for_each(|note| log.assert_extends(note));
        notes.push(log.note);
    }
}

#[tokio::test]
async fn everything_has_one_address_and_answers_every_page() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    app.publish_many(0, 300).await;
    let log = app.log_with(|log| log.entries.len() > 300).await;
    let rest = log.entries.len() - 256;
    let tail = |kind: &str| format!("/log/tile/{kind}/001.p/{rest}");
    let text = ("text/plain; charset=utf-8", "public, max-age=5");
    let bytes = ("application/octet-stream", "public, max-age=31536000, immutable");
    let parts = [
        ("/log/checkpoint".to_owned(), text),
        ("/log/policy".to_owned(), text),
        ("/log/tile/entries/000".to_owned(), bytes),
        ("/log/tile/entries/000.p/7".to_owned(), bytes),
        (tail("entries"), bytes),
        ("/log/tile/0/000".to_owned(), bytes),
        ("/log/tile/0/000.p/255".to_owned(), bytes),
        (tail("0"), bytes),
        ("/log/tile/1/000.p/1".to_owned(), bytes),
    ];
    for (path, (kind, kept)) in &parts {
        for method in [Method::GET, Method::HEAD] {
            let answer =
                Answer::of(app.request(method, path).header("origin", "https://a.example"));
            let answer = answer.await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("content-type"), Some(*kind), "{path}");
            assert_eq!(answer.header("cache-control"), Some(*kept), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        }
        let asked = app.request(Method::OPTIONS, path).header("origin", "https://a.example");
        let asked = asked.header("access-control-request-method", "GET");
        assert_eq!(Answer::of(asked).await.header("access-control-allow-origin"), Some("*"));
    }
    let wider = format!("/log/tile/0/001.p/{}", rest + 1);
    let others = [
        "/log/tile/0/001",
        &wider,
        "/log/tile/0/002.p/1",
        "/log/tile/1/000",
        "/log/tile/1/000.p/2",
        "/log/tile/2/000.p/1",
        "/log/tile/0/000.p/0",
        "/log/tile/0/000.p/256",
        "/log/tile/0/0",
        "/log/tile/0/x000/000",
        "/log/tile/00/000",
        "/log/tile/64/000",
        "/log/tile/-1/000",
        "/log/tile/entries/001",
        "/log/tile/entries/1",
        "/log/tile/entries/..%2f000",
        "/log/tile/0/x999/x999/x999/x999/x999/999",
    ];
    for path in others {
        app.get(path).await.refused(404, "not in the log");
    }
    for path in ["/log/tile/0", "/log/tile", "/log/nothing"] {
        app.get(path).await.refused(404, "not in the log");
    }
    assert_eq!(app.get("/log").await.status, 200, "the page of consent logs");
}

#[tokio::test]
async fn without_a_key_there_is_no_log_and_with_one_later_nothing_is_missing() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for path in ["checkpoint", "policy", "tile/0/000.p/1", "tile/entries/000.p/1"] {
        app.get(&format!("/log/{path}")).await.refused(404, "no log is kept here");
    }
    let there = app.another_node(&[LOG_KEY]).await;
    let log = there.log_with(|log| log.has("policy", &site.policy_hash)).await;
    assert!(log.entries.iter().any(|entry| entry.contains("kind script")));
}

#[tokio::test]
async fn publications_of_an_older_node_are_found_within_an_hour() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    // Such a node leaves no note of it.
    let forgotten = query("DELETE FROM publications WHERE kind = 'policy' AND sha256 = $1");
    let forgotten = forgotten.bind(hex::decode(&site.policy_hash).unwrap());
    forgotten.execute(&app.pool).await.unwrap();
    query("INSERT INTO script_builds (build, sha256) VALUES ('older', sha256('older'))")
        .execute(&app.pool)
        .await
        .unwrap();
    app.clock.advance(chrono::Duration::hours(1));
    let is_later = |entry: &&str| entry.lines().nth(3) > Some("at 2026-03-10T13");
    app.log_with(|log| {
        let later = log.entries.iter().map(String::as_str).filter(is_later).collect::<String>();
        later.contains(&site.policy_hash) && later.contains(&sha256("older"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_that_add_at_the_same_time_make_one_log() {
    let here = App::spawn_with(&[LOG_KEY]).await;
    let there = here.another_node(&[LOG_KEY]).await;
    let mut notes = Vec::<String>::new();
    for round in 0..6 {
        here.publish_many(round * 1_000, 1_000).await;
        let most = usize::try_from(round + 1).unwrap() * 1_000;
        let reader = if round % 2 == 0 { &here } else { &there };
        let log = reader.log_with(|log| log.entries.len() > most).await;
        notes.iter().for_each(|note| log.assert_extends(note));
        notes.push(log.note);
    }
    let log = there.log_with(|log| log.entries.len() > 6_000).await;
    let hashes = log.entries.iter().map(|entry| entry.lines().nth(2)).collect::<BTreeSet<_>>();
    assert_eq!(hashes.len(), log.entries.len(), "nothing is in it twice");
    let numbers = "SELECT count(DISTINCT entry), max(entry) FROM publications";
    let (numbers, last) = query_as::<_, (i64, i64)>(numbers).fetch_one(&here.pool).await.unwrap();
    assert_eq!((numbers, last + 1), (numbers, numbers));
    assert_eq!(usize::try_from(numbers).unwrap(), log.entries.len());
}

#[tokio::test]
async fn another_key_signs_the_same_log() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let before = app.log_with(|log| !log.entries.is_empty()).await;
    let (settled, policy) = (app.clock.clone(), app.get("/log/policy").await.text);
    let database = Arc::clone(&app.database);
    app.end().await;
    let key = ("LOG_KEY", "00000000000000000000000000000000000000000000000000000000000000ff");
    let other = App::spawn_on(database, settled, &[key]).await;
    let is_signed_anew = async || other.get("/log/checkpoint").await.text != before.note;
    wait_until("the log is signed anew", is_signed_anew).await;
    let there = other.log_with(|log| !log.entries.is_empty()).await;
    there.assert_extends(&before.note);
    assert_ne!(other.get("/log/policy").await.text, policy);
}

/// The log's tables are put aside, or brought back as they were.
const TABLES: [&str; 5] =
    ["publications", "log_head", "log_tiles", "log_published", "log_memories"];

async fn back_up(app: &App) {
    for table in TABLES {
        let copy = format!("CREATE TABLE kept_{table} AS TABLE {table}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(copy)).execute(&app.pool).await.unwrap();
    }
}

async fn restore(app: &App) {
    for table in TABLES {
        let copy = format!("DELETE FROM {table}; INSERT INTO {table} TABLE kept_{table}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(copy)).execute(&app.pool).await.unwrap();
    }
}

async fn is_all_added(app: &App) -> bool {
    let waiting = "SELECT count(*) FROM publications WHERE entry IS NULL";
    query_scalar::<_, i64>(waiting).fetch_one(&app.pool).await.unwrap() == 0
}

fn is_stopped(app: &App) -> bool {
    app.metrics.scrape().unwrap().contains("assent_log_stopped 1")
}

#[tokio::test]
async fn a_database_from_a_backup_is_never_signed_in_a_second_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log-checkpoint");
    let spawn = async |app: Option<&App>| {
        let (database, clock) = match app {
            Some(app) => (Arc::clone(&app.database), app.clock.clone()),
            None => {
                let database = crate::support::postgres::database::TestDatabase::create().await;
                (Arc::new(database), assent::clock::Clock::manual(start_of_time()))
            }
        };
        App::spawn_on(database, clock, &[LOG_KEY, ("LOG_STATE", file.to_str().unwrap())]).await
    };
    let app = spawn(None).await;
    app.log_with(|log| !log.entries.is_empty()).await;
    app.until(async || is_all_added(&app).await).await;
    back_up(&app).await;
    app.publish_many(0, 10).await;
    app.until(async || is_all_added(&app).await).await;
    let signed = app.log_with(|log| log.entries.len() > 10).await;
    let kept = || std::fs::read_to_string(&file).unwrap();
    app.until(async || kept() == signed.note).await;
    restore(&app).await;
    app.publish_many(100, 500).await;
    // A node that runs on remembers, and one that starts finds the file.
    app.until(async || is_stopped(&app)).await;
    let started = spawn(Some(&app)).await;
    started.until(async || is_stopped(&started)).await;
    let (size, _) = parse(&started.get("/log/checkpoint").await.text);
    assert!(size < signed.entries.len(), "{size}: as the backup has it");
    // A node without a stored state learns it from the witnesses.
    let forgetful = app.another_node(&[LOG_KEY]).await;
    forgetful.until(async || is_stopped(&forgetful)).await;
    forgetful.some_rounds().await;
    assert!(!is_all_added(&forgetful).await);
    assert!(is_stopped(&started));
    assert_eq!(kept(), signed.note);
    let health = started.get("/healthz").await.expect(200);
    assert_eq!(health, json!({"ok": true, "log": "paused"}));
}

#[tokio::test]
async fn a_kind_of_a_newer_node_waits_and_the_rest_is_added() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let newer = "INSERT INTO publications (kind, sha256) VALUES ('newer', sha256('newer'))";
    query(newer).execute(&app.pool).await.unwrap();
    let (_, site) = shop(&app).await;
    app.log_with(|log| log.has("policy", &site.policy_hash)).await;
    let waiting = "SELECT kind FROM publications WHERE entry IS NULL";
    let waiting = async || query_scalar::<_, String>(waiting).fetch_all(&app.pool).await.unwrap();
    app.until(async || waiting().await == ["newer"]).await;
}
