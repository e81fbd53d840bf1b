//! The steps of `docs/cluster.md` and `docs/scaling.md` that can be tried without a cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::{PgPool, query_as, query_scalar};

use crate::support::App;
use crate::support::postgres::cluster::{statements, workers};
use crate::support::postgres::database::TestDatabase;
use crate::support::visitors::with;

/// The distribution of each table according to the guide.
#[derive(Debug, Default)]
struct Plan {
    /// With the column that they are distributed by.
    distributed: BTreeMap<String, String>,
    local: BTreeSet<String>,
}

impl Plan {
    fn read(sql: &str) -> Self {
        let mut plan = Self::default();
        for line in sql.lines() {
            let arguments = line.split('\'').skip(1).step_by(2).map(str::to_owned);
            let arguments = arguments.collect::<Vec<_>>();
            if line.starts_with("SELECT create_distributed_table(") {
                let twice = plan.distributed.insert(arguments[0].clone(), arguments[1].clone());
                assert_eq!(twice, None, "{} is distributed twice", arguments[0]);
            } else if let Some(names) = line.strip_prefix("-- Stays on the coordinator: ") {
                plan.local.extend(names.split(", ").map(str::to_owned));
            }
        }
        plan
    }

    /// Everything that speaks against the plan, with the rules by which Citus distributes.
    async fn objections(&self, pool: &PgPool) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.classify(&tables(pool).await, &mut found);
        for (table, column) in &self.distributed {
            for (index, columns) in unique_indexes(pool, table).await {
                if !columns.contains(column) {
                    found.insert(format!("{index} of {table} is unique without {column}"));
                }
            }
            if !never_null(pool, table).await.contains(column) {
                found.insert(format!("{column} of {table} may be null"));
            }
        }
        for (from, to) in foreign_keys(pool).await {
            self.check_foreign_key(&from, &to, &mut found);
        }
        found
    }

    fn classify(&self, tables: &BTreeSet<String>, found: &mut BTreeSet<String>) {
        let named = self.distributed.keys().chain(&self.local).collect::<Vec<_>>();
        for table in tables {
            match named.iter().filter(|name| **name == table).count() {
                1 => {}
                count => drop(found.insert(format!("{table} is named {count} times"))),
            }
        }
        for name in named.into_iter().filter(|name| !tables.contains(*name)) {
            found.insert(format!("there is no table {name}"));
        }
    }

    /// No foreign key leads from one machine to another.
    fn check_foreign_key(&self, from: &str, to: &str, found: &mut BTreeSet<String>) {
        if self.distributed.contains_key(from) || self.distributed.contains_key(to) {
            found.insert(format!("{from} refers to {to}"));
        }
    }
}

async fn tables(pool: &PgPool) -> BTreeSet<String> {
    let names = "SELECT relname::text FROM pg_class
        WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace";
    query_scalar::<_, String>(names).fetch_all(pool).await.unwrap().into_iter().collect()
}

/// Name and columns of each unique index, primary keys included.
async fn unique_indexes(pool: &PgPool, table: &str) -> Vec<(String, Vec<String>)> {
    let indexes = "SELECT relname::text, array_agg(attname::text)
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
        WHERE indrelid = to_regclass($1) AND indisunique GROUP BY relname";
    query_as(indexes).bind(table).fetch_all(pool).await.unwrap()
}

async fn never_null(pool: &PgPool, table: &str) -> Vec<String> {
    let columns = "SELECT attname::text FROM pg_attribute
        WHERE attrelid = to_regclass($1) AND attnotnull AND attnum > 0";
    query_scalar(columns).bind(table).fetch_all(pool).await.unwrap()
}

/// Foreign keys between tables.
async fn foreign_keys(pool: &PgPool) -> Vec<(String, String)> {
    let keys = "SELECT conrelid::regclass::text, confrelid::regclass::text
        FROM pg_constraint WHERE contype = 'f' AND conparentid = 0";
    query_as(keys).fetch_all(pool).await.unwrap()
}

#[tokio::test]
async fn the_schema_can_be_distributed_as_the_guide_says() {
    let database = TestDatabase::create().await;
    let plan = Plan::read(&statements("citus"));
    assert!(plan.distributed.values().all(|column| column == "pixel_id"), "{plan:?}");
    assert!(plan.distributed.contains_key("consent_receipts"));
    assert_eq!(plan.objections(&database.pool()).await, BTreeSet::new());
}

#[test]
fn tables_of_a_running_service_are_distributed_as_of_a_stopped_one() {
    let growing = statements("citus-growing").replace("_concurrently", "");
    let (growing, standing) = (Plan::read(&growing), Plan::read(&statements("citus")));
    assert_eq!(growing.distributed, standing.distributed);
}

#[tokio::test]
async fn a_schema_or_a_guide_that_drifts_is_noticed() {
    // Not on a cluster: the cluster itself refuses the drift.
    if !workers().is_empty() {
        return;
    }
    let database = TestDatabase::create().await;
    let pool = database.pool();
    sqlx::raw_sql(
        "CREATE TABLE visits (id bigint PRIMARY KEY, pixel_id text REFERENCES contact_counters);
         CREATE UNIQUE INDEX contacts_once ON contacts (hem);",
    )
    .execute(&pool)
    .await
    .unwrap();
    let guide = statements("citus").replace(
        "-- Stays on the coordinator: contact_usage, pixels, ",
        "SELECT create_distributed_table('pixels', 'pixel_id');\n-- Stays on the coordinator: contact_usage, ",
    );
    let expected = [
        "contacts_once of contacts is unique without pixel_id",
        "erasure_requests refers to pixels",
        "install_looks refers to pixels",
        "pixel_aliases refers to pixels",
        "pixel_test_hosts refers to pixels",
        "pixels refers to accounts",
        "pixels_domain_key of pixels is unique without pixel_id",
        "popup_changes refers to pixels",
        "popup_forms refers to pixels",
        "popup_screenshot_files refers to pixels",
        "popup_screenshots_due refers to pixels",
        "shared_links refers to pixels",
        "site_moves refers to pixels",
        "test_receipts refers to pixels",
        "visits is named 0 times",
        "visits refers to contact_counters",
        "watch_reports refers to pixels",
        "watch_sites refers to pixels",
    ];
    let found = Plan::read(&guide).objections(&pool).await;
    assert_eq!(found, expected.map(str::to_owned).into());
    let unnamed = guide.replace(", _sqlx_migrations", "");
    let found = Plan::read(&unnamed).objections(&pool).await;
    assert!(found.contains("_sqlx_migrations is named 0 times"), "{found:?}");
}

/// The indexes of a table by name, each as it would be written for any table.
async fn indexes(pool: &PgPool, table: &str) -> BTreeMap<String, String> {
    let all = "SELECT indexname::text, replace(indexdef, ' ON ONLY ', ' ON ')
        FROM pg_indexes WHERE schemaname = 'public' AND tablename = $1";
    let all = query_as::<_, (String, String)>(all).bind(table).fetch_all(pool).await.unwrap();
    all.into_iter().collect()
}

/// The triggers of a table. Those of its partitions follow from these.
async fn triggers(pool: &PgPool, table: &str) -> BTreeSet<String> {
    let all = "SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = to_regclass($1) AND NOT tgisinternal";
    query_scalar::<_, String>(all).bind(table).fetch_all(pool).await.unwrap().into_iter().collect()
}

#[tokio::test]
async fn receipts_can_be_partitioned_as_the_guide_says() {
    // Not on a cluster: spread tables are partitioned already.
    if !workers().is_empty() {
        return;
    }
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let other = app.consent_site(&ann.key, "other.example").await;
    let choice = json!("0190b5a0-0000-7000-8000-000000000001");
    let accepted = with(&site.acceptance("visitor"), "choice_id", choice);
    let first = app.recorded(&accepted).await;
    app.recorded(&other.acceptance("visitor")).await;
    let before = indexes(&app.pool, "consent_receipts").await;
    let names = ["choice_pixel", "pkey", "state_time", "visitor_pixel"];
    let names = names.map(|name| format!("consent_receipts_{name}"));
    assert_eq!(before.keys().cloned().collect::<Vec<_>>(), names);
    let noted = triggers(&app.pool, "consent_receipts").await;
    assert_eq!(noted.len(), 3);

    sqlx::raw_sql(sqlx::AssertSqlSafe(statements("partitions"))).execute(&app.pool).await.unwrap();

    assert_eq!(indexes(&app.pool, "consent_receipts").await, before);
    assert_eq!(triggers(&app.pool, "consent_receipts").await, noted);
    let parts = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'consent_receipts'::regclass";
    let parts = query_scalar::<_, i64>(parts).fetch_one(&app.pool).await.unwrap();
    assert_eq!(parts, 16);
    // The earlier rows exist, a repeated choice is recognised, and a new one comes after it.
    assert_eq!(app.check(&site.pixel_id, "visitor").await["reason"], "ok");
    assert_eq!(app.recorded(&accepted).await["receipt_id"], first["receipt_id"]);
    app.recorded(&site.refusal("visitor", "withdrawn")).await;
    assert_eq!(app.check(&site.pixel_id, "visitor").await["reason"], "declined_or_withdrawn");
    assert_eq!(app.check(&other.pixel_id, "visitor").await["reason"], "ok");
    let states = app.log(&ann.key, &site.pixel_id).await;
    let states = states.iter().map(|event| &event["receipt"]["consent_state"]);
    assert_eq!(states.collect::<Vec<&Value>>(), ["withdrawn", "accepted"]);
}
