//! A switchover between two PostgreSQL servers behind one address, while connections to the former
//! primary stay open: a visitor who has withdrawn is never reported as permitted, and the service
//! recovers soon.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::failover_scene::{RECOVERED, Scene, UNAVAILABLE};
use crate::support::App;
use crate::support::postgres::servers::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_only_former_primary_answers_nothing_on_open_connections() {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    scene.servers.set_read_only(Server::First, true).await;
    scene.are_unavailable().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    scene.recover(Instant::now()).await;
    // A client that still reaches the former primary must not see it in use again.
    scene.servers.set_read_only(Server::First, false).await;
    scene.all_work().await.unwrap();
    scene.nothing_was_wrong();
    // Then it becomes a standby, which closes its connections, and the address leads back to it.
    scene.servers.restart_as_standby(Server::First);
    scene.lead_to(Server::First);
    scene.servers.stop(Server::Second);
    scene.are_unavailable().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_answered_while_the_address_leads_to_a_standby_until_its_promotion() {
    let scene = Scene::start().await;
    scene.lead_to(Server::Second);
    scene.are_unavailable().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_former_primary_that_accepts_writes_is_abandoned_once_the_address_changes() {
    let scene = Scene::start().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    let begun = Instant::now();
    let mut second = PgConnection::connect(&scene.servers.url(Server::Second)).await.unwrap();
    let writes = "SELECT count(*) FROM consent_receipts WHERE visitor_id = $1";
    // Rows that a node still records on the former primary are lost, so visitors under watch come
    // afterwards.
    for (number, node) in scene.nodes.iter().enumerate() {
        let visitor = format!("late-{number}");
        loop {
            let answer = node.record(&scene.site.refusal(&visitor, "declined")).await;
            assert!(matches!(answer.status, 202 | 503), "{answer:?}");
            let written = sqlx::query_scalar::<_, i64>(writes).bind(&visitor);
            if written.fetch_one(&mut second).await.unwrap() > 0 {
                break;
            }
            assert!(begun.elapsed() < RECOVERED, "it still records on the former primary");
        }
    }
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_primary_that_is_full_does_not_prolong_the_use_of_the_former_one() {
    let scene = Scene::start().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    let mut guests = Vec::new();
    while let Ok(guest) = PgConnection::connect(&scene.servers.url(Server::Second)).await {
        guests.push(guest);
    }
    scene.lead_to(Server::Second);
    // The former primary still takes writes, and the address says nothing but that there is no room.
    scene.are_unavailable().await;
    drop(guests);
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_primary_that_is_full_stays_in_use() {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    let mut guests = Vec::new();
    while let Ok(guest) = PgConnection::connect(&scene.servers.url(Server::First)).await {
        guests.push(guest);
    }
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(12) {
        for node in &scene.nodes {
            scene.withdraws(node).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    scene.nothing_was_wrong();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_primary_that_hangs_is_left_when_the_address_leads_elsewhere_and_is_not_used_when_it_goes_on()
 {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    scene.servers.catches_up().await;
    scene.servers.freeze(Server::First);
    // Requests during this time hang on connections of the pool and on kept connections.
    let hanging = (0..20).map(|number| {
        let (node, key) = (Arc::clone(&scene.nodes[number % 2]), scene.ann.key.clone());
        tokio::spawn(
            async move { node.call(Method::GET, "/v1/pixels", &key, Value::Null).await.status },
        )
    });
    let hanging = hanging.collect::<Vec<_>>();
    tokio::time::sleep(Duration::from_secs(2)).await;
    scene.nodes[0].get("/healthz").await.refused(503, UNAVAILABLE);
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    scene.recover(Instant::now()).await;
    for asked in hanging {
        assert!(matches!(asked.await.unwrap(), 200 | 503));
    }
    scene.servers.thaw(Server::First);
    scene.all_work().await.unwrap();
    scene.nothing_was_wrong();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_a_crash_of_the_primary_the_promoted_standby_takes_over() {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    scene.servers.catches_up().await;
    scene.servers.stop(Server::First);
    scene.are_unavailable().await;
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_read_only_for_a_while_is_unavailable_and_then_works_again() {
    let app = App::spawn().await;
    let ann = app.account("ann@failover.example").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    app.recorded(&site.refusal("first", "withdrawn")).await;
    let new_account = json!({"email": "bob@failover.example", "display_name": "Bob"});
    let check = format!("/v1/consent/check?pixel_id={}&visitor_id=first", site.pixel_id);
    for ends_sessions in [true, false] {
        app.database.alter("SET default_transaction_read_only = on").await;
        app.database.end_sessions().await;
        for _ in 0..2 {
            let record = site.refusal("second", "declined");
            let (recorded, checked, opened, health) = tokio::join!(
                app.record(&record),
                app.get(&check),
                app.post("/v1/accounts", new_account.clone()),
                app.get("/healthz"),
            );
            for answer in [recorded, checked, opened, health] {
                answer.refused(503, UNAVAILABLE);
            }
        }
        app.database.alter("RESET default_transaction_read_only").await;
        if ends_sessions {
            app.database.end_sessions().await;
        }
        let begun = Instant::now();
        loop {
            let record = app.record(&site.refusal("third", "declined")).await.status;
            let health = app.get("/healthz").await.status;
            let checked = app.get(&check).await.status;
            let pixels = app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.status;
            if (record, health, checked, pixels) == (202, 200, 200, 200) {
                break;
            }
            assert!(begun.elapsed() < RECOVERED, "{record} {health} {checked} {pixels}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    app.post("/v1/accounts", new_account).await.expect(201);
}
