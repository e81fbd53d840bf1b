//! Backups are good for something: what comes back from one is what was stored, and receipts
//! verify, also after their secret was rotated.

use std::process::Command;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::database::TestDatabase;
use crate::process::{Process, program};
use crate::proxy::client;
use crate::site::{Site, verifies};

const OLD: &str = "the-secret-of-last-year";
const NEW: &str = "the-secret-of-this-year";

async fn start(database: &TestDatabase, secrets: &str) -> Process {
    let mut command = program(&database.url);
    command.env("RECEIPT_SECRETS", secrets);
    Process::start(command).await
}

pub fn succeeds(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Drops the database and makes an empty one of the same name.
pub async fn lose(database: &TestDatabase) {
    let name = database.url.split('?').next().unwrap().rsplit('/').next().unwrap();
    let server = std::env::var("DATABASE_URL").unwrap();
    let mut connection = PgConnection::connect(&server).await.unwrap();
    for statement in
        [format!("DROP DATABASE {name} WITH (FORCE)"), format!("CREATE DATABASE {name}")]
    {
        connection.execute(AssertSqlSafe(statement)).await.unwrap();
    }
}

#[tokio::test]
async fn after_a_dump_a_loss_and_a_restore_every_receipt_verifies_with_rotated_secrets() {
    let database = TestDatabase::create().await;
    let client = client();
    let node = start(&database, OLD).await;
    let site = Site::open(&client, &node.base).await;
    let before = site.accept(&client, &node.base, "early-visitor").await;
    drop(node);

    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("assent.dump");
    let dump = dump.to_str().unwrap();
    succeeds("pg_dump", &["--format=custom", "--file", dump, "--dbname", &database.url]);
    lose(&database).await;
    succeeds("pg_restore", &["--exit-on-error", "--no-owner", "--dbname", &database.url, dump]);

    let node = start(&database, &format!("{NEW},{OLD}")).await;
    let kept = site.receipt(&client, &node.base, "early-visitor").await;
    assert_eq!(kept["receipt"], before["receipt"]);
    assert_eq!((&kept["valid"], &kept["reason"]), (&true.into(), &"ok".into()));
    assert!(verifies(&client, &node.base, &before).await);
    // New entries follow the restored ones, and are signed.
    let after = site.accept(&client, &node.base, "early-visitor").await;
    let latest = site.receipt(&client, &node.base, "early-visitor").await;
    assert_eq!(latest["receipt"], after["receipt"]);
    drop(node);

    let node = start(&database, NEW).await;
    assert!(verifies(&client, &node.base, &after).await, "the first secret signs");
    assert!(!verifies(&client, &node.base, &before).await, "without its secret it is worthless");
}

#[tokio::test]
async fn while_secrets_rotate_in_two_steps_every_node_verifies_what_any_other_signs() {
    let database = TestDatabase::create().await;
    let client = client();
    let steps = [OLD.to_owned(), format!("{OLD},{NEW}"), format!("{NEW},{OLD}")];
    let node = start(&database, OLD).await;
    let site = Site::open(&client, &node.base).await;
    drop(node);
    for pair in steps.windows(2) {
        let nodes = [start(&database, &pair[0]).await, start(&database, &pair[1]).await];
        for (signing, verifying) in [(&nodes[0], &nodes[1]), (&nodes[1], &nodes[0])] {
            let signed = site.accept(&client, &signing.base, "a-visitor").await;
            assert!(verifies(&client, &verifying.base, &signed).await, "{pair:?}");
        }
    }
}
