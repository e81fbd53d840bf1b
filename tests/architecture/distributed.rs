//! Checks that every statement of the service can be executed where tables are distributed over several
//! machines (docs/cluster.md), and that only listed statements are sent to all of them.
//!
//! The `pixel_id` of a row determines its machine. A statement that contains `pixel_id = $n` for every
//! distributed table is sent to one machine unchanged. All others are listed here or in `exceptions`, each with
//! the reason why it may be sent to several machines, or is executed by the coordinator.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::exceptions::{ASK_MANY, BY_THE_COORDINATOR, ONE_POSTGRES};
use super::rust::sources;
use super::sql::{Statement, Tables};

/// Statements for several pixels of one shard. Their callers have grouped the pixels by shard
/// (`receipts/cluster/shards.rs`).
const OF_ONE_SHARD: &[(&str, &str)] = &[
    ("AS wanted (pixel_id, visitor_id, receipt_id, choice_id, position)", "list_stored"),
    ("AS question (pixel_id, visitor_id, position)", "list_latest"),
];

/// Statements that take an advisory lock on the machine of a pixel's rows.
const LOCKS: &[(&str, &str)] =
    &[("FROM (SELECT count(*) FROM contact_counters", "the trigger on receipts takes it there")];

/// Files that build statements at run time, which are not in the metadata.
const AT_RUN_TIME: &[(&str, &str)] = &[
    ("infra/postgres/embedded/server.rs", "creates the database, before there is a table"),
    ("infra/postgres/dedicated_connection.rs", "settings of a connection"),
    ("infra/postgres/mod.rs", "time limits of transactions and of migrations"),
    ("infra/postgres/settings.rs", "settings of connections"),
    ("infra/postgres/start_check.rs", "the first query, without a prepared statement"),
    (
        "receipts/cluster/store/shards.rs",
        "reads the shards from the extension, which exists only on a cluster",
    ),
    ("receipts/cluster/store/insertion.rs", "one tuple for each row, on a cluster"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn tables() -> Tables {
    let guide = fs::read_to_string(root().join("docs/cluster.md")).expect("the guide");
    Tables::read(&guide)
}

/// Every statement of the metadata of `query!` and its variants.
fn statements() -> Vec<Statement> {
    let folder = fs::read_dir(root().join(".sqlx")).expect("the metadata");
    let files = folder.map(|entry| entry.expect("an entry").path());
    let read = files.map(|file| {
        let text = fs::read_to_string(file).expect("readable metadata");
        let json: serde_json::Value = serde_json::from_str(&text).expect("metadata is JSON");
        Statement::of(json["query"].as_str().expect("a statement"))
    });
    let statements = read.collect::<Vec<_>>();
    assert!(statements.len() > 300, "the statements were found");
    statements
}

/// The exception that applies to a statement.
fn excepted(list: &[(&'static str, &str)], statement: &Statement) -> Option<&'static str> {
    list.iter().map(|(words, _)| *words).find(|words| statement.says(words))
}

/// The reasons why a statement is refused.
fn objections(tables: &Tables, statement: &Statement) -> Vec<String> {
    let distributed = statement.tables_of(&tables.distributed);
    if distributed.is_empty() || excepted(ONE_POSTGRES, statement).is_some() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut object = |wrong: bool, what: &str| {
        if wrong {
            found.push(format!("{what}: {}", statement.text));
        }
    };
    let local = statement.tables_of(&tables.local);
    let by_coordinator = excepted(BY_THE_COORDINATOR, statement).is_some();
    let asks_many = excepted(ASK_MANY, statement).is_some();
    let is_insert = statement.inserts_into(&tables.distributed);
    object(!local.is_empty() && !by_coordinator, "names tables of the coordinator too");
    object(is_insert && statement.selects() && !by_coordinator, "is an INSERT ... SELECT");
    object(is_insert && statement.has_unnamed_conflict(), "says ON CONFLICT of no columns");
    object(statement.has_subquery_in_values(), "has a subquery inside VALUES");
    object(statement.has_modifying_cte(), "changes rows inside WITH");
    object(
        statement.says("pg_advisory") && excepted(LOCKS, statement).is_none(),
        "takes a lock of one machine beside rows of another",
    );
    let names_each = statement.names_one_pixel(&tables.distributed);
    let names_some = statement.names_pixels(&tables.distributed);
    object(!names_each && !names_some && !asks_many && !is_insert, "does not name a pixel");
    let is_of_one_shard = excepted(OF_ONE_SHARD, statement).is_some();
    object(
        !names_each
            && !is_of_one_shard
            && (statement.says("LATERAL") || statement.says("FOR UPDATE")),
        "is LATERAL or FOR UPDATE over more than one pixel",
    );
    found
}

#[test]
fn every_statement_can_be_executed_on_distributed_tables() {
    let tables = tables();
    let found = statements().iter().flat_map(|one| objections(&tables, one)).collect::<Vec<_>>();
    assert!(found.is_empty(), "{} objections:\n\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn every_exception_is_still_needed() {
    let statements = statements();
    let lists = [ASK_MANY, BY_THE_COORDINATOR, ONE_POSTGRES, OF_ONE_SHARD, LOCKS];
    for (words, reason) in lists.concat() {
        let uses = statements.iter().filter(|statement| statement.says(words)).count();
        assert!(uses > 0, "no statement says {words} ({reason})");
    }
}

/// Whether a function of sqlx is called, and not a method or a function of this crate.
fn is_called(program: &str, call: &str) -> bool {
    program.match_indices(call).any(|(at, _)| {
        let before = &program[..at];
        let is_part = |last: char| last.is_alphanumeric() || "_.".contains(last);
        !before.ends_with(is_part) && !before.ends_with("fn ")
    })
}

#[test]
fn files_that_build_statements_at_run_time_are_listed() {
    let names = ["QueryBuilder", "raw_sql(", "AssertSqlSafe"];
    let calls = ["query(", "query_scalar(", "query_as("];
    let found = sources()
        .into_iter()
        .filter(|source| {
            let program = source.program();
            names.iter().any(|name| program.contains(name))
                || calls.iter().any(|call| is_called(&program, call))
        })
        .map(|source| source.path)
        .collect::<BTreeSet<_>>();
    let known = AT_RUN_TIME.iter().map(|(path, _)| (*path).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(found, known);
}

#[test]
fn later_migrations_can_run_on_distributed_tables() {
    let (tables, mut found) = (tables(), Vec::new());
    for entry in fs::read_dir(root().join("migrations")).expect("migrations") {
        let file = entry.expect("an entry").path();
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        // The first nine create the tables, so they run before any table is distributed.
        if name.as_str() < "0010" {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a readable migration");
        // On a cluster the whole file is the body of one block: its last statement ends with a semicolon like
        // the others, and none returns rows.
        if !text.trim_end().ends_with(';') || text.starts_with("-- no-transaction") {
            found.push(format!("{name} is not the body of a block"));
        }
        for part in text.split(';').map(Statement::of) {
            let is_older = |table: &&String| !text.contains(&format!("CREATE TABLE {table} "));
            let alters = tables
                .distributed
                .iter()
                .filter(is_older)
                .any(|table| part.says(&format!("ALTER TABLE {table} ")));
            let refused = ["GENERATED", "REFERENCES", "nextval", "SERIAL", "SET STORAGE"];
            let is_refused = alters && refused.iter().any(|word| part.says(word));
            if is_refused || part.text.starts_with("SELECT ") {
                found.push(format!("{name}: {}", part.text));
            }
        }
    }
    assert!(found.is_empty(), "not possible with a distributed table:\n{}", found.join("\n"));
}

#[test]
fn statements_that_cannot_be_distributed_are_refused() {
    let tables = tables();
    let refused = [
        "INSERT INTO consent_policies (pixel_id, account_id)
         VALUES ($1, (SELECT account_id FROM pixels WHERE pixel_id = $1))",
        "SELECT * FROM unnest($1::text[]) AS question (pixel_id) CROSS JOIN LATERAL (
             SELECT * FROM consent_receipts WHERE pixel_id = question.pixel_id LIMIT 1) AS receipt",
        "INSERT INTO consent_appearances (pixel_id, appearance) SELECT $1, appearance
         FROM consent_appearances WHERE pixel_id = $2 ON CONFLICT (pixel_id) DO NOTHING",
        "INSERT INTO consent_appearances (pixel_id, appearance) VALUES ($1, $2)
         ON CONFLICT DO NOTHING",
        "SELECT count(*) FROM consent_receipts WHERE visitor_id = $1",
        "SELECT hem FROM contacts JOIN pixels USING (pixel_id) WHERE pixel_id = $1",
        "SELECT id FROM contacts WHERE pixel_id = ANY($1) FOR UPDATE",
        "WITH gone AS (DELETE FROM contacts WHERE pixel_id = $1 RETURNING id) SELECT id FROM gone",
        "SELECT id, pg_advisory_xact_lock(1) FROM contacts WHERE pixel_id = $1",
        "SELECT id FROM contacts WHERE pixel_id = $1 AND EXISTS (
             SELECT FROM contact_visitors AS bound WHERE bound.pixel_id = contacts.pixel_id)",
    ];
    for text in refused {
        assert!(!objections(&tables, &Statement::of(text)).is_empty(), "{text}");
    }
    let accepted = [
        "SELECT id FROM contacts WHERE pixel_id = $1 AND EXISTS (
             SELECT FROM contact_visitors AS bound WHERE bound.pixel_id = $1)",
        "SELECT hem FROM contact_visitors AS bound
         JOIN contacts ON contacts.pixel_id = bound.pixel_id AND contacts.id = bound.contact_id
         WHERE bound.pixel_id = $1",
        "DELETE FROM consent_days WHERE pixel_id = ANY ($1)",
        "SELECT pixel_id FROM pixels WHERE domain = $1",
    ];
    for text in accepted {
        assert_eq!(objections(&tables, &Statement::of(text)), Vec::<String>::new(), "{text}");
    }
}
