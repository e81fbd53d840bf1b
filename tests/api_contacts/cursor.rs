//! Following contacts while they are written, and reading long days.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::{hem, insert_contacts};
use crate::support::postgres::cluster::workers;
use crate::support::postgres::database::statements_that_wait;
use crate::support::{Account, App};

/// An account without limits, with a pixel.
async fn hub(app: &App) -> (Account, String) {
    let owner = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&owner.key, "operator.example").await;
    (owner, pixel)
}

fn ids(page: &Value) -> Vec<i64> {
    let contacts = page["contacts"].as_array().expect("an array");
    contacts.iter().map(|contact| contact["id"].as_i64().expect("a number")).collect()
}

#[tokio::test]
async fn a_page_has_1000_contacts_and_its_high_water_leads_to_the_next() {
    let app = App::spawn().await;
    let (owner, pixel) = hub(&app).await;
    app.store_people(&owner.key, &pixel, 0..1000).await.expect(200);
    app.store_people(&owner.key, &pixel, 1000..1500).await.expect(200);
    let page = async |after: i64| {
        app.contacts(&owner.key, &pixel, &format!("after={after}")).await.expect(200)
    };
    let first = page(0).await;
    assert_eq!(ids(&first), (1..=1000).collect::<Vec<_>>());
    assert_eq!((&first["after"], &first["high_water"]), (&json!(0), &json!(1000)));
    assert_eq!(page(0).await, first, "the same cursor gives the same rows");
    let second = page(1000).await;
    assert_eq!(ids(&second), (1001..=1500).collect::<Vec<_>>());
    assert_eq!(second["high_water"], 1500);
    let end = page(1500).await;
    assert_eq!(end["contacts"], json!([]));
    assert_eq!(end["high_water"], 1500, "without rows it is the cursor that was sent");
    assert_eq!(page(7000).await["high_water"], 7000);
}

#[tokio::test]
async fn a_page_that_is_exactly_full_ends_where_it_should() {
    let app = App::spawn().await;
    let (owner, pixel) = hub(&app).await;
    app.store_people(&owner.key, &pixel, 0..1000).await.expect(200);
    for (after, rows) in [(0, 1000), (500, 500), (750, 250), (999, 1), (1000, 0)] {
        let page = app.contacts(&owner.key, &pixel, &format!("after={after}")).await.expect(200);
        assert_eq!((ids(&page).len(), &page["high_water"]), (rows, &json!(1000)), "{after}");
    }
}

/// Follows the high water until nothing more is written; the ids in the order they came.
async fn follow(app: &App, key: &str, pixel: &str, writing: &AtomicBool) -> Vec<i64> {
    let (mut cursor, mut seen) = (0, Vec::new());
    loop {
        // Asked before reading: what was written by then is in this page or a later one.
        let is_last_round = !writing.load(Ordering::SeqCst);
        let page = app.contacts(key, pixel, &format!("after={cursor}")).await.expect(200);
        seen.extend(ids(&page));
        let high_water = page["high_water"].as_i64().expect("a number");
        if is_last_round && high_water == cursor {
            return seen;
        }
        cursor = high_water;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_that_follows_the_high_water_never_misses_a_row() {
    const WRITERS: usize = 16;
    const REQUESTS: usize = 15;
    let app = App::spawn().await;
    let (owner, pixel) = hub(&app).await;
    let writing = AtomicBool::new(true);
    // Sizes differ, so that requests that begin together end apart.
    let write = |writer: usize| {
        let (app, key, pixel) = (&app, &owner.key, &pixel);
        async move {
            for request in 0..REQUESTS {
                let first = (writer * REQUESTS + request) * 100;
                let size = if (writer + request).is_multiple_of(3) { 100 } else { 1 };
                app.store_people(key, pixel, first..first + size).await.expect(200);
            }
        }
    };
    let writers = async {
        join_all((0..WRITERS).map(write)).await;
        writing.store(false, Ordering::SeqCst);
    };
    let readers = join_all((0..2).map(|_| follow(&app, &owner.key, &pixel, &writing)));
    let (readers, ()) = tokio::join!(readers, writers);
    let stored: Vec<i64> = sqlx::query_scalar("SELECT id FROM contacts ORDER BY id")
        .fetch_all(&app.pool)
        .await
        .unwrap();
    assert_eq!(stored.len(), WRITERS * REQUESTS / 3 * (100 + 2));
    for seen in readers {
        let known = seen.iter().collect::<HashSet<_>>();
        let missed = stored.iter().filter(|id| !known.contains(id)).collect::<Vec<_>>();
        assert!(
            missed.is_empty(),
            "{} missed: {:?}…",
            missed.len(),
            &missed[..missed.len().min(9)]
        );
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "in order, none twice");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contact_that_is_stored_later_has_a_larger_cursor() {
    // Not on a cluster: it looks at the locks of one server.
    if !workers().is_empty() {
        return;
    }
    let app = App::spawn().await;
    let (owner, pixel) = hub(&app).await;
    // Makes the store of person 1 wait after it has taken its id: nobody knows yet whether this
    // row will be there.
    let mut obstacle = app.pool.begin().await.unwrap();
    sqlx::query(
        "INSERT INTO contacts (pixel_id, id, hem, resolved_at, resolved_on, contact)
         VALUES ($1, 999, decode($2, 'hex'), '2026-03-10T00:00:00Z', '2026-03-10', '{}')",
    )
    .bind(&pixel)
    .bind(hem(1))
    .execute(&mut *obstacle)
    .await
    .unwrap();
    let pause = std::time::Duration::from_millis(500);
    let first = app.store_people(&owner.key, &pixel, 1..2);
    let then = async {
        while statements_that_wait(&app.pool, "").await == 0 {
            tokio::time::sleep(pause / 50).await;
        }
        let second = app.store_people(&owner.key, &pixel, 2..3);
        let reading = async {
            tokio::time::sleep(pause).await;
            let seen = app.all_contacts(&owner.key, &pixel).await;
            obstacle.rollback().await.unwrap();
            seen
        };
        tokio::join!(second, reading)
    };
    let (first, (second, seen)) = tokio::join!(first, then);
    assert_eq!(seen, Vec::<Value>::new());
    first.expect(200);
    second.expect(200);
    let numbers = app.all_contacts(&owner.key, &pixel).await;
    let numbers = numbers.iter().map(|contact| contact["contact"]["number"].as_i64().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ids_are_unique_and_in_the_order_of_the_request() {
    let app = App::spawn().await;
    let (owner, pixel) = hub(&app).await;
    let writers = (0..8).map(|writer| {
        let (app, key, pixel) = (&app, &owner.key, &pixel);
        async move { app.store_people(key, pixel, writer * 50..(writer + 1) * 50).await.expect(200) }
    });
    join_all(writers).await;
    let contacts = app.all_contacts(&owner.key, &pixel).await;
    assert_eq!(contacts.len(), 400);
    for batch in contacts.chunks(50) {
        let numbers = batch.iter().map(|contact| contact["contact"]["number"].as_u64().unwrap());
        let numbers = numbers.collect::<Vec<_>>();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    }
}

// Long days

#[tokio::test]
async fn a_long_day_is_complete_valid_and_in_order() {
    let app = App::spawn().await;
    let (owner, pixel) = hub(&app).await;
    insert_contacts(&app.pool, &pixel, 2_500, 10).await;
    let day = app.contacts(&owner.key, &pixel, "on=2026-03-10").await.expect(200);
    assert_eq!(ids(&day), (1..=2_500).collect::<Vec<_>>());
    let hems = day["contacts"].as_array().unwrap().iter().map(|contact| contact["hem"].as_str());
    assert_eq!(hems.collect::<HashSet<_>>().len(), 2_500);
}

#[tokio::test]
async fn readers_that_stall_keep_nobody_else_out() {
    let app = App::spawn().await;
    let (owner, pixel) = hub(&app).await;
    insert_contacts(&app.pool, &pixel, 20_000, 1_000).await;
    let path = format!("/v1/pixels/{pixel}/contacts?on=2026-03-10");
    // More than the service has database connections.
    let stalled = join_all((0..40).map(|_| {
        let request = app.request(Method::GET, &path).bearer_auth(&owner.key);
        async move { request.send().await.expect("it answers") }
    }))
    .await;
    app.store(&owner.key, &pixel, json!([{"hem": hem(1), "contact": {"a": 1}}])).await.expect(200);
    assert!(stalled.iter().all(|response| response.status() == 200));
}

#[tokio::test]
async fn writers_that_wait_for_each_other_keep_nobody_else_out() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.pixel(&bob.key, "bob.example").await;
    let mut obstacle = app.pool.begin().await.unwrap();
    sqlx::query("SELECT FROM accounts WHERE account_id = $1 FOR UPDATE")
        .bind(&ann.account_id)
        .execute(&mut *obstacle)
        .await
        .unwrap();
    // More than the service has database connections.
    let waiting = (0..40).map(|number| app.store_people(&ann.key, &pixel, number..number + 1));
    let bob = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let stored = app.store_people(&bob.key, &bobs, 1..2).await;
        obstacle.rollback().await.unwrap();
        stored.expect(200);
    };
    let (waiting, ()) = tokio::join!(join_all(waiting), bob);
    assert!(waiting.iter().all(|answer| answer.status == 200));
}
