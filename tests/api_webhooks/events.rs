//! Events are written for the endpoints that have chosen them, and for no others.

use std::sync::Arc;

use assent::infra::Infra;
use assent::infra::changes::Invalidation;
use assent::infra::events::{self, EventKind, NewEvent};
use assent::types::ids::{AccountId, PixelId};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::support::postgres::database::TestDatabase;
use crate::support::server::start_of_time;
use crate::support::setup::create_host;
use crate::support::{Account, App};

/// A node, and what its features write with.
async fn node() -> (App, Infra) {
    let database = Arc::new(TestDatabase::create().await);
    let mut infra = None;
    let clock = assent::clock::Clock::manual(start_of_time());
    let app = App::spawn_tuned(database, clock, &[], |made| infra = Some(made.clone())).await;
    (app, infra.expect("it was tuned"))
}

async fn add_endpoint(infra: &Infra, owner: &Account, events: Option<&[&str]>) -> Uuid {
    let (endpoint_id, account_id) = (Uuid::now_v7(), AccountId::from(owner.account_id.clone()));
    let mut transaction = infra.pool.begin().await.unwrap();
    query(
        "INSERT INTO webhook_endpoints (endpoint_id, account_id, url, events, format, secret,
             created_at)
         VALUES ($1, $2, 'https://hooks.example/', $3, 'standard', '', $4)",
    )
    .bind(endpoint_id)
    .bind(account_id.as_str())
    .bind(events)
    .bind(start_of_time())
    .execute(&mut *transaction)
    .await
    .unwrap();
    infra.changes.commit(transaction, &Invalidation::of_account(&account_id)).await.unwrap();
    endpoint_id
}

/// A choice is recorded and a contact stored, in one transaction.
async fn happen(infra: &Infra, owner: &Account, pixel_id: &str) {
    let subscribers = AccountId::from(owner.account_id.clone());
    let subscribers = infra.events.subscribers(&subscribers).await.unwrap();
    let pixel_id = PixelId::from(pixel_id.to_owned());
    let kinds = [EventKind::ChoiceRecorded, EventKind::ContactCreated, EventKind::ChoiceRecorded];
    let event = |(number, kind)| NewEvent {
        kind,
        pixel_id: Some(&pixel_id),
        subject: json!({"id": number}),
        occurred_at: start_of_time(),
    };
    let events = kinds.into_iter().enumerate().map(event).collect::<Vec<_>>();
    let mut transaction = infra.pool.begin().await.unwrap();
    events::put(&mut transaction, &subscribers, &events).await.unwrap();
    transaction.commit().await.unwrap();
    infra.events.wake();
}

/// The events that wait for an endpoint, in order.
async fn waiting(infra: &Infra, endpoint_id: Uuid) -> Vec<(String, Value)> {
    let rows = "SELECT kind, subject -> 'id' FROM webhook_deliveries WHERE endpoint_id = $1
        AND next_attempt_at = occurred_at AND attempts = 0 ORDER BY seq";
    query_as(rows).bind(endpoint_id).fetch_all(&infra.pool).await.unwrap()
}

async fn all(infra: &Infra) -> i64 {
    let count = "SELECT count(*) FROM webhook_deliveries";
    query_scalar(count).fetch_one(&infra.pool).await.unwrap()
}

#[tokio::test]
async fn events_wait_for_their_endpoints_in_order() {
    let (app, infra) = node().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let pixel = create_host(&app, &ann.key, "shop.example").await.expect(201);
    let pixel = pixel["pixel_id"].as_str().unwrap();
    happen(&infra, &ann, pixel).await;
    assert_eq!(all(&infra).await, 0, "nobody wanted to know");

    let everything = add_endpoint(&infra, &ann, None).await;
    let choices = add_endpoint(&infra, &ann, Some(&["choice.recorded"])).await;
    let of_bob = add_endpoint(&infra, &bob, None).await;
    happen(&infra, &ann, pixel).await;
    let waiting_event = |kind: &str, number: i64| (kind.to_owned(), json!(number));
    let expected = [waiting_event("choice.recorded", 0), waiting_event("choice.recorded", 2)];
    assert_eq!(waiting(&infra, choices).await, expected);
    let expected = [
        waiting_event("choice.recorded", 0),
        waiting_event("contact.created", 1),
        waiting_event("choice.recorded", 2),
    ];
    assert_eq!(waiting(&infra, everything).await, expected);
    assert_eq!(waiting(&infra, of_bob).await, []);
    let ids = "SELECT count(DISTINCT event_id) FROM webhook_deliveries";
    assert_eq!(query_scalar::<_, i64>(ids).fetch_one(&infra.pool).await.unwrap(), 3);
}

#[tokio::test]
async fn events_that_were_not_sent_are_deleted_with_their_pixel_or_account() {
    let (app, infra) = node().await;
    let ann = app.account("ann@example.com").await;
    let pixels = ["one.example", "two.example"].map(|host| create_host(&app, &ann.key, host));
    let pixels = futures_util::future::join_all(pixels).await;
    let pixels = pixels.iter().map(|pixel| pixel.expect(201)["pixel_id"].clone());
    let pixels = pixels.map(|id| id.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    add_endpoint(&infra, &ann, None).await;
    for pixel in &pixels {
        happen(&infra, &ann, pixel).await;
    }
    assert_eq!(all(&infra).await, 6);
    let path = format!("/v1/pixels/{}", pixels[0]);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    assert_eq!(all(&infra).await, 3);
    let account_id = AccountId::from(ann.account_id.clone());
    assent::erasure::operator::erase_account(&infra, &account_id).await.unwrap();
    assert_eq!(all(&infra).await, 0);
}
