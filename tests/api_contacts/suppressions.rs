//! Suppressions of an account: adding, listing, and their effect on storing.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::{hem, person};
use crate::support::{Answer, App};

async fn suppress(app: &App, key: &str, hem: &str) -> Answer {
    app.call(Method::PUT, &format!("/v1/suppressions/{hem}"), key, Value::Null).await
}

async fn unsuppress(app: &App, key: &str, hem: &str) -> Answer {
    app.call(Method::DELETE, &format!("/v1/suppressions/{hem}"), key, Value::Null).await
}

async fn page(app: &App, key: &str, query: &str) -> Answer {
    app.call(Method::GET, &format!("/v1/suppressions?{query}"), key, Value::Null).await
}

#[tokio::test]
async fn a_suppressed_person_is_erased_on_all_pixels_of_the_account_and_on_no_other() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let second = app.pixel(&ann.key, "second.example").await;
    let ben = app.account("ben@example.com").await;
    let foreign = app.pixel(&ben.key, "ben.example").await;
    for (key, pixel) in [(&ann.key, &pixel), (&ann.key, &second), (&ben.key, &foreign)] {
        app.store_people(key, pixel, 1..3).await.expect(200);
    }
    assert_eq!(suppress(&app, &ann.key, &hem(1)).await.status, 204);
    for (key, pixel, left) in
        [(&ann.key, &pixel, 1), (&ann.key, &second, 1), (&ben.key, &foreign, 2)]
    {
        assert_eq!(app.all_contacts(key, pixel).await.len(), left);
    }
    let stored = app.store_people(&ben.key, &foreign, 1..2).await.expect(200);
    assert_eq!(stored, json!({"pixel_id": foreign, "stored": 1, "refused": []}));
    assert_eq!(page(&app, &ben.key, "").await.expect(200)["suppressions"], json!([]));
}

#[tokio::test]
async fn a_store_refuses_the_item_and_takes_the_others() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..2).await.expect(200);
    for number in [2, 4] {
        suppress(&app, &ann.key, &hem(number)).await;
    }
    let upper = json!({"hem": hem(2).to_uppercase(), "contact": {"a": 1}});
    let miss = json!({"hem": hem(4), "contact": null});
    let items = json!([person(1), upper, person(3), miss, person(4), person(2)]);
    let stored = app.store(&ann.key, &pixel, items).await.expect(200);
    let refused = |index: usize| json!({"index": index, "reason": "suppressed"});
    assert_eq!(stored["stored"], 2);
    assert_eq!(stored["refused"], json!([refused(1), refused(4), refused(5)]));
    let whoami = app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await.expect(200);
    assert_eq!(whoami["allowance"]["contacts_used"], 2, "who is refused is not counted");
    let alone = app.store(&ann.key, &pixel, json!([person(2)])).await.expect(200);
    assert_eq!(alone, json!({"pixel_id": pixel, "stored": 0, "refused": [refused(0)]}));
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 2);
}

#[tokio::test]
async fn refused_people_need_no_allowance() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    suppress(&app, &ann.key, &hem(1)).await;
    app.clock.advance(chrono::Duration::days(31));
    let stored = app.store_people(&ann.key, &pixel, 1..2).await.expect(200);
    assert_eq!(stored["stored"], 0);
    app.store_people(&ann.key, &pixel, 1..3).await.refused(402, "subscription required");
}

#[tokio::test]
async fn a_person_who_is_no_longer_suppressed_can_be_stored_and_is_not_restored() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..2).await.expect(200);
    for _ in 0..2 {
        assert_eq!(suppress(&app, &ann.key, &hem(1).to_uppercase()).await.status, 204);
    }
    for _ in 0..2 {
        assert_eq!(unsuppress(&app, &ann.key, &hem(1)).await.status, 204);
    }
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
    assert_eq!(app.store_people(&ann.key, &pixel, 1..2).await.expect(200)["stored"], 1);
    assert_eq!(app.all_contacts(&ann.key, &pixel).await[0]["id"], 2);
}

#[tokio::test]
async fn pages_list_everybody_once_in_the_order_of_their_digests() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    for number in [5, 1, 4, 2, 3] {
        suppress(&app, &ann.key, &hem(number)).await;
        app.clock.advance(chrono::Duration::seconds(1));
    }
    let (mut after, mut listed) = (String::new(), Vec::new());
    loop {
        let query = format!("limit=2&after={after}");
        let answer = page(&app, &ann.key, &query).await.expect(200);
        listed.extend(answer["suppressions"].as_array().unwrap().clone());
        match answer["next_after"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    let hems = listed.iter().map(|entry| entry["hem"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(hems, (1..6).map(hem).collect::<Vec<_>>());
    let first = json!({"hem": hem(1), "source": "owner", "created_at": "2026-03-10T12:00:01.000Z"});
    assert_eq!(listed[0], first);
    let whole = page(&app, &ann.key, "limit=5").await.expect(200);
    assert_eq!(
        (whole["suppressions"].as_array().unwrap().len(), &whole["next_after"]),
        (5, &Value::Null)
    );
    for bad in ["limit=0", "limit=1001", "limit=-1", "limit=x"] {
        page(&app, &ann.key, bad).await.invalid(&["query", "limit"]);
    }
    page(&app, &ann.key, "after=7").await.invalid(&["query", "after"]);
}

#[tokio::test]
async fn a_digest_must_be_one_and_a_key_must_do() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    for bad in ["x", &hem(1)[1..], &"g".repeat(64)] {
        for answer in [suppress(&app, &ann.key, bad).await, unsuppress(&app, &ann.key, bad).await] {
            answer.refused(400, "hem must be a 64-character hex string");
        }
    }
    let path = format!("/v1/suppressions/{}", hem(1));
    Answer::of(app.request(Method::PUT, &path)).await.refused(401, "api key required");
    suppress(&app, "px_unknown", &hem(1)).await.refused(403, "invalid api key");
    app.set_status(&ann.account_id, "suspended").await;
    for answer in [suppress(&app, &ann.key, &hem(1)).await, page(&app, &ann.key, "").await] {
        answer.refused(403, "account is not in good standing");
    }
}

/// Before, while and after a person is suppressed, others store them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_never_bring_a_suppressed_person_back() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let second = app.pixel(&ann.key, "second.example").await;
    let other_node = app.another_node(&[]).await;
    for round in 0..5 {
        let numbers = round * 20..(round + 1) * 20;
        let writers = (0..16).map(async |writer: usize| {
            let node = if writer.is_multiple_of(2) { &app } else { &other_node };
            let pixel = if writer % 4 < 2 { &pixel } else { &second };
            let mut taken = 0;
            for _ in 0..4 {
                let stored = node.store_people(&ann.key, pixel, numbers.clone()).await;
                taken += stored.expect(200)["stored"].as_u64().unwrap();
            }
            taken
        });
        let suppressing = async {
            for number in numbers.clone() {
                assert_eq!(suppress(&other_node, &ann.key, &hem(number)).await.status, 204);
                for pixel in [&pixel, &second] {
                    let present = app.all_contacts(&ann.key, pixel).await;
                    assert!(present.iter().all(|contact| contact["hem"] != hem(number).as_str()));
                }
            }
        };
        let (taken, ()) = tokio::join!(join_all(writers), suppressing);
        assert!(round > 0 || taken.iter().sum::<u64>() > 0, "some were stored before");
        for pixel in [&pixel, &second] {
            assert!(app.all_contacts(&ann.key, pixel).await.is_empty());
        }
    }
}

#[tokio::test]
async fn suppressions_end_with_the_account() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    suppress(&app, &ann.key, &hem(1)).await;
    sqlx::query("DELETE FROM accounts WHERE account_id = $1")
        .bind(&ann.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM suppressions").fetch_one(&app.pool).await.unwrap();
    assert_eq!(left, 0);
}
