//! A node of an older version works on beside one of this: during an upgrade both serve on the newest
//! schema. The older one is here as the statements that it sends, all of them, taken from its metadata
//! at schema 16 (`snapshots/statements_of_schema_16.json`).

use std::time::{Duration as RealTime, Instant};

use assent::clock::Clock;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, query, query_scalar};
use uuid::Uuid;

use crate::support::App;
use crate::support::contacts::{hem, person};
use crate::support::postgres::cluster::workers;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::with;

#[derive(Deserialize)]
struct Sent {
    statement: String,
    /// Types of PostgreSQL.
    parameters: Vec<String>,
}

fn all_sent() -> Vec<Sent> {
    let all = include_str!("../../snapshots/statements_of_schema_16.json");
    serde_json::from_str(all).expect("statements")
}

/// The one statement that contains these words.
fn sent(words: &str) -> AssertSqlSafe<String> {
    let mut found = all_sent().into_iter().filter(|sent| sent.statement.contains(words));
    let statement = found.next().expect("there is one").statement;
    assert!(found.next().is_none(), "several contain {words}");
    AssertSqlSafe(statement)
}

#[tokio::test]
async fn every_statement_of_the_older_version_means_the_same_to_the_newest_schema() {
    let app = App::spawn().await;
    let mut connection = app.pool.acquire().await.unwrap();
    let all = all_sent();
    assert!(all.len() > 150);
    for Sent { statement, parameters } in all {
        let prepare = AssertSqlSafe(format!("PREPARE of_before AS {statement}"));
        let prepared = sqlx::raw_sql(prepare).execute(&mut *connection).await;
        assert!(prepared.is_ok(), "{statement}\n{prepared:?}");
        let types = "SELECT parameter_types::text[] FROM pg_prepared_statements
            WHERE name = 'of_before'";
        let types: Vec<String> = query_scalar(types).fetch_one(&mut *connection).await.unwrap();
        assert_eq!(types, parameters, "{statement}");
        sqlx::raw_sql("DEALLOCATE of_before").execute(&mut *connection).await.unwrap();
    }
}

/// The older node records a choice, in one batch of one.
async fn recorded_by_older(app: &App, site: &Site, visitor: &str, state: &str, purposes: &str) {
    let recorded_at: DateTime<Utc> = app.clock.now();
    let inserted = query(sent("INSERT INTO consent_receipts"))
        .bind(vec![site.pixel_id.clone()])
        .bind(vec![Uuid::now_v7()])
        .bind(vec![visitor.to_owned()])
        .bind(vec!["https://ann.example".to_owned()])
        .bind(vec![state.to_owned()])
        .bind(vec![site.policy_hash.clone()])
        .bind(vec![purposes.to_owned()])
        .bind(vec![recorded_at])
        .bind(vec![vec![0_u8; 32]])
        .bind(vec![None::<Uuid>])
        .bind(vec![Clock::System.now() + chrono::Duration::seconds(30)])
        .bind(vec![site.pixel_id.clone()])
        .execute(&app.pool)
        .await
        .unwrap();
    assert_eq!(inserted.rows_affected(), 1);
}

#[tokio::test]
async fn a_choice_that_an_older_node_records_has_its_effects_on_a_new_one() {
    // Not on a cluster: the first release knows no cluster.
    if !workers().is_empty() {
        return;
    }
    let app = App::spawn().await;
    let ann = app.unlimited_account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let shown = async || app.all_contacts(&ann.key, &site.pixel_id).await.len();

    // An acceptance of the older node permits, and a contact is bound to it.
    recorded_by_older(&app, &site, "v1", "accepted", "resolution").await;
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "ok");
    let items = json!([with(&person(1), "visitor_id", json!("v1"))]);
    let stored = app.store(&ann.key, &site.pixel_id, items).await.expect(200);
    assert_eq!((&stored["stored"], shown().await), (&json!(1), 1));

    // Its withdrawal hides the contact at once, and is listed.
    recorded_by_older(&app, &site, "v1", "withdrawn", "").await;
    assert_eq!(shown().await, 0);
    let path = format!("/v1/pixels/{}/contacts/withdrawn", site.pixel_id);
    let started = Instant::now();
    loop {
        let listed = app.read(&ann.key, &path).await.expect(200);
        if listed["withdrawn"][0]["hem"] == hem(1) {
            break;
        }
        assert!(started.elapsed() < RealTime::from_secs(30), "{listed}");
        app.clock.advance(chrono::Duration::seconds(15));
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }

    // Its contacts are read like all contacts without a visitor.
    query(sent("INSERT INTO contacts ("))
        .bind(site.pixel_id.clone())
        .bind(vec![hex::decode(hem(2)).unwrap()])
        .bind(vec!["2026-03-10T12:00:00Z".to_owned()])
        .bind(vec![app.clock.now().date_naive()])
        .bind(vec![json!({"first_name": "Ada"}).to_string()])
        .execute(&app.pool)
        .await
        .unwrap();
    let all = app.all_contacts(&ann.key, &site.pixel_id).await;
    assert_eq!((all.len(), &all[0]["hem"]), (1, &json!(hem(2))));
    assert!(all[0].get("consent").is_none());

    // And the older one knows what a new one has recorded.
    app.recorded(&site.acceptance("v2")).await;
    let latest = query(sent("AS question"))
        .bind(vec![site.pixel_id.clone()])
        .bind(vec!["v2".to_owned()])
        .fetch_one(&app.pool)
        .await
        .unwrap();
    assert_eq!(latest.get::<String, _>("consent_state!"), "accepted");
}

#[tokio::test]
async fn a_choice_of_an_older_node_comes_into_the_log_when_its_proof_is_requested() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    recorded_by_older(&app, &site, "v1", "accepted", "resolution").await;
    app.recorded(&site.acceptance("v2")).await;
    let (older, newer) = (app.proof(&site, "v1").await, app.proof(&site, "v2").await);
    let log = newer.log(&app.client, &app.base).await;
    assert_ne!(older.position(&log), newer.position(&log));
}
