//! Contact routes: permitted callers, reading, erasing.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::{hem, person};
use crate::support::{Answer, App};

async fn erase(app: &App, key: &str, pixel: &str, hem: &str) -> Answer {
    let path = format!("/v1/pixels/{pixel}/contacts/{hem}");
    app.call(Method::DELETE, &path, key, Value::Null).await
}

/// The same request to every contact route.
async fn on_every_route(app: &App, pixel: &str, key: &str) -> Vec<Answer> {
    let path = format!("/v1/pixels/{pixel}/contacts");
    let requests = [
        app.request(Method::GET, &format!("{path}?after=0")),
        app.request(Method::GET, &format!("{path}?on=2026-03-10")),
        app.request(Method::POST, &path).json(&json!({"contacts": [person(1)]})),
        app.request(Method::DELETE, &format!("{path}/{}", hem(1))),
    ];
    let mut answers = Vec::new();
    for request in requests {
        answers.push(Answer::of(request.bearer_auth(key)).await);
    }
    answers
}

// Permitted callers

#[tokio::test]
async fn only_accounts_in_good_standing_read_contacts() {
    let app = App::spawn().await;
    let (_, pixel) = app.shop().await;
    let path = format!("/v1/pixels/{pixel}/contacts?after=0");
    app.refuses_all_but_good_standing(Method::GET, &path).await;
}

#[tokio::test]
async fn only_accounts_in_good_standing_store_contacts() {
    let app = App::spawn().await;
    let (_, pixel) = app.shop().await;
    let path = format!("/v1/pixels/{pixel}/contacts");
    app.refuses_all_but_good_standing(Method::POST, &path).await;
}

#[tokio::test]
async fn only_accounts_in_good_standing_erase_contacts() {
    let app = App::spawn().await;
    let (_, pixel) = app.shop().await;
    let path = format!("/v1/pixels/{pixel}/contacts/{}", hem(1));
    app.refuses_all_but_good_standing(Method::DELETE, &path).await;
}

#[tokio::test]
async fn another_accounts_pixel_is_not_found_and_stays_as_it_is() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..2).await.expect(200);
    let before = app.all_contacts(&ann.key, &pixel).await;
    let bob = app.account("bob@example.com").await;
    for answer in on_every_route(&app, &pixel, &bob.key).await {
        answer.refused(404, "pixel not found");
    }
    assert_eq!(app.all_contacts(&ann.key, &pixel).await, before);
}

#[tokio::test]
async fn an_unknown_pixel_and_an_alias_are_not_found() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let alias: String =
        sqlx::query_scalar("SELECT alias FROM pixel_aliases").fetch_one(&app.pool).await.unwrap();
    for name in ["unknown", &alias, &"x".repeat(41), "a%00b", "%F0%9F%90%A2"] {
        for answer in on_every_route(&app, name, &ann.key).await {
            answer.refused(404, "pixel not found");
        }
    }
}

#[tokio::test]
async fn an_unlimited_key_reads_stores_and_erases_on_any_pixel() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let operator = app.unlimited_account("operator@example.com").await;
    app.store_people(&operator.key, &pixel, 1..3).await.expect(200);
    let read = app.all_contacts(&operator.key, &pixel).await;
    assert_eq!(read.len(), 2);
    assert_eq!(app.all_contacts(&ann.key, &pixel).await, read);
    erase(&app, &operator.key, &pixel, &hem(1)).await.expect(204);
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 1);
}

#[tokio::test]
async fn two_tenants_know_the_same_person_apart() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.pixel(&bob.key, "bob.example").await;
    app.store(&ann.key, &pixel, json!([{"hem": hem(1), "contact": {"of": "ann"}}])).await;
    app.store(&bob.key, &bobs, json!([{"hem": hem(1), "contact": {"of": "bob"}}])).await;
    assert_eq!(app.all_contacts(&ann.key, &pixel).await[0]["contact"], json!({"of": "ann"}));
    assert_eq!(app.all_contacts(&bob.key, &bobs).await[0]["contact"], json!({"of": "bob"}));
    erase(&app, &ann.key, &pixel, &hem(1)).await.expect(204);
    assert_eq!(app.all_contacts(&bob.key, &bobs).await.len(), 1);
}

// Parameters of reading

#[tokio::test]
async fn day_mode_answers_pixel_day_and_contacts() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..3).await.expect(200);
    let read = app.contacts(&ann.key, &pixel, "on=2026-03-10").await;
    assert_eq!(read.header("content-type"), Some("application/json"));
    let contact = |id: usize| json!({"id": id, "hem": hem(id), "resolved_at": "2026-03-10T12:00:00Z", "contact": {"number": id}});
    let expected = json!({"pixel_id": pixel, "on": "2026-03-10", "contacts": [contact(1), contact(2)], "next": null});
    assert_eq!(read.expect(200), expected);
}

#[tokio::test]
async fn a_day_without_contacts_is_an_empty_list() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let read = app.contacts(&ann.key, &pixel, "on=2026-03-09").await.expect(200);
    assert_eq!(read, json!({"pixel_id": pixel, "on": "2026-03-09", "contacts": [], "next": null}));
}

#[tokio::test]
async fn cursor_mode_answers_pixel_cursor_mark_and_contacts() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..4).await.expect(200);
    let read = app.contacts(&ann.key, &pixel, "after=1").await.expect(200);
    let contact = |id: usize| json!({"id": id, "hem": hem(id), "resolved_at": "2026-03-10T12:00:00Z", "contact": {"number": id}});
    let expected = json!({"pixel_id": pixel, "after": 1, "high_water": 3, "contacts": [contact(2), contact(3)], "next": null});
    assert_eq!(read, expected);
}

#[tokio::test]
async fn one_of_on_and_after_must_be_there() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for query in ["", "on=", "after=", "after=%20", "limit=3", "On=2026-03-10"] {
        app.contacts(&ann.key, &pixel, query).await.refused(400, "pass on or after");
    }
}

#[tokio::test]
async fn on_and_after_exclude_each_other() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for query in ["on=2026-03-10&after=0", "after=x&on=y"] {
        app.contacts(&ann.key, &pixel, query).await.refused(400, "pass on or after, not both");
    }
}

#[tokio::test]
async fn on_must_be_a_day_that_exists() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for on in [
        "today",
        "2026-3-10",
        "20260310",
        "10-03-2026",
        "2026-02-29",
        "2026-13-01",
        "0000-01-01",
        "2026-03-10T00:00:00Z",
        "2026-03-1%00",
        "%EF%BC%92%EF%BC%90%EF%BC%92%EF%BC%96-03-10",
        "%FF",
    ] {
        let query = format!("on={on}");
        app.contacts(&ann.key, &pixel, &query).await.refused(400, "on must be YYYY-MM-DD");
    }
    app.contacts(&ann.key, &pixel, "on=2024-02-29").await.expect(200);
}

#[tokio::test]
async fn after_must_be_a_number_from_zero() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for after in ["-1", "x", "1.5", "1e3", "%2B1", "0x1", "%00", "9223372036854775808"] {
        let query = format!("after={after}");
        app.contacts(&ann.key, &pixel, &query).await.refused(400, "after must be zero or greater");
    }
    let read = app.contacts(&ann.key, &pixel, "after=9223372036854775807").await.expect(200);
    assert_eq!(read["high_water"], json!(i64::MAX));
}

#[tokio::test]
async fn head_has_no_body_and_every_other_method_is_named() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..2).await.expect(200);
    let path = format!("/v1/pixels/{pixel}/contacts?after=0");
    let head = app.call(Method::HEAD, &path, &ann.key, Value::Null).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    let put = app.call(Method::PUT, &path, &ann.key, Value::Null).await;
    put.refused(405, "method not allowed");
    assert_eq!(put.header("allow"), Some("GET, HEAD, POST"));
}

// Erasing

#[tokio::test]
async fn an_erased_person_is_gone_and_erasing_again_is_no_error() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..3).await.expect(200);
    for _ in 0..2 {
        let erased = erase(&app, &ann.key, &pixel, &hem(2).to_uppercase()).await;
        assert_eq!((erased.status, erased.text.as_str()), (204, ""));
    }
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 1);
    app.store_people(&ann.key, &pixel, 2..3).await.expect(200);
    let back = app.all_contacts(&ann.key, &pixel).await;
    assert_eq!(back[1]["id"], 3, "ids are not given out twice");
}

#[tokio::test]
async fn a_malformed_hem_is_not_taken_for_an_erasure() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for bad in ["x", &hem(1)[1..], "%00", "ann@example.com"] {
        erase(&app, &ann.key, &pixel, bad)
            .await
            .refused(400, "hem must be a 64-character hex string");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_pixel_deleted_while_contacts_are_stored_leaves_none_behind() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let stores =
        (0..24).map(|number| app.store_people(&ann.key, &pixel, number * 20..number * 20 + 20));
    let deleting = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let path = format!("/v1/pixels/{pixel}");
        app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    };
    let (answers, ()) = tokio::join!(join_all(stores), deleting);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.refused(404, "pixel not found");
    }
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM contacts").fetch_one(&app.pool).await.unwrap();
    assert_eq!(left, 0);
}
