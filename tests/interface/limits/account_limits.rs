//! Limits per account: publications, writes and exports.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::limits::rate_limits::{ON, is_limited};
use crate::support::contacts::hem;
use crate::support::{Answer, App};

fn configuration(name: &str) -> Value {
    json!({"controller_name": name, "purposes": ["analytics"]})
}

async fn publish(app: &App, key: &str, pixel: &str, body: Value) -> Answer {
    app.call(Method::POST, &format!("/v1/pixels/{pixel}/consent"), key, body).await
}

#[tokio::test]
async fn an_account_publishes_sixty_times_at_once_and_then_every_thirty_seconds() {
    let app = App::spawn_with(&[ON]).await;
    let other_node = app.another_node(&[ON]).await;
    let (ann, eve) = (app.account("ann@example.com").await, app.account("eve@example.com").await);
    let pixels = [app.pixel(&ann.key, "a.example").await, app.pixel(&ann.key, "b.example").await];
    for turn in 0..60 {
        let node = if turn % 3 == 0 { &other_node } else { &app };
        let body = configuration(&format!("Name {turn}"));
        publish(node, &ann.key, &pixels[turn % 2], body).await.expect(200);
    }
    for (node, pixel) in [(&app, &pixels[0]), (&other_node, &pixels[1])] {
        is_limited(&publish(node, &ann.key, pixel, configuration("More")).await, 30);
    }
    // A configuration that is already in force is not published again.
    publish(&app, &ann.key, &pixels[1], configuration("Name 59")).await.expect(200);
    // Changing the appearance and turning consent off change what visitors are served, too.
    let mut look = configuration("Name 59");
    look["appearance"] = json!({"position": "top"});
    is_limited(&publish(&app, &ann.key, &pixels[1], look).await, 30);
    let path = format!("/v1/pixels/{}/consent", pixels[1]);
    is_limited(&app.call(Method::DELETE, &path, &ann.key, Value::Null).await, 30);

    let others = app.pixel(&eve.key, "c.example").await;
    publish(&app, &eve.key, &others, configuration("Eve")).await.expect(200);
    app.clock.advance(Duration::seconds(30));
    publish(&app, &ann.key, &pixels[0], configuration("More")).await.expect(200);
    is_limited(&publish(&app, &ann.key, &pixels[0], configuration("Even more")).await, 30);
}

#[tokio::test]
async fn all_versions_of_a_pixels_policy_are_limited_to_twenty_mebibytes() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "a.example").await;
    publish(&app, &ann.key, &pixel, configuration("First")).await.expect(200);
    sqlx::query(
        "INSERT INTO consent_policies (pixel_id, version, policy_hash, document, domain,
             published_at, account_id, consent_days)
         SELECT pixel_id, 1 + number, 'hash-' || number,
             left(document, -1) || ',\"padding\":\"' || repeat('x', 65000) || '\"}', domain,
             published_at, account_id, consent_days
         FROM consent_policies, generate_series(1, 321) AS number WHERE pixel_id = $1",
    )
    .bind(&pixel)
    .execute(&app.pool)
    .await
    .unwrap();
    let filled = sqlx::query_scalar::<_, i64>(
        "SELECT sum(octet_length(document))::bigint FROM consent_policies WHERE pixel_id = $1",
    );
    let filled = filled.bind(&pixel).fetch_one(&app.pool).await.unwrap();
    let room = (20 << 20) - filled;
    assert!((1_000..100_000).contains(&room), "{room}");
    let long = |character: &str| {
        let mut body = configuration("Long");
        body["disclosed_parties"] = json!(vec![character.repeat(500); 100]);
        body
    };
    let mut published = 0;
    for character in ["a", "b", "c", "d"] {
        match publish(&app, &ann.key, &pixel, long(character)).await {
            answer if answer.status == 200 => published += 50_000,
            answer => answer.refused(403, "policy allowance reached"),
        }
    }
    assert!(published < room + 1_000, "{published} of {room}");
    publish(&app, &ann.key, &pixel, long("e")).await.refused(403, "policy allowance reached");
    // Another pixel has its own limit, and the popup can still be turned off and on.
    let other = app.pixel(&ann.key, "b.example").await;
    publish(&app, &ann.key, &other, long("f")).await.expect(200);
    let path = format!("/v1/pixels/{pixel}/consent");
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    // The configuration lists the newest versions, as far as their texts have no more than 1 MiB.
    let path = format!("{path}/configuration");
    let read = app.call(Method::GET, &path, &ann.key, Value::Null).await;
    let versions = read.expect(200)["versions"].as_array().unwrap().len();
    assert!((10..=20).contains(&versions), "{versions}");
    assert!(read.text.len() < 2 << 20);
}

#[tokio::test]
async fn calls_that_write_are_counted_per_account_with_all_its_keys() {
    let app = App::spawn_with(&[ON]).await;
    let (ann, eve) = (app.account("ann@example.com").await, app.account("eve@example.com").await);
    let operator = app.unlimited_account("operator@example.com").await;
    let made = app.call(Method::POST, "/v1/api-keys", &ann.key, json!({"scope": "operate"})).await;
    let second = made.expect(201)["api_key"].as_str().unwrap().to_owned();
    let made = app.call(Method::POST, "/v1/api-keys", &ann.key, json!({"scope": "full"})).await;
    let third = made.expect(201)["api_key"].as_str().unwrap().to_owned();
    let remove = |key: String, number: usize| {
        let path = format!("/v1/suppressions/{}", hem(number));
        let app = &app;
        async move { app.call(Method::DELETE, &path, &key, Value::Null).await }
    };
    for start in (0..600).step_by(50) {
        let calls = (start..start + 50).map(|number| remove(ann.key.clone(), number));
        for answer in join_all(calls).await {
            answer.expect(204);
        }
    }
    is_limited(&remove(ann.key.clone(), 600).await, 1);
    let pixels =
        app.call(Method::POST, "/v1/pixels", &second, json!({"domain": "a.example"})).await;
    is_limited(&pixels, 1);
    let hook = json!({"url": "https://hooks.example/"});
    is_limited(&app.call(Method::POST, "/v1/webhooks", &ann.key, hook).await, 1);
    // A key that writes as fast as it can does not keep its owner from revoking it.
    let revoke = async |key: &str| {
        let path = format!("/v1/api-keys/{}", &second[..12]);
        app.call(Method::DELETE, &path, key, Value::Null).await
    };
    revoke(&ann.key).await.expect(204);
    // Nor does one that does nothing but that.
    while revoke(&third).await.status != 429 {}
    is_limited(&revoke(&third).await, 1);
    revoke(&ann.key).await.refused(404, "api key not found");
    // Reading goes on, and so do others.
    app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.expect(200);
    remove(eve.key.clone(), 1).await.expect(204);
    for number in 0..650 {
        remove(operator.key.clone(), number % 10).await.expect(204);
    }
    app.clock.advance(Duration::seconds(1));
    for number in 0..10 {
        remove(ann.key.clone(), number).await.expect(204);
    }
    is_limited(&remove(ann.key.clone(), 600).await, 1);
}
