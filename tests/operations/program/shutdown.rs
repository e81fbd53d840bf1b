//! Orderly shutdown within its limits.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;
use sqlx::{Connection, Executor, PgPool, query_scalar};

use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::client;
use crate::support::{MailServer, Process, fresh_address};

#[tokio::test]
async fn the_service_ends_in_order_on_a_signal() {
    let database = TestDatabase::create().await;
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut service = Process::start(program(&database.url)).await;
        assert_eq!(client().get(service.url("/healthz")).send().await.unwrap().status(), 200);
        service.send(signal);
        assert_eq!(service.exit_code().await, Some(0), "{signal}");
        assert!(!service.log().contains("WARN"), "{}", service.log());
    }
}

#[tokio::test]
async fn requests_in_flight_are_finished_before_the_end() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("SMTP_URL", &MailServer::shared().url);
    let mut service = Process::start(command).await;
    let body = json!({"email": fresh_address("stall"), "display_name": "Ann"});
    // The mail server takes its time, so this request is in flight when the signal comes.
    let request = client().post(service.url("/v1/accounts")).json(&body);
    let in_flight = tokio::spawn(request.send());
    tokio::time::sleep(Duration::from_secs(3)).await;
    service.send(Signal::SIGTERM);
    let signalled_at = Instant::now();
    while client().get(service.url("/healthz")).send().await.is_ok() {
        assert!(signalled_at.elapsed() < Duration::from_secs(5), "it still accepts");
    }
    let answer = in_flight.await.unwrap().expect("the request in flight is answered");
    assert_eq!(answer.status(), 502);
    assert_eq!(service.exit_code().await, Some(0));
}

/// Of shown popups that are long over, in batches of 5,000.
const OVER: i64 = 100_000;

async fn popups_that_are_over(pool: &PgPool) {
    let insert = "INSERT INTO consent_shown SELECT 'pixel', '2001-01-01', 'visitor-' || n
                  FROM generate_series(1, $1) AS n";
    sqlx::query(insert).bind(OVER).execute(pool).await.unwrap();
}

async fn left(pool: &PgPool) -> i64 {
    query_scalar("SELECT count(*) FROM consent_shown").fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn a_long_deletion_ends_with_the_batch_that_it_is_at() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    popups_that_are_over(&pool).await;
    let dawdle = [
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END'",
        "CREATE TRIGGER dawdle AFTER DELETE ON consent_shown EXECUTE FUNCTION dawdle()",
    ];
    for statement in dawdle {
        pool.execute(statement).await.unwrap();
    }
    let mut service = Process::start(program(&database.url)).await;
    let started = Instant::now();
    while left(&pool).await == OVER {
        assert!(started.elapsed() < Duration::from_secs(15), "nothing is deleted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    service.send(Signal::SIGTERM);
    assert_eq!(service.exit_code().await, Some(0));
    let left = left(&pool).await;
    assert!(left > 0 && left % 5_000 == 0, "{left} rows are left");
    assert!(service.log().contains("deleted expired data"), "{}", service.log());
    assert!(!service.log().contains("WARN"), "{}", service.log());
}

#[tokio::test]
async fn a_deletion_that_waits_for_a_lock_does_not_hold_up_the_end() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    popups_that_are_over(&pool).await;
    let mut other = sqlx::PgConnection::connect(&database.url).await.unwrap();
    other.execute("BEGIN; LOCK TABLE consent_shown IN SHARE MODE").await.unwrap();
    let mut service = Process::start(program(&database.url)).await;
    let waiting =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'consent_shown'::regclass
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let started = Instant::now();
    while query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() == 0 {
        assert!(started.elapsed() < Duration::from_secs(15), "nothing waits for the lock");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    service.send(Signal::SIGTERM);
    assert_eq!(service.exit_code().await, Some(0));
    assert!(service.log().contains("are still in use and are dropped"), "{}", service.log());
    assert_eq!(left(&pool).await, OVER);
}
