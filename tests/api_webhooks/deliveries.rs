//! Deliveries to customers' servers: signed, in order, once if all goes well, and repeated after
//! failures.

use assent::clock::Clock;
use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::query_scalar;

use crate::support::MailServer;
use crate::support::sites::https_site::{Reply, Seen};
use crate::support::waiting::wait_until;
use crate::support::webhooks::{Hooks, choose, verifies};

const A: &str = "hooks.example/a";
const SLOW: &str = "slow.example/a";
const OTHER: &str = "other.example/a";

fn path(webhook: &Value, rest: &str) -> String {
    format!("/v1/webhooks/{}{rest}", webhook["endpoint_id"].as_str().unwrap())
}

fn first(list: &Value) -> &Value {
    &list["deliveries"][0]
}

#[tokio::test]
async fn every_delivery_is_signed_so_that_the_official_library_takes_it() {
    // The library looks at the machine's clock.
    let hooks = Hooks::with_clock(Clock::System).await;
    let made = hooks.webhook(A, Reply::page("ok")).await;
    hooks.happen(2).await;
    hooks.arrived(A, 2).await;
    for seen in hooks.sent(A) {
        assert!(verifies(&made["secret"], &seen), "{seen:?}");
        let changed = Seen { body: seen.body.replace("choice", "Choice"), ..seen.clone() };
        assert!(!verifies(&made["secret"], &changed));
        let body = serde_json::from_str::<Value>(&seen.body).unwrap();
        assert_eq!(body["type"], "choice.recorded");
        assert_eq!(body["data"]["pixel_id"], json!(hooks.shop.pixel_id));
        assert!(body["timestamp"].as_str().unwrap().ends_with('Z'));
        assert_eq!(seen.header("content-type"), "application/json");
        assert!(seen.header("webhook-id").starts_with("evt_"));
    }
    let ids = hooks.sent(A).into_iter().map(|seen| seen.header("webhook-id").to_owned());
    assert_eq!(ids.collect::<std::collections::HashSet<_>>().len(), 2);
}

#[tokio::test]
async fn for_a_day_after_a_change_both_secrets_verify() {
    let hooks = Hooks::with_clock(Clock::System).await;
    let made = hooks.webhook(A, Reply::page("ok")).await;
    let rotated = hooks.call(Method::POST, &path(&made, "/secret"), Value::Null).await.expect(200);
    hooks.happen(1).await;
    hooks.arrived(A, 1).await;
    let seen = hooks.sent(A).remove(0);
    assert!(verifies(&made["secret"], &seen) && verifies(&rotated["secret"], &seen));
    // A run reads the secrets with its claim.
    let claimed = "SELECT EXISTS (SELECT FROM webhook_endpoints WHERE claimed_by IS NOT NULL)";
    let is_claimed =
        async || sqlx::query_scalar::<_, bool>(claimed).fetch_one(&hooks.app.pool).await;
    wait_until("the run has ended", async || !is_claimed().await.unwrap()).await;
    sqlx::query("UPDATE webhook_endpoints SET previous_until = created_at")
        .execute(&hooks.app.pool)
        .await
        .unwrap();
    hooks.happen(1).await;
    hooks.arrived(A, 2).await;
    let seen = hooks.sent(A).remove(1);
    assert!(!verifies(&made["secret"], &seen) && verifies(&rotated["secret"], &seen));
}

#[tokio::test]
async fn events_of_a_pixel_arrive_once_and_in_order_from_two_nodes() {
    let hooks = Hooks::start().await;
    let there = hooks.another_node().await;
    let made = hooks.webhook(A, Reply::page("thanks")).await;
    hooks.happen(30).await;
    hooks.arrived(A, 30).await;
    assert_eq!(hooks.numbers(A), (0..30).collect::<Vec<_>>());
    choose(&there, &hooks.shop, 30).await;
    hooks.settled(&made["endpoint_id"]).await;
    hooks.arrived(A, 60).await;
    assert_eq!(hooks.numbers(A)[30..], (0..30).collect::<Vec<_>>());
    let list = hooks.deliveries(&made["endpoint_id"]).await;
    assert_eq!(list["deliveries"].as_array().unwrap().len(), 50, "the last of them are kept");
    assert_eq!(first(&list)["state"], "delivered");
    assert_eq!((&first(&list)["status"], &first(&list)["answer"]), (&json!(200), &json!("thanks")));
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_with_growing_pauses_until_it_arrives() {
    let hooks = Hooks::start().await;
    let failing = Reply::Whole(500, String::new(), b"<p>no\r\n\tway \x07".to_vec());
    let made = hooks.webhook(A, failing).await;
    let id = &made["endpoint_id"];
    hooks.happen(1).await;
    for (attempt, pause) in [(1, 7), (2, 40), (3, 150), (4, 800)] {
        hooks.tried(id, attempt).await;
        let list = hooks.deliveries(id).await;
        assert_eq!(
            (&first(&list)["state"], &first(&list)["status"]),
            (&json!("waiting"), &json!(500))
        );
        assert_eq!(first(&list)["answer"], "<p>no way");
        assert_eq!(hooks.sent(A).len() as i64, attempt);
        hooks.app.clock.advance(Duration::seconds(pause));
    }
    hooks.tried(id, 5).await;
    assert_eq!(hooks.only().await["failing_since"], "2026-03-10T12:00:00.000Z");
    hooks.site.answer(A, Reply::page("ok"));
    hooks.app.clock.advance(Duration::hours(1));
    hooks.settled(id).await;
    assert_eq!(hooks.only().await["failing_since"], Value::Null);
    let ids = hooks.sent(A).into_iter().map(|seen| seen.header("webhook-id").to_owned());
    assert_eq!(ids.collect::<std::collections::HashSet<_>>().len(), 1, "one event, one id");
    hooks.app.clock.advance(Duration::days(1));
    hooks.happen(1).await;
    hooks.settled(id).await;
    hooks.arrived(A, 7).await;
}

#[tokio::test]
async fn after_a_day_of_failures_it_is_paused_and_its_owner_notified() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::status(503)).await;
    let id = &made["endpoint_id"];
    hooks.happen(1).await;
    hooks.tried(id, 1).await;
    let mails = MailServer::shared().inbox(&hooks.ann.email).len();
    let mut attempts = 1;
    while hooks.only().await["paused_at"].is_null() {
        attempts += 1;
        hooks.app.clock.advance(Duration::hours(5));
        hooks.tried(id, attempts).await;
        assert!(attempts < 10, "it is never paused");
        let is_noted = async || {
            let webhook = hooks.only().await;
            !webhook["paused_at"].is_null() || attempts < 6
        };
        wait_until("it is judged", is_noted).await;
    }
    assert_eq!(hooks.only().await["paused_because"], "failing");
    let mail = MailServer::shared().wait_for(&hooks.ann.email, mails + 1).await.pop().unwrap();
    assert_eq!(mail.subject(), "The webhook to hooks.example is paused");
    assert!(mail.text().contains("Failing since") && !mail.text().contains("hooks.example/a"));
    // Events of this time are stored, and sent in order once the owner has repaired the endpoint.
    hooks.site.answer(A, Reply::page("ok"));
    let before = hooks.sent(A).len();
    hooks.happen(3).await;
    hooks.app.clock.advance(Duration::hours(2));
    // A round passes in which nothing must be sent.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(hooks.sent(A).len(), before, "nothing is sent while it is paused");
    let resume = json!({"paused": false});
    hooks.call(Method::PATCH, &path(&made, ""), resume).await.expect(200);
    hooks.settled(id).await;
    assert_eq!(hooks.numbers(A)[before..], [0, 1, 2]);
    let since = json!({"since": "2026-03-10T12:00:00Z"});
    let replayed = hooks.call(Method::POST, &path(&made, "/replay"), since).await.expect(202);
    assert_eq!(replayed["replayed"], 4, "with the one that was given up");
    hooks.arrived(A, before + 7).await;
}

#[tokio::test]
async fn an_endpoint_that_answers_410_is_paused_at_once() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::status(410)).await;
    let mails = MailServer::shared().inbox(&hooks.ann.email).len();
    hooks.happen(3).await;
    wait_until("it is paused", async || hooks.only().await["paused_because"] == "gone").await;
    MailServer::shared().wait_for(&hooks.ann.email, mails + 1).await;
    assert!(hooks.sent(A).len() <= 2);
    assert!(hooks.deliveries(&made["endpoint_id"]).await["waiting"].as_i64() >= Some(2));
}

#[tokio::test]
async fn a_bad_server_loses_nothing_doubles_nothing_and_delays_nobody() {
    let hooks = Hooks::start().await;
    let other = hooks.webhook(OTHER, Reply::page("ok")).await;
    let bad = [
        Reply::redirect("https://other.example/a"),
        Reply::Silence,
        Reply::Stalling("a".to_owned()),
        Reply::BreakingOff("half".to_owned()),
        Reply::Raw(b"\x16\x03nonsense\r\n\r\n"),
        Reply::status(500),
    ];
    let made = hooks.webhook(SLOW, Reply::page("")).await;
    for (number, reply) in bad.into_iter().enumerate() {
        // An endpoint that answers 200 has accepted the event, even if the rest of its answer fails.
        let takes = matches!(reply, Reply::Stalling(_) | Reply::BreakingOff(_));
        let (slow, fast) = (hooks.sent(SLOW).len(), hooks.sent(OTHER).len());
        hooks.site.answer(SLOW, reply.clone());
        hooks.happen(1).await;
        hooks.arrived(OTHER, fast + 1).await;
        wait_until("the bad one is asked", async || hooks.sent(SLOW).len() > slow).await;
        let list = async || hooks.deliveries(&made["endpoint_id"]).await;
        wait_until("it is noted", async || {
            first(&list().await)["occurred_at"] == json!(now(&hooks))
        })
        .await;
        let list = list().await;
        let state = if takes { "delivered" } else { "waiting" };
        assert_eq!(first(&list)["state"], state, "{number} {reply:?} {list}");
        assert_eq!(hooks.sent(OTHER).len(), fast + 1, "no redirect is followed");
        hooks.site.answer(SLOW, Reply::page("ok"));
        hooks.app.clock.advance(Duration::hours(5));
        hooks.settled(&made["endpoint_id"]).await;
        let tries = if takes { 1 } else { 2 };
        assert_eq!(hooks.sent(SLOW).len(), slow + tries, "{number} {reply:?}");
    }
    hooks.settled(&other["endpoint_id"]).await;
}

fn now(hooks: &Hooks) -> String {
    hooks.app.clock.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

#[tokio::test]
async fn of_an_answer_without_end_only_the_beginning_is_read() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::Endless("abc ".repeat(1_000))).await;
    hooks.happen(1).await;
    hooks.settled(&made["endpoint_id"]).await;
    let list = hooks.deliveries(&made["endpoint_id"]).await;
    assert_eq!(first(&list)["state"], "delivered");
    assert_eq!(first(&list)["answer"].as_str().unwrap().len(), 200);
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_never_connected_to() {
    let hooks = Hooks::start().await;
    let body = json!({"url": "https://private.localhost/"});
    let made = hooks.call(Method::POST, "/v1/webhooks", body).await.expect(201);
    let tried = hooks.call(Method::POST, &path(&made, "/test"), Value::Null).await.expect(200);
    assert_eq!(tried["state"], "failed");
    let failure = tried["failure"].as_str().unwrap();
    assert!(
        failure.contains("not public") || failure.contains("could not be resolved"),
        "{failure}"
    );
}

#[tokio::test]
async fn one_delivery_can_be_sent_again_under_its_id() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::page("ok")).await;
    hooks.happen(2).await;
    hooks.settled(&made["endpoint_id"]).await;
    let list = hooks.deliveries(&made["endpoint_id"]).await;
    let event = list["deliveries"][1]["event_id"].as_str().unwrap();
    let replay = format!("/deliveries/{event}/replay");
    hooks.call(Method::POST, &path(&made, &replay), Value::Null).await.expect(202);
    hooks.arrived(A, 3).await;
    let sent = hooks.sent(A);
    assert_eq!(sent[2].header("webhook-id"), sent[0].header("webhook-id"));
    assert_eq!(sent[2].body, sent[0].body);
    let unknown = format!("/deliveries/{}/replay", uuid::Uuid::now_v7());
    let unknown = hooks.call(Method::POST, &path(&made, &unknown), Value::Null).await;
    unknown.refused(404, "delivery not found");
    let never = json!({"since": "yesterday"});
    hooks.call(Method::POST, &path(&made, "/replay"), never).await.invalid(&["body", "since"]);
}

/// A replay of everything changes the same rows as the notes of attempts' results, and as the deletion
/// of old events.
#[tokio::test(flavor = "multi_thread")]
async fn all_can_be_sent_again_while_the_attempts_before_are_noted() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::status(500)).await;
    hooks.happen(20).await;
    hooks.tried(&made["endpoint_id"], 1).await;
    let since = json!({"since": "2026-03-01T00:00:00Z"});
    let again = async || {
        for _ in 0..60 {
            let replay = path(&made, "/replay");
            let replayed = hooks.call(Method::POST, &replay, since.clone()).await.expect(202);
            assert!(replayed["replayed"].as_u64() >= Some(20), "with the test events: {replayed}");
            let tested = hooks.call(Method::POST, &path(&made, "/test"), Value::Null).await;
            assert!(matches!(tested.status, 200 | 429), "{tested:?}");
        }
    };
    futures_util::future::join4(again(), again(), again(), again()).await;
    hooks.site.answer(A, Reply::page("ok"));
    hooks.call(Method::POST, &path(&made, "/replay"), since.clone()).await.expect(202);
    // An attempt that was refused just before may be noted after the replay, which postpones the rest.
    wait_until("nothing waits", async || {
        hooks.app.clock.advance(Duration::minutes(1));
        hooks.deliveries(&made["endpoint_id"]).await["waiting"] == 0
    })
    .await;
}

#[tokio::test]
async fn a_delivery_of_a_node_that_died_is_sent_by_another() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook(A, Reply::page("ok")).await;
    // As a node that is gone has left it.
    sqlx::query("UPDATE webhook_endpoints SET claimed_by = $1, claimed_until = $2")
        .bind(uuid::Uuid::now_v7())
        .bind(hooks.app.clock.now() + Duration::seconds(30))
        .execute(&hooks.app.pool)
        .await
        .unwrap();
    hooks.happen(3).await;
    // Rounds pass in which nothing must be sent.
    tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
    assert_eq!(hooks.sent(A).len(), 0, "it is the other's");
    hooks.app.clock.advance(Duration::seconds(31));
    hooks.settled(&made["endpoint_id"]).await;
    assert_eq!(hooks.numbers(A), [0, 1, 2]);
    let claims = "SELECT count(*) FROM webhook_endpoints WHERE claimed_by IS NOT NULL";
    let free =
        async || query_scalar::<_, i64>(claims).fetch_one(&hooks.app.pool).await.unwrap() == 0;
    wait_until("it is given back", free).await;
}
