//! Endpoints of one node share reads and commits, and do not delay each other.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::support::fresh_address;
use crate::support::sites::https_site::Reply;
use crate::support::waiting::wait_until;
use crate::support::webhooks::{Hooks, choose};

const LOCKED: [&str; 3] = ["hooks.example/a", "hooks.example/b", "hooks.example/c"];
const FREE: &str = "other.example/";
const ACCOUNTS: usize = 16;
/// As many as an account may have; all together are more than one read includes.
const ENDPOINTS: usize = 5;

#[tokio::test]
async fn endpoints_whose_rows_are_locked_delay_no_other_and_lose_no_result() {
    delay_no_other("SELECT FROM webhook_endpoints WHERE endpoint_id = ANY($1) FOR UPDATE").await;
}

#[tokio::test]
async fn endpoints_whose_deliveries_are_locked_delay_no_other_and_lose_no_result() {
    delay_no_other("SELECT FROM webhook_deliveries WHERE endpoint_id = ANY($1) FOR UPDATE").await;
}

async fn delay_no_other(locking: &'static str) {
    let hooks = Hooks::start().await;
    let mut ids = Vec::new();
    for (number, page) in LOCKED.into_iter().enumerate() {
        // Their responses arrive one after the other, so that no two of them share a batch.
        let pause = Duration::from_millis(1_000 + 300 * number as u64);
        let made = hooks.webhook(page, Reply::late(pause, Reply::page("ok"))).await;
        ids.push(made["endpoint_id"].as_str().unwrap().parse::<Uuid>().unwrap());
    }
    let free = hooks.webhook(FREE, Reply::page("ok")).await;
    hooks.happen(1).await;
    for page in LOCKED {
        hooks.arrived(page, 1).await;
    }
    let mut lock = hooks.infra.pool.begin().await.unwrap();
    sqlx::query(locking).bind(&ids).execute(&mut *lock).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    hooks.happen(1).await;
    hooks.arrived(FREE, 2).await;
    hooks.settled(&free["endpoint_id"]).await;
    for id in &ids {
        assert_ne!(hooks.deliveries(&json!(id)).await["waiting"], 0, "a row is locked");
    }
    lock.rollback().await.unwrap();
    for (id, page) in ids.iter().zip(LOCKED) {
        hooks.settled(&json!(id)).await;
        assert_eq!(hooks.numbers(page), [0, 0], "once each");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_of_many_accounts_each_receive_their_events_once() {
    let hooks = Hooks::start().await;
    let pages =
        |account: usize| (0..ENDPOINTS).map(move |n| format!("hooks.example/{account}/{n}"));
    let subscribed = (0..ACCOUNTS).map(async |number| {
        let account = hooks.app.mailed_account(&fresh_address("many")).await;
        let shop = hooks.app.consent_site(&account.key, &format!("shop-{number}.example")).await;
        for page in pages(number) {
            hooks.site.answer(&page, Reply::page("ok"));
            let body = json!({"url": format!("https://{page}")});
            hooks.app.call(Method::POST, "/v1/webhooks", &account.key, body).await.expect(201);
        }
        shop
    });
    let shops = join_all(subscribed).await;
    join_all(shops.iter().map(|shop| choose(&hooks.app, shop, 3))).await;
    let waiting = "SELECT count(*) FROM webhook_deliveries WHERE next_attempt_at IS NOT NULL";
    let count = async || sqlx::query_scalar::<_, i64>(waiting).fetch_one(&hooks.infra.pool).await;
    wait_until("all are delivered", async || count().await.unwrap() == 0).await;
    for page in (0..ACCOUNTS).flat_map(pages) {
        assert_eq!(hooks.numbers(&page), [0, 1, 2], "{page}: each once, in their order");
    }
}
