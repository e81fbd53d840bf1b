//! The checks of a database at the start, and the messages when one fails.

use std::process::Command;

use crate::support::Process;
use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::pooler::Pooler;
use crate::support::postgres::servers::{Server, Servers};
use crate::support::process::{program, run, said};
use crate::support::server::client;

/// Fails unless every command that uses the database exits with 1 and one sentence that contains these
/// words.
async fn all_commands_refuse(url: &str, words: &str) {
    let commands: [&[&str]; 5] = [
        &[],
        &["serve"],
        &["migrate"],
        &["keys", "acc_nobody"],
        &["unlimited-key", "ann@example.com"],
    ];
    for arguments in commands {
        let mut command = program(url);
        command.args(arguments);
        refuses(command, words).await;
    }
}

async fn refuses(command: Command, words: &str) {
    let (code, output, complaint) = said(&run(command).await);
    assert_eq!((code, output.as_str()), (Some(1), ""), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.starts_with("assent: ") && complaint.contains(words), "{complaint}");
}

/// The same database with other parameters in the query of its address.
fn with_query(url: &str, name: &str, value: &str) -> String {
    let mut url = url::Url::parse(url).unwrap();
    url.query_pairs_mut().append_pair(name, value);
    url.into()
}

#[tokio::test]
async fn a_database_of_another_encoding_than_utf8_is_refused() {
    for encoding in ["LATIN1", "SQL_ASCII", "WIN1252"] {
        let options = format!("ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
        let database = TestDatabase::empty_with(&options).await;
        let words = format!("the database cannot be used: its encoding is {encoding}");
        all_commands_refuse(&database.url, &words).await;
    }
}

#[tokio::test]
async fn a_read_only_database_is_refused() {
    let database = TestDatabase::create().await;
    database.alter("SET default_transaction_read_only = on").await;
    all_commands_refuse(&database.url, "it only accepts read-only transactions").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_refused_and_a_replica_must_be_of_the_same_system() {
    let servers = Servers::start();
    let (primary, standby) = (servers.url(Server::First), servers.url(Server::Second));
    all_commands_refuse(&standby, "the server is a standby").await;
    let mut reading = program(&primary);
    reading.env("DATABASE_READ_URL", &standby);
    drop(Process::start(reading).await);

    let other = TestDatabase::empty().await;
    let mut elsewhere = program(&primary);
    elsewhere.env("DATABASE_READ_URL", &other.url);
    let words = "DATABASE_READ_URL: it belongs to another database system than DATABASE_URL";
    refuses(elsewhere, words).await;
    // A database that is temporarily unavailable does not prevent the start.
    servers.stop(Server::Second);
    let mut alone = program(&primary);
    alone.env("DATABASE_READ_URL", &standby);
    drop(Process::start(alone).await);
}

#[tokio::test]
async fn a_replica_of_another_encoding_is_refused() {
    let options = "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    let latin = TestDatabase::empty_with(options).await;
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("DATABASE_READ_URL", &latin.url);
    refuses(command, "DATABASE_READ_URL: its encoding is LATIN1").await;
}

#[tokio::test]
async fn the_service_refuses_a_pooler_in_transaction_or_statement_mode() {
    let database = TestDatabase::create().await;
    for mode in ["transaction", "statement"] {
        for (size, round_robin) in [(1, 0), (20, 0), (2, 1), (20, 1)] {
            let pooler = Pooler::start(&database.url, mode, size, round_robin);
            let words = "the service needs pool_mode = session";
            if size == 1 {
                all_commands_refuse(&pooler.url, words).await;
            } else {
                refuses(program(&pooler.url), words).await;
            }
            // The pooler is also detected when its server connections are already open.
            refuses(program(&pooler.url), words).await;
        }
    }
}

#[tokio::test]
async fn the_service_works_through_a_pooler_in_session_mode() {
    let database = TestDatabase::create().await;
    database.alter("SET default_transaction_isolation = 'serializable'").await;
    let pooler = Pooler::start(&database.url, "session", 30, 0);
    // Started twice: the second start receives sessions that the pooler has reset.
    for _ in 0..2 {
        let service = Process::start(program(&pooler.url)).await;
        for _ in 0..3 {
            let health = client().get(service.url("/healthz")).send().await.unwrap();
            assert_eq!(health.status(), 200);
        }
        let service_pool = assent::infra::postgres::Database::connect(&pooler.url).unwrap().pool;
        let isolation = sqlx::query_scalar::<_, String>("SHOW default_transaction_isolation");
        assert_eq!(isolation.fetch_one(&service_pool).await.unwrap(), "read committed");
        service_pool.close().await;
    }
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_named_in_one_sentence() {
    let database = TestDatabase::create().await;
    let nobody = with_query(&database.url, "user", "nobody_knows_this_role");
    refuses(program(&nobody), "the database cannot be used: ").await;
}
