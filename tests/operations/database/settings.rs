//! Settings prescribed by a role or a database, which must not affect the program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::clock::Clock;
use assent::infra::postgres::Database;
use assent::infra::postgres::dedicated_connection::DedicatedConnection;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool, query_scalar};

use crate::support::contacts::{bound, person};
use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::servers::{Server, Servers};
use crate::support::process::{program, run, said};
use crate::support::server::start_of_time;
use crate::support::waiting::wait_until;
use crate::support::{Account, Answer, App};

/// A setting as a database may prescribe it, and its value on the service's connections.
const HOSTILE: [(&str, &str, &str); 23] = [
    ("default_transaction_isolation", "serializable", "read committed"),
    ("default_transaction_isolation", "repeatable read", "read committed"),
    ("default_transaction_deferrable", "on", "off"),
    ("synchronous_commit", "off", "on"),
    ("synchronous_commit", "local", "on"),
    ("statement_timeout", "20ms", "1min"),
    ("lock_timeout", "1ms", "0"),
    ("idle_in_transaction_session_timeout", "1ms", "0"),
    ("idle_session_timeout", "50ms", "0"),
    ("standard_conforming_strings", "off", "on"),
    ("transform_null_equals", "on", "off"),
    ("array_nulls", "off", "on"),
    ("row_security", "off", "on"),
    ("client_min_messages", "debug1", "warning"),
    ("TimeZone", "Pacific/Kiritimati", "UTC"),
    ("DateStyle", "German, DMY", "ISO, MDY"),
    ("IntervalStyle", "sql_standard", "postgres"),
    ("bytea_output", "escape", "hex"),
    ("extra_float_digits", "-15", "1"),
    ("jit", "on", "off"),
    ("session_replication_role", "replica", "origin"),
    ("search_path", "nowhere", "public"),
    ("search_path", "information_schema", "public, information_schema"),
];

async fn shown(connection: &mut PgConnection, setting: &str) -> String {
    let current = query_scalar("SELECT current_setting($1)").bind(setting);
    current.fetch_one(connection).await.unwrap()
}

/// A database whose sessions all start with this value.
async fn prescribed(setting: &str, value: &str) -> Arc<TestDatabase> {
    let database = TestDatabase::create().await;
    let value = if setting == "DateStyle" { value.to_owned() } else { format!("'{value}'") };
    database.alter(&format!("SET {setting} = {value}")).await;
    Arc::new(database)
}

#[tokio::test]
async fn every_connection_has_the_settings_that_the_program_needs() {
    for (setting, hostile, expected) in HOSTILE {
        let database = prescribed(setting, hostile).await;
        let service = Database::connect(&database.url).unwrap();
        let mut pooled = service.pool.acquire().await.unwrap();
        assert_eq!(shown(&mut pooled, setting).await, expected, "{setting} of the pool");
        let replica = Database::connect_replica(&database.url).unwrap();
        let mut pooled = replica.pool.acquire().await.unwrap();
        assert_eq!(shown(&mut pooled, setting).await, expected, "{setting} of a replica");
        let mut kept = DedicatedConnection::new(&service);
        let kept = kept.get().await.unwrap();
        let expected = if setting == "statement_timeout" { "4s" } else { expected };
        assert_eq!(shown(&mut kept.connection, setting).await, expected, "{setting} of a kept one");
    }
}

#[tokio::test]
async fn a_search_path_that_contains_the_tables_is_kept() {
    let database = TestDatabase::empty().await;
    let plain = PgPool::connect(&database.url).await.unwrap();
    sqlx::query("CREATE SCHEMA consent").execute(&plain).await.unwrap();
    database.alter("SET search_path = consent, public").await;
    let mut migrate = program(&database.url);
    migrate.arg("migrate");
    assert_eq!(said(&run(migrate).await).0, Some(0));
    let service = Database::connect(&database.url).unwrap();
    let mut connection = service.pool.acquire().await.unwrap();
    assert_eq!(shown(&mut connection, "search_path").await, "consent, public");
    let schema = "SELECT relnamespace::regnamespace::text FROM pg_class
        WHERE oid = 'consent_receipts'::regclass";
    let schema = query_scalar::<_, String>(schema).fetch_one(&mut *connection).await.unwrap();
    assert_eq!(schema, "consent");
}

async fn service_on(database: &Arc<TestDatabase>) -> (App, Account) {
    let clock = Clock::manual(start_of_time());
    let app = App::spawn_on(Arc::clone(database), clock, &[]).await;
    let ann = app.account("ann@settings.example").await;
    (app, ann)
}

/// Retries when the machine was too busy to connect in time, which is not under test here.
async fn with_database_retry(ask: impl AsyncFn() -> Answer) -> Answer {
    for _ in 0..5 {
        let answer = ask().await;
        if answer.status != 503 {
            return answer;
        }
    }
    ask().await
}

fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

/// Concurrent creation of pixels: twelve requests for one host, and more pixels than an account may have.
async fn pixels_are_given_once(app: &App, ann: &Account) {
    let bob = app.account("bob@settings.example").await;
    let create = |key: String, domain: String| async move {
        let body = json!({"domain": domain});
        with_database_retry(async || app.call(Method::POST, "/v1/pixels", &key, body.clone()).await)
            .await
    };
    let one_host = (0..12).map(|number| {
        let key = if number % 2 == 0 { &ann.key } else { &bob.key };
        create(key.clone(), "wanted.example".to_owned())
    });
    let answers = join_all(one_host).await;
    assert_eq!((count(&answers, 201), count(&answers, 409)), (6, 6), "{answers:?}");
    let many = (0..12).map(|number| create(bob.key.clone(), format!("host-{number}.example")));
    let answers = join_all(many).await;
    assert_eq!(count(&answers, 201) + count(&answers, 403), 12, "{answers:?}");
    assert!(count(&answers, 201) <= 3, "{answers:?}");
}

/// Concurrent issuing of keys succeeds, up to the maximum number per account.
async fn keys_are_issued(app: &App, ann: &Account) {
    let issue = &async || app.call(Method::POST, "/v1/api-keys", &ann.key, json!({})).await;
    let answers = join_all((0..32).map(|_| with_database_retry(issue))).await;
    assert_eq!(count(&answers, 201) + count(&answers, 403), 32, "{answers:?}");
    assert!(count(&answers, 201) >= 15, "{answers:?}");
}

/// Concurrent choices and contacts of many visitors, and the effects of a withdrawal.
async fn choices_and_contacts_are_stored(app: &App, ann: &Account) {
    let site = app.consent_site(&ann.key, "choices.example").await;
    let visitors = (0..20).map(|number| format!("visitor-{number}")).collect::<Vec<_>>();
    let bodies = visitors.iter().map(|visitor| site.acceptance(visitor)).collect::<Vec<_>>();
    let answers = join_all(bodies.iter().map(|body| app.record(body))).await;
    assert_eq!(count(&answers, 202), visitors.len(), "{answers:?}");
    let stored = app.store(&ann.key, &site.pixel_id, json!([bound(1, "visitor-1"), person(2)]));
    stored.await.expect(200);
    app.recorded(&site.refusal("visitor-1", "withdrawn")).await;
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["permitted"], false);
    assert_eq!(app.check(&site.pixel_id, "visitor-2").await["permitted"], true);
    // The trigger records which contacts may have lost their consent.
    app.until(async || app.all_contacts(&ann.key, &site.pixel_id).await.len() == 1).await;
    let log = app.log(&ann.key, &site.pixel_id).await;
    assert_eq!(log.len(), visitors.len() + 1);
    assert!(log[0]["receipt"]["recorded_at"].as_str().unwrap().starts_with("2026-03-1"), "{log:?}");
    app.get("/healthz").await.expect(200);
    let stats = app.call(Method::GET, &site.path("/stats"), &ann.key, Value::Null).await;
    stats.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_creations_keys_and_choices_succeed_whatever_the_database_prescribes() {
    for (setting, hostile, _) in HOSTILE {
        eprintln!("{setting} = {hostile}");
        let database = prescribed(setting, hostile).await;
        let (app, ann) = service_on(&database).await;
        pixels_are_given_once(&app, &ann).await;
        keys_are_issued(&app, &ann).await;
        choices_and_contacts_are_stored(&app, &ann).await;
        app.pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_read_again_after_a_restart_whatever_isolation_is_prescribed() {
    let servers = Servers::start();
    let prescribe = "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'";
    servers.run(Server::First, prescribe).await;
    // Such a session of the standby can show its settings, and nothing else.
    let is_prescribed = async || servers.isolation(Server::Second).await == "serializable";
    wait_until("the standby has the setting", is_prescribed).await;
    let database = Database::connect_replica(&servers.url(Server::Second)).unwrap();
    let watching = tokio::spawn(database.clone().watch());
    for is_restarted in [false, true] {
        if is_restarted {
            servers.restart_as_standby(Server::Second);
        }
        let begun = Instant::now();
        while sqlx::query("SELECT 1").execute(&database.pool).await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(15), "restarted: {is_restarted}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    database.pool.close().await;
    watching.await.unwrap();
}
