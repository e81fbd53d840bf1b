//! The plans of the service's statements on a cluster, and the commit of a choice. `make test-cluster`
//! runs these tests; on one PostgreSQL they end at once.

use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Row, query_scalar, raw_sql};

use self::exceptions::{ASK_MANY, BY_THE_COORDINATOR, ONE_POSTGRES};
use crate::support::App;
use crate::support::postgres::cluster::workers;
use crate::support::postgres::database::{TestDatabase, described_statements};
use crate::support::transparency_log::log::LOG_KEY;

#[path = "../../architecture/exceptions.rs"]
mod exceptions;

fn is_in(exceptions: &[(&str, &str)], statement: &str) -> bool {
    let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    exceptions.iter().any(|(words, _)| statement.contains(words))
}

/// A value of a type, as an SQL literal; an array has one.
fn literal(of_type: &str) -> String {
    if let Some(of_each) = of_type.strip_suffix("[]") {
        return format!("ARRAY[{}]::{of_type}", literal(of_each));
    }
    let value = match of_type {
        "text" => "pixel",
        "bigint" | "integer" | "smallint" => "1",
        "uuid" => "00000000-0000-4000-8000-000000000001",
        "timestamp with time zone" | "date" => "2026-01-01",
        "json" | "jsonb" => "{}",
        "boolean" => "true",
        "bytea" => "",
        other => panic!("no value of the type {other}"),
    };
    format!("'{value}'::{of_type}")
}

/// Returns the number of machines that each distributed scan of a statement asks.
async fn tasks(connection: &mut PgConnection, statement: &str) -> Vec<u64> {
    let prepare = format!("DEALLOCATE ALL; PREPARE planned AS {statement}");
    connection.execute(raw_sql(AssertSqlSafe(prepare))).await.unwrap();
    let types =
        "SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = 'planned'";
    let types = connection.fetch_all(raw_sql(types)).await.unwrap();
    let values = types.iter().map(|row| literal(row.get(0))).collect::<Vec<_>>();
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE planned{values}");
    let plan = connection.fetch_one(raw_sql(AssertSqlSafe(explain))).await.unwrap();
    let mut found = Vec::new();
    gather(&serde_json::from_str(plan.get_unchecked(0)).unwrap(), &mut found);
    found
}

fn gather(plan: &Value, found: &mut Vec<u64>) {
    match plan {
        Value::Array(parts) => parts.iter().for_each(|part| gather(part, found)),
        Value::Object(parts) => {
            found.extend(parts.get("Task Count").and_then(Value::as_u64));
            parts.values().for_each(|part| gather(part, found));
        }
        _ => {}
    }
}

#[tokio::test]
async fn every_statement_about_a_pixel_is_one_task_of_one_machine() {
    if workers().is_empty() {
        return;
    }
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let mut connection = pool.acquire().await.unwrap();
    let spread = "SELECT logicalrelid::text FROM pg_dist_partition WHERE partkey IS NOT NULL";
    let spread = query_scalar::<_, String>(spread).fetch_all(&mut *connection).await.unwrap();
    let (mut of_one, mut of_many) = (0, 0);
    for described in described_statements() {
        let statement = described["query"].as_str().unwrap();
        let concerns = |table: &String| {
            statement.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == table)
        };
        if !spread.iter().any(concerns) || is_in(ONE_POSTGRES, statement) {
            continue;
        }
        let tasks = tasks(&mut connection, statement).await;
        if is_in(ASK_MANY, statement) {
            assert!(tasks.iter().any(|&count| count > 1), "{tasks:?} of {statement}");
            of_many += 1;
        } else if is_in(BY_THE_COORDINATOR, statement) || statement.contains("FROM pg_locks") {
            assert!(tasks.iter().all(|&count| count == 1), "{tasks:?} of {statement}");
        } else {
            assert_eq!(tasks, [1], "{statement}");
            of_one += 1;
        }
    }
    assert!(of_one > 80 && of_many == ASK_MANY.len(), "{of_one} of one, {of_many} of many");
}

/// Transactions of several machines that the coordinator has noted, as it does before it says COMMIT PREPARED.
async fn noted(connection: &mut PgConnection) -> i64 {
    let noted = query_scalar("SELECT count(*) FROM pg_dist_transaction");
    noted.fetch_one(connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_choice_is_committed_by_its_own_machine_alone_so_that_nothing_is_left_in_doubt() {
    committed_by_one_machine(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_choice_and_its_leaf_in_the_log_are_committed_by_one_machine_too() {
    committed_by_one_machine(&[LOG_KEY]).await;
}

async fn committed_by_one_machine(settings: &[(&str, &str)]) {
    if workers().is_empty() {
        return;
    }
    let app = App::spawn_with(settings).await;
    let owner = app.unlimited_account("owner@cluster.example").await;
    let mut connection = app.pool.acquire().await.unwrap();
    let (mut choices, mut transactions) = (0, 0);
    for number in 0..8 {
        let site = app.consent_site(&owner.key, &format!("s{number}.example")).await;
        for visitor in 0..10 {
            let visitor = format!("visitor-{visitor}");
            for body in [site.acceptance(&visitor), site.refusal(&visitor, "withdrawn")] {
                let before = noted(&mut connection).await;
                app.recorded(&body).await;
                choices += 1;
                transactions += (noted(&mut connection).await - before).max(0);
            }
        }
    }
    // Work of other kinds goes on beside it.
    assert!(transactions < choices / 8, "{transactions} beside {choices} choices");
    // The extension records a transaction that changes rows of several machines, and deletes the record
    // after some seconds, sometimes at once.
    let mut seen = false;
    for _ in 0..10 {
        let before = noted(&mut connection).await;
        connection.execute("UPDATE consent_receipts SET shown_language = 'de'").await.unwrap();
        seen |= noted(&mut connection).await > before;
    }
    assert!(seen, "a choice that was committed otherwise would not have been seen");
}
