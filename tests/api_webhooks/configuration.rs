//! An account's webhooks: which there are, their secrets, changes and their end.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::query_scalar;

use crate::support::fresh_address;
use crate::support::sites::https_site::{Reply, Seen};
use crate::support::waiting::wait_until;
use crate::support::webhooks::{Hooks, choose, verifies};

const ALL: &str = "/v1/webhooks";

fn path(webhook: &Value, rest: &str) -> String {
    format!("{ALL}/{}{rest}", webhook["endpoint_id"].as_str().unwrap())
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stored_sealed() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
    let listed = hooks.call(Method::GET, ALL, Value::Null).await;
    assert!(!listed.text.contains("whsec_"), "{}", listed.text);
    assert_eq!(listed.json()["webhooks"][0]["url"], "https://hooks.example/a");
    assert_eq!(listed.json()["webhooks"][0]["paused_at"], Value::Null);
    let stored = "SELECT webhook_endpoints::text FROM webhook_endpoints";
    let stored = query_scalar::<_, String>(stored).fetch_one(&hooks.app.pool).await.unwrap();
    let bytes = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, &secret[6..]).unwrap();
    assert!(!stored.contains(&hex::encode(bytes)) && !stored.contains(&secret[6..]));

    let rotated = hooks.call(Method::POST, &path(&made, "/secret"), Value::Null).await.expect(200);
    assert_ne!(rotated["secret"], made["secret"]);
    assert_eq!(rotated["previous_secret_until"], "2026-03-11T12:00:00.000Z");
    hooks.app.clock.advance(chrono::Duration::days(1));
    assert_eq!(hooks.only().await["previous_secret_until"], Value::Null);
}

#[tokio::test]
async fn an_account_has_five_webhooks_at_most_each_to_a_public_host() {
    let hooks = Hooks::start().await;
    for url in ["http://hooks.example/", "https://localhost/", "https://10.0.0.1/", "hooks", ""] {
        let refused = hooks.call(Method::POST, ALL, json!({"url": url})).await;
        refused.invalid(&["body", "url"]);
    }
    hooks.call(Method::POST, ALL, json!({})).await.invalid(&["body", "url"]);
    let body = json!({"url": "https://hooks.example/", "events": ["choice.lost"]});
    assert_eq!(hooks.call(Method::POST, ALL, body).await.status, 422);
    let body = json!({"url": "https://hooks.example/", "pixels": ["unknown"]});
    hooks.call(Method::POST, ALL, body).await.refused(404, "pixel not found");
    for _ in 0..5 {
        hooks.call(Method::POST, ALL, json!({"url": "https://hooks.example/"})).await.expect(201);
    }
    let sixth = hooks.call(Method::POST, ALL, json!({"url": "https://hooks.example/"})).await;
    sixth.refused(403, "webhook allowance reached");
}

#[tokio::test]
async fn a_change_applies_to_later_events() {
    let hooks = Hooks::start().await;
    let other = hooks.app.consent_site(&hooks.ann.key, "two.example").await;
    let made = hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    hooks.site.answer("other.example/b", Reply::page("ok"));
    let change = json!({"url": "https://other.example/b", "pixels": [hooks.shop.pixel_id],
        "events": ["choice.recorded", "contact.created", "choice.recorded"]});
    let changed = hooks.call(Method::PATCH, &path(&made, ""), change).await.expect(200);
    assert_eq!(changed["events"], json!(["contact.created", "choice.recorded"]));
    assert_eq!(changed["pixels"], json!([hooks.shop.pixel_id]));
    choose(&hooks.app, &other, 1).await;
    hooks.happen(1).await;
    hooks.arrived("other.example/b", 1).await;
    assert_eq!(hooks.sent("hooks.example/a").len(), 0);
    let change = json!({"pixels": [], "events": ["contact.created"]});
    let changed = hooks.call(Method::PATCH, &path(&made, ""), change).await.expect(200);
    assert_eq!(
        (&changed["pixels"], &changed["url"]),
        (&json!([]), &json!("https://other.example/b"))
    );
    hooks.happen(1).await;
    hooks.settled(&made["endpoint_id"]).await;
    hooks.arrived("other.example/b", 1).await;
}

#[tokio::test]
async fn events_during_a_pause_are_sent_after_it() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    let pause = json!({"paused": true});
    let paused = hooks.call(Method::PATCH, &path(&made, ""), pause).await.expect(200);
    assert_eq!(paused["paused_because"], "owner");
    hooks.happen(2).await;
    let tried = hooks.call(Method::POST, &path(&made, "/test"), Value::Null).await.expect(200);
    assert_eq!((&tried["type"], &tried["state"]), (&json!("test"), &json!("delivered")));
    assert_eq!(hooks.sent("hooks.example/a").len(), 1, "the test alone");
    let list = hooks.deliveries(&made["endpoint_id"]).await;
    assert_eq!((&list["waiting"], &list["deliveries"][0]), (&json!(2), &tried));
    let resume = json!({"paused": false});
    hooks.call(Method::PATCH, &path(&made, ""), resume).await.expect(200);
    hooks.settled(&made["endpoint_id"]).await;
    hooks.arrived("hooks.example/a", 3).await;
    assert_eq!(
        hooks.deliveries(&made["endpoint_id"]).await["deliveries"].as_array().unwrap().len(),
        3
    );
}

#[tokio::test]
async fn with_a_webhook_ends_what_waits_for_it() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook("hooks.example/a", Reply::status(500)).await;
    hooks.happen(2).await;
    hooks.tried(&made["endpoint_id"], 1).await;
    hooks.call(Method::DELETE, &path(&made, ""), Value::Null).await.expect(204);
    hooks
        .call(Method::DELETE, &path(&made, ""), Value::Null)
        .await
        .refused(404, "webhook not found");
    let left = async || {
        let left = "SELECT count(*) FROM webhook_deliveries";
        query_scalar::<_, i64>(left).fetch_one(&hooks.app.pool).await.unwrap() == 0
    };
    wait_until("nothing is left", left).await;
    let events = hooks.call(Method::GET, "/v1/account/events", Value::Null).await.expect(200);
    // All of one moment, in no order.
    let mut events = events["events"].as_array().unwrap().iter();
    let deleted = events.find(|event| event["kind"] == "webhook_deleted").expect("it is noted");
    assert_eq!(deleted["subject"], made["endpoint_id"]);
}

#[tokio::test]
async fn another_account_finds_nothing() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    let tried = hooks.call(Method::POST, &path(&made, "/test"), Value::Null).await.expect(200);
    let bob = hooks.app.mailed_account(&fresh_address("bob")).await;
    let replay = format!("/deliveries/{}/replay", tried["event_id"].as_str().unwrap());
    let asked = [
        (Method::PATCH, "", json!({"paused": true})),
        (Method::DELETE, "", Value::Null),
        (Method::POST, "/secret", Value::Null),
        (Method::POST, "/test", Value::Null),
        (Method::GET, "/deliveries", Value::Null),
        (Method::POST, replay.as_str(), Value::Null),
        (Method::POST, "/replay", json!({"since": "2026-03-01T00:00:00Z"})),
    ];
    for (method, rest, body) in asked {
        let answer = hooks.app.call(method, &path(&made, rest), &bob.key, body).await;
        answer.refused(404, "webhook not found");
    }
    let own = hooks.app.call(Method::GET, ALL, &bob.key, Value::Null).await.expect(200);
    assert_eq!(own["webhooks"], json!([]));
    let body = json!({"url": "https://hooks.example/", "pixels": [hooks.shop.pixel_id]});
    let of_ann = hooks.app.call(Method::POST, ALL, &bob.key, body).await;
    of_ann.refused(404, "pixel not found");
    assert_eq!(hooks.sent("hooks.example/a").len(), 1);
}

#[tokio::test]
async fn a_group_of_events_is_subscribed_with_a_wildcard() {
    let hooks = Hooks::start().await;
    hooks.site.answer("hooks.example/a", Reply::page("ok"));
    hooks.site.answer("other.example/b", Reply::page("ok"));
    for (page, group) in [("hooks.example/a", "choice.*"), ("other.example/b", "contact.*")] {
        let body = json!({"url": format!("https://{page}"), "events": [group]});
        let made = hooks.call(Method::POST, ALL, body).await.expect(201);
        assert_eq!(made["events"], json!([group]));
    }
    for events in [json!(["*"]), json!(["visitor.*"]), json!(["choice.recorded.*"])] {
        let body = json!({"url": "https://hooks.example/a", "events": events});
        assert_eq!(hooks.call(Method::POST, ALL, body).await.status, 422);
    }
    hooks.happen(2).await;
    hooks.arrived("hooks.example/a", 2).await;
    hooks.app.store_people(&hooks.ann.key, &hooks.shop.pixel_id, 0..1).await.expect(200);
    hooks.arrived("other.example/b", 1).await;
    assert_eq!(hooks.sent("hooks.example/a").len(), 2);
}

#[tokio::test]
async fn a_test_that_is_answered_with_410_pauses_the_webhook() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook("hooks.example/a", Reply::status(410)).await;
    let tried = hooks.call(Method::POST, &path(&made, "/test"), Value::Null).await.expect(200);
    assert_eq!((&tried["state"], &tried["status"]), (&json!("failed"), &json!(410)));
    assert_eq!(hooks.only().await["paused_because"], "gone");
    let resume = json!({"paused": false});
    hooks.call(Method::PATCH, &path(&made, ""), resume).await.expect(200);
    assert_eq!(hooks.only().await["paused_at"], Value::Null);
}

#[tokio::test]
async fn an_event_is_replayed_by_any_form_of_its_id() {
    let hooks = Hooks::start().await;
    let made = hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    hooks.happen(1).await;
    hooks.settled(&made["endpoint_id"]).await;
    let delivery = hooks.deliveries(&made["endpoint_id"]).await["deliveries"][0].clone();
    let (id, header) = (delivery["event_id"].as_str().unwrap(), &delivery["webhook_id"]);
    let header = header.as_str().unwrap();
    assert_eq!(hooks.sent("hooks.example/a")[0].header("webhook-id"), header);
    let forms = [id.to_owned(), id.replace('-', ""), format!("evt_{id}"), header.to_owned()];
    for (sent, form) in forms.iter().enumerate() {
        let replay = path(&made, &format!("/deliveries/{form}/replay"));
        hooks.call(Method::POST, &replay, Value::Null).await.expect(202);
        hooks.arrived("hooks.example/a", sent + 2).await;
        hooks.settled(&made["endpoint_id"]).await;
    }
    for wrong in ["evt_", "evt-1", "msg_1", &format!("evt_evt_{id}")] {
        let replay = path(&made, &format!("/deliveries/{wrong}/replay"));
        hooks.call(Method::POST, &replay, Value::Null).await.refused(404, "delivery not found");
    }
}

/// Whether a public key has signed a delivery with Ed25519 (`v1a`).
fn is_signed(key: &Value, seen: &Seen) -> bool {
    let decode = |text: &str| {
        base64::Engine::decode(&base64::prelude::BASE64_STANDARD, text).expect("base64")
    };
    let key = decode(key.as_str().unwrap().strip_prefix("whpk_").unwrap());
    let key = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, key);
    let [id, at] = ["webhook-id", "webhook-timestamp"].map(|name| seen.header(name));
    let text = format!("{id}.{at}.{}", seen.body);
    let signatures = seen.header("webhook-signature").split(' ');
    let mut signatures = signatures.filter_map(|signature| signature.strip_prefix("v1a,"));
    signatures.any(|signature| key.verify(text.as_bytes(), &decode(signature)).is_ok())
}

#[tokio::test]
async fn deliveries_are_signed_with_ed25519_on_request() {
    let hooks = Hooks::with_clock(assent::clock::Clock::System).await;
    let made = hooks.webhook("hooks.example/a", Reply::page("ok")).await;
    assert_eq!((&made["signature"], &made["public_key"]), (&json!("v1"), &Value::Null));
    hooks.happen(1).await;
    hooks.arrived("hooks.example/a", 1).await;
    assert!(!hooks.sent("hooks.example/a")[0].header("webhook-signature").contains("v1a,"));
    let change = json!({"signature": "v1a"});
    let changed = hooks.call(Method::PATCH, &path(&made, ""), change).await.expect(200);
    let key = &changed["public_key"];
    assert_eq!(changed["signature"], "v1a");
    hooks.happen(1).await;
    hooks.arrived("hooks.example/a", 2).await;
    let seen = hooks.sent("hooks.example/a").remove(1);
    assert!(is_signed(key, &seen) && verifies(&made["secret"], &seen), "{seen:?}");
    assert!(!is_signed(key, &Seen { body: seen.body.replace("choice", "Choice"), ..seen }));
    let rotated = hooks.call(Method::POST, &path(&made, "/secret"), Value::Null).await.expect(200);
    assert_ne!(rotated["public_key"], *key);
    hooks.happen(1).await;
    hooks.arrived("hooks.example/a", 3).await;
    let seen = hooks.sent("hooks.example/a").remove(2);
    assert!(is_signed(key, &seen) && is_signed(&rotated["public_key"], &seen));
    let off = json!({"signature": "v1"});
    let changed = hooks.call(Method::PATCH, &path(&made, ""), off).await.expect(200);
    assert_eq!(changed["public_key"], Value::Null);
    let body = json!({"url": "https://hooks.example/a", "signature": "v1a"});
    let another = hooks.call(Method::POST, ALL, body).await.expect(201);
    assert!(another["public_key"].as_str().unwrap().starts_with("whpk_"));
}
