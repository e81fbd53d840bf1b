//! Nodes and databases that are killed while customers' servers are told what happens lose nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::clock::Clock;
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::json;

use crate::support::Process;
use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::killable_database::KillableDatabase;
use crate::support::process::program;
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::waiting::wait_until;
use crate::support::webhooks::{HOSTS, Hooks};

const A: &str = "hooks.example/a";
const EVENTS: usize = 60;

/// The real program, on the database and with the servers of the test.
async fn node(url: &str, site: &HttpsSite) -> Process {
    let mut command = program(url);
    command.env("WEBHOOK_RESOLVE", site.resolve(&HOSTS)).env("WEBHOOK_CA_FILE", ca_file());
    Process::start(command).await
}

#[tokio::test]
async fn a_node_that_is_killed_while_it_sends_loses_nothing() {
    let hooks = Hooks::with_clock(Clock::System).await;
    let made = hooks.webhook(A, Reply::late(Duration::from_millis(50), Reply::page("ok"))).await;
    let path = format!("/v1/webhooks/{}", made["endpoint_id"].as_str().unwrap());
    hooks.call(Method::PATCH, &path, json!({"paused": true})).await.expect(200);
    hooks.happen(EVENTS).await;
    let Hooks { app, infra, site, .. } = hooks;
    let database = app.database.clone();
    // From here on the other process alone sends.
    drop(app);
    wait_until("this node has ended", async || infra.shutdown.has_begun()).await;
    let mut killed = node(&database.url, &site).await;
    sqlx::query("UPDATE webhook_endpoints SET paused_at = NULL, paused_because = NULL")
        .execute(&infra.pool)
        .await
        .unwrap();
    let sent = || site.seen().into_iter().filter(|seen| seen.page == A).collect::<Vec<_>>();
    wait_until("some have arrived", async || sent().len() > 10).await;
    site.answer(A, Reply::late(Duration::from_secs(8), Reply::page("ok")));
    let other = node(&database.url, &site).await;
    killed.send(Signal::SIGKILL);
    killed.exit_code().await;
    let before = sent().len();
    assert!(before < EVENTS, "it was killed in the middle");
    site.answer(A, Reply::page("ok"));
    // Its claim lapses.
    sqlx::query("UPDATE webhook_endpoints SET claimed_until = created_at")
        .execute(&infra.pool)
        .await
        .unwrap();
    let waiting = "SELECT count(*) FROM webhook_deliveries WHERE next_attempt_at IS NOT NULL";
    let all =
        async || sqlx::query_scalar::<_, i64>(waiting).fetch_one(&infra.pool).await.unwrap() == 0;
    wait_until("all have arrived", all).await;
    let mut copies = BTreeMap::new();
    for seen in sent() {
        *copies.entry(seen.header("webhook-id").to_owned()).or_insert(0) += 1;
    }
    assert_eq!(copies.len(), EVENTS);
    let twice = copies.values().filter(|count| **count > 1).count();
    assert!(twice <= 3, "what was under way and what was not noted yet, not {twice}");
    assert!(!other.log().contains("whsec_") && !killed.log().contains("hooks.example/a"));
}

/// For so long nodes hold on to what they could not note.
const SHORT: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_killed_while_two_nodes_send_loses_nothing_and_doubles_nothing() {
    let mut database = KillableDatabase::start().await;
    let served = Arc::new(TestDatabase::of_server(&database.url()).await);
    let hooks = Hooks::on(served, Clock::System).await;
    let _other = hooks.another_node().await;
    let made = hooks.webhook(A, Reply::late(Duration::from_millis(50), Reply::page("ok"))).await;
    let path = format!("/v1/webhooks/{}", made["endpoint_id"].as_str().unwrap());
    hooks.call(Method::PATCH, &path, json!({"paused": true})).await.expect(200);
    hooks.happen(EVENTS).await;
    hooks.call(Method::PATCH, &path, json!({"paused": false})).await.expect(200);
    wait_until("some have arrived", async || hooks.sent(A).len() > 10).await;
    database.kill();
    let (killed_at, before) = (Instant::now(), hooks.sent(A).len());
    assert!(before < EVENTS, "it was killed in the middle");
    // The database is away for this time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    database.start_again().await;
    let is_short = killed_at.elapsed() < SHORT;
    // Should the visit have ended, its claim lapses after half a minute.
    wait_until("all have arrived", async || ids(&hooks).len() == EVENTS).await;
    hooks.settled(&made["endpoint_id"]).await;
    let twice = hooks.sent(A).len() - EVENTS;
    assert!(twice == 0 || !is_short, "{twice} came twice");
    if is_short {
        assert!(hooks.numbers(A).is_sorted(), "in their order");
    }
    assert!(hooks.only().await["failing_since"].is_null(), "the endpoint is not to blame");
}

fn ids(hooks: &Hooks) -> BTreeSet<String> {
    hooks.sent(A).iter().map(|seen| seen.header("webhook-id").to_owned()).collect()
}
