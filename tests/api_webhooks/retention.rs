//! Retention of events and deliveries.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::query_scalar;

use crate::support::sites::https_site::Reply;
use crate::support::waiting::wait_until;
use crate::support::webhooks::Hooks;

const A: &str = "hooks.example/a";

fn path(webhook: &Value, rest: &str) -> String {
    format!("/v1/webhooks/{}{rest}", webhook["endpoint_id"].as_str().unwrap())
}

fn first(list: &Value) -> &Value {
    &list["deliveries"][0]
}

#[tokio::test]
async fn an_event_without_an_attempt_is_kept_for_a_day() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::page("ok")).await;
    hooks.call(Method::PATCH, &path(&made, ""), json!({"paused": true})).await.expect(200);
    hooks.happen(1).await;
    hooks.app.clock.advance(Duration::hours(23));
    hooks.happen(1).await;
    hooks.app.clock.advance(Duration::hours(2));
    let kept = async || hooks.deliveries(&made["endpoint_id"]).await["waiting"] == 1;
    wait_until("the older one is deleted", kept).await;
    hooks.call(Method::PATCH, &path(&made, ""), json!({"paused": false})).await.expect(200);
    hooks.arrived(A, 1).await;
}

/// A day of attempts, and as long as the server may be left alone before the last of them.
#[tokio::test]
async fn a_failed_event_is_given_up_after_a_day_and_stays_in_the_last_deliveries() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::status(500)).await;
    let (id, pause) = (&made["endpoint_id"], async |paused: bool| {
        let change = json!({"paused": paused});
        hooks.call(Method::PATCH, &path(&made, ""), change).await.expect(200);
    });
    hooks.happen(1).await;
    hooks.tried(id, 1).await;
    pause(true).await;
    hooks.app.clock.advance(Duration::hours(23));
    assert_eq!(hooks.deliveries(id).await["waiting"], 1);
    hooks.app.clock.advance(Duration::hours(4));
    let is_given_up = async || first(&hooks.deliveries(id).await)["state"] == "failed";
    wait_until("it is given up", is_given_up).await;
    // A replayed event has a day of its own, however old it is.
    hooks.app.clock.advance(Duration::days(3));
    let event = first(&hooks.deliveries(id).await)["event_id"].as_str().unwrap().to_owned();
    let replay = format!("/deliveries/{event}/replay");
    hooks.call(Method::POST, &path(&made, &replay), Value::Null).await.expect(202);
    hooks.app.clock.advance(Duration::hours(23));
    // Rounds pass in which nothing must be deleted.
    tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
    assert_eq!(hooks.deliveries(id).await["waiting"], 1, "it is kept");
    hooks.site.answer(A, Reply::page("ok"));
    pause(false).await;
    hooks.settled(id).await;
    assert_eq!(first(&hooks.deliveries(id).await)["state"], "delivered");
    assert_eq!(hooks.sent(A).len(), 2);
}

#[tokio::test]
async fn no_more_than_the_last_fifty_deliveries_are_kept() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::page("ok")).await;
    let rows = "SELECT count(*) FROM webhook_deliveries";
    let kept = async || {
        let kept = query_scalar::<_, i64>(rows).fetch_one(&hooks.app.pool).await.unwrap();
        usize::try_from(kept).unwrap()
    };
    for batch in 1..=6 {
        hooks.app.clock.advance(Duration::seconds(1));
        hooks.happen(20).await;
        hooks.settled(&made["endpoint_id"]).await;
        // Those of one moment go together.
        wait_until("no more are kept", async || kept().await <= (20 * batch).min(60)).await;
        assert!(kept().await >= (20 * batch).min(50));
    }
    assert_eq!(hooks.sent(A).len(), 120);
}
