//! Visitors who ask to be erased, and what the pixel's owner does about it.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::consent::app_with_site;
use crate::support::story::Site;
use crate::support::{Answer, App};

async fn ask(app: &App, pixel: &str, visitor: &str) -> Answer {
    let body = json!({"pixel_id": pixel, "visitor_id": visitor});
    app.post("/v1/consent/erasure-requests", body).await
}

pub fn path(pixel: &str, rest: &str) -> String {
    format!("/v1/pixels/{pixel}/erasure-requests{rest}")
}

async fn page(app: &App, key: &str, pixel: &str, query: &str) -> Answer {
    app.call(Method::GET, &path(pixel, query), key, Value::Null).await
}

pub async fn requests(app: &App, key: &str, pixel: &str) -> Vec<Value> {
    page(app, key, pixel, "").await.expect(200)["requests"].as_array().unwrap().clone()
}

/// The id of a visitor's request, who asks for the first time.
pub async fn asked(app: &App, key: &str, site: &Site, visitor: &str) -> String {
    app.recorded(&site.acceptance(visitor)).await;
    ask(app, &site.pixel_id, visitor).await.expect(202);
    let requests = requests(app, key, &site.pixel_id).await;
    let own = requests.iter().find(|request| request["visitor_id"] == visitor);
    own.expect("it is kept")["request_id"].as_str().unwrap().to_owned()
}

pub async fn complete(app: &App, key: &str, pixel: &str, id: &str) -> Answer {
    app.call(Method::POST, &path(pixel, &format!("/{id}/complete")), key, Value::Null).await
}

async fn refuse(app: &App, key: &str, pixel: &str, id: &str, reason: Value) -> Answer {
    let body = json!({"reason": reason});
    app.call(Method::POST, &path(pixel, &format!("/{id}/refuse")), key, body).await
}

pub async fn erase(app: &App, key: &str, pixel: &str, visitor: &str) -> Answer {
    let path = format!("/v1/pixels/{pixel}/visitors/{visitor}");
    app.call(Method::DELETE, &path, key, Value::Null).await
}

// The owner erases a visitor

#[tokio::test]
async fn a_visitor_is_erased_at_one_pixel_and_the_answer_says_how_much_that_was() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    for visitor in ["v1", "v2"] {
        app.recorded(&site.acceptance(visitor)).await;
        app.recorded(&site.refusal(visitor, "withdrawn")).await;
    }
    app.recorded(&other.acceptance("v1")).await;
    let shown =
        json!({"pixel_id": site.pixel_id, "visitor_id": "v1", "url": "https://ann.example/"});
    assert_eq!(app.post("/v1/consent/shown", shown).await.status, 204);
    let erased = erase(&app, &ann.key, &site.pixel_id, "v1").await.expect(200);
    let counts = |receipts, days| json!({"receipts": receipts, "contacts": 0, "days_shown": days});
    let expected =
        |erased| json!({"pixel_id": site.pixel_id, "visitor_id": "v1", "erased": erased});
    assert_eq!(erased, expected(counts(2, 1)));
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "no_consent_record");
    assert_eq!(app.check(&site.pixel_id, "v2").await["reason"], "declined_or_withdrawn");
    assert_eq!(app.check(&other.pixel_id, "v1").await["reason"], "ok");
    let again = erase(&app, &ann.key, &site.pixel_id, "v1").await.expect(200);
    assert_eq!(again, expected(counts(0, 0)));
}

#[tokio::test]
async fn only_the_owner_erases_a_visitor() {
    let (app, ann, site) = app_with_site().await;
    let ben = app.account("ben@example.com").await;
    app.recorded(&site.acceptance("v1")).await;
    erase(&app, &ben.key, &site.pixel_id, "v1").await.refused(404, "pixel not found");
    erase(&app, "px_unknown", &site.pixel_id, "v1").await.refused(401, "invalid api key");
    erase(&app, &ann.key, &site.pixel_id, "no%20id").await.invalid(&["path", "visitor_id"]);
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "ok");
}

// A visitor asks

#[tokio::test]
async fn a_request_is_kept_once_while_it_is_open_and_only_of_a_visitor_who_has_a_receipt() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    app.recorded(&site.acceptance("v1")).await;
    let (there, elsewhere) = (site.pixel_id.as_str(), other.pixel_id.as_str());
    let answers = [(there, "v1"), (there, "v1"), (there, "v2"), (elsewhere, "v1")];
    for (pixel, visitor) in
        answers.into_iter().chain([("nobody", "v1"), (there, "no id"), ("no id", "v1")])
    {
        let answer = ask(&app, pixel, visitor).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        assert_eq!(answer.expect(202), json!({"received": true}), "{pixel} {visitor}");
    }
    let kept = requests(&app, &ann.key, &site.pixel_id).await;
    let expected = json!([{"request_id": kept[0]["request_id"], "visitor_id": "v1",
        "received_by": "page", "hem": null, "requested_at": "2026-03-10T12:00:00.000Z", "due_at": "2026-04-09T12:00:00.000Z",
        "status": "open", "closed_at": null, "reason": null, "erased": null}]);
    assert_eq!(json!(kept), expected);
    assert!(requests(&app, &ann.key, &other.pixel_id).await.is_empty());
}

#[tokio::test]
async fn both_ids_must_be_given() {
    let app = App::spawn().await;
    for (body, missing) in [
        (json!({}), "pixel_id"),
        (json!({"pixel_id": "a"}), "visitor_id"),
        (json!({"pixel_id": "a", "visitor_id": " "}), "visitor_id"),
    ] {
        app.post("/v1/consent/erasure-requests", body).await.invalid(&["body", missing]);
    }
    assert_eq!(app.post("/v1/consent/erasure-requests", json!([])).await.status, 422);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_that_come_together_are_one() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("v1")).await;
    let asking = (0..32).map(|_| ask(&app, &site.pixel_id, "v1"));
    assert!(join_all(asking).await.iter().all(|answer| answer.status == 202));
    assert_eq!(requests(&app, &ann.key, &site.pixel_id).await.len(), 1);
}

#[tokio::test]
async fn a_stranger_is_limited_whether_the_ids_are_somebodys_or_not() {
    let settings = [("RATE_LIMITS", "on"), ("CLIENT_IP_HEADER", "X-Real-IP")];
    let app = App::spawn_with(&settings).await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    app.recorded(&site.acceptance("v1")).await;
    let from = async |client: usize, pixel: &str, visitor: &str| {
        let address = format!("192.0.2.{client}");
        let body = json!({"pixel_id": pixel, "visitor_id": visitor});
        let request = app.request(Method::POST, "/v1/consent/erasure-requests").json(&body);
        Answer::of(request.header("X-Real-IP", address)).await
    };
    for pixel in ["nobody", &site.pixel_id] {
        let first = if pixel == "nobody" { 1 } else { 101 };
        for _ in 0..20 {
            from(first, pixel, "v2").await.expect(202);
        }
        from(first, pixel, "v2").await.refused(429, "too many requests");
        // Others ask for the same pixel, until it has had a hundred.
        for client in first + 1..first + 5 {
            for _ in 0..20 {
                from(client, pixel, "v2").await.expect(202);
            }
        }
        let refused = from(first + 6, pixel, "v1").await;
        refused.refused(429, "too many requests");
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    app.clock.advance(Duration::seconds(1));
    from(200, &site.pixel_id, "v1").await.expect(202);
    assert_eq!(requests(&app, &ann.key, &site.pixel_id).await.len(), 1);
}

// The owner answers

#[tokio::test]
async fn completing_erases_the_visitor_and_says_so_again_without_the_visitors_data() {
    let (app, ann, site) = app_with_site().await;
    let id = asked(&app, &ann.key, &site, "v1").await;
    app.clock.advance(Duration::days(3));
    let done = complete(&app, &ann.key, &site.pixel_id, &id).await.expect(200);
    let expected = json!({"request_id": id, "visitor_id": null,
        "received_by": "page", "hem": null, "requested_at": "2026-03-10T12:00:00.000Z", "due_at": "2026-04-09T12:00:00.000Z",
        "status": "completed", "closed_at": "2026-03-13T12:00:00.000Z", "reason": null,
        "erased": {"receipts": 1, "contacts": 0, "days_shown": 0}});
    assert_eq!(done, expected);
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "no_consent_record");
    app.clock.advance(Duration::days(1));
    assert_eq!(complete(&app, &ann.key, &site.pixel_id, &id).await.expect(200), expected);
    assert_eq!(requests(&app, &ann.key, &site.pixel_id).await, [expected]);
    let late = refuse(&app, &ann.key, &site.pixel_id, &id, json!("too late")).await;
    late.refused(409, "erasure request is closed");
    // There is nothing left to erase.
    ask(&app, &site.pixel_id, "v1").await.expect(202);
    assert_eq!(requests(&app, &ann.key, &site.pixel_id).await.len(), 1);
    let kept: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM erasure_requests AS request WHERE request::text LIKE '%v1%')",
    )
    .fetch_one(&app.pool)
    .await
    .unwrap();
    assert!(!kept);
}

#[tokio::test]
async fn refusing_needs_a_reason_and_erases_nobody() {
    let (app, ann, site) = app_with_site().await;
    let id = asked(&app, &ann.key, &site, "v1").await;
    for none in [json!(null), json!(""), json!(" \n ")] {
        let refused = refuse(&app, &ann.key, &site.pixel_id, &id, none).await;
        refused.refused(400, "reason is required");
    }
    let long = refuse(&app, &ann.key, &site.pixel_id, &id, json!("x".repeat(1_001))).await;
    long.invalid(&["body", "reason"]);
    let done = refuse(&app, &ann.key, &site.pixel_id, &id, json!(" a court wants it ")).await;
    let done = done.expect(200);
    assert_eq!((&done["status"], &done["reason"]), (&json!("refused"), &json!("a court wants it")));
    assert_eq!(done["visitor_id"], "v1");
    let again = refuse(&app, &ann.key, &site.pixel_id, &id, json!("a court wants it")).await;
    assert_eq!(again.expect(200), done);
    let other = refuse(&app, &ann.key, &site.pixel_id, &id, json!("another")).await;
    other.refused(409, "erasure request is closed");
    let closed = complete(&app, &ann.key, &site.pixel_id, &id).await;
    closed.refused(409, "erasure request is closed");
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "ok");
    // The visitor may ask again, and the owner may erase after all: then both forget the visitor.
    app.clock.advance(Duration::seconds(1));
    ask(&app, &site.pixel_id, "v1").await.expect(202);
    erase(&app, &ann.key, &site.pixel_id, "v1").await.expect(200);
    let left = requests(&app, &ann.key, &site.pixel_id).await;
    let states = left.iter().map(|request| (&request["status"], &request["visitor_id"]));
    let expected = [(&json!("refused"), &Value::Null), (&json!("completed"), &Value::Null)];
    assert_eq!(states.collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_answers_at_the_same_time_do_not_mix() {
    let (app, ann, site) = app_with_site().await;
    for round in 0..5 {
        let id = asked(&app, &ann.key, &site, &format!("v{round}")).await;
        let (completed, refused) = tokio::join!(
            complete(&app, &ann.key, &site.pixel_id, &id),
            refuse(&app, &ann.key, &site.pixel_id, &id, json!("no"))
        );
        let mut statuses = [completed.status, refused.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
    }
}

#[tokio::test]
async fn requests_are_their_owners_alone() {
    let (app, ann, site) = app_with_site().await;
    let ben = app.account("ben@example.com").await;
    let foreign = app.consent_site(&ben.key, "ben.example").await;
    let id = asked(&app, &ann.key, &site, "v1").await;
    page(&app, &ben.key, &site.pixel_id, "").await.refused(404, "pixel not found");
    for pixel in [&site.pixel_id, &foreign.pixel_id] {
        let sentence =
            if *pixel == site.pixel_id { "pixel not found" } else { "erasure request not found" };
        complete(&app, &ben.key, pixel, &id).await.refused(404, sentence);
        refuse(&app, &ben.key, pixel, &id, json!("x")).await.refused(404, sentence);
    }
    for unknown in ["x".to_owned(), Uuid::now_v7().to_string()] {
        let answer = complete(&app, &ann.key, &site.pixel_id, &unknown).await;
        answer.refused(404, "erasure request not found");
    }
    complete(&app, "px_unknown", &site.pixel_id, &id).await.refused(401, "invalid api key");
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "ok");
}

#[tokio::test]
async fn pages_list_every_request_once_oldest_first() {
    let (app, ann, site) = app_with_site().await;
    for number in 0..5 {
        let id = asked(&app, &ann.key, &site, &format!("v{number}")).await;
        if number % 2 == 1 {
            complete(&app, &ann.key, &site.pixel_id, &id).await.expect(200);
        }
        app.clock.advance(Duration::seconds(1));
    }
    let (mut after, mut visitors) = (String::new(), Vec::new());
    loop {
        let query = format!("?limit=2&after={after}");
        let answer = page(&app, &ann.key, &site.pixel_id, &query).await.expect(200);
        let requests = answer["requests"].as_array().unwrap().clone();
        visitors.extend(requests.iter().map(|request| request["visitor_id"].clone()));
        match answer["next_after"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(json!(visitors), json!(["v0", null, "v2", null, "v4"]));
    let open = page(&app, &ann.key, &site.pixel_id, "?status=open").await.expect(200);
    assert_eq!(open["requests"].as_array().unwrap().len(), 3);
    for (bad, parameter) in
        [("limit=0", "limit"), ("limit=201", "limit"), ("after=x", "after"), ("status=x", "status")]
    {
        let answer = page(&app, &ann.key, &site.pixel_id, &format!("?{bad}")).await;
        answer.invalid(&["query", parameter]);
    }
}

#[tokio::test]
async fn closed_requests_are_listed_for_400_days_and_open_ones_until_they_are_closed() {
    let (app, ann, site) = app_with_site().await;
    let id = asked(&app, &ann.key, &site, "v1").await;
    complete(&app, &ann.key, &site.pixel_id, &id).await.expect(200);
    asked(&app, &ann.key, &site, "v2").await;
    app.clock.advance(Duration::days(400));
    // A round passes in which nothing must be deleted.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(requests(&app, &ann.key, &site.pixel_id).await.len(), 2);
    app.clock.advance(Duration::hours(1));
    for _ in 0..1_200 {
        if requests(&app, &ann.key, &site.pixel_id).await.len() == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    let left = requests(&app, &ann.key, &site.pixel_id).await;
    assert_eq!((left.len(), &left[0]["visitor_id"]), (1, &json!("v2")));
}

#[tokio::test]
async fn deleting_a_pixel_erases_visitors_with_open_requests_and_keeps_other_receipts() {
    let (app, ann, site) = app_with_site().await;
    asked(&app, &ann.key, &site, "v1").await;
    app.post("/v1/consent/shown", site.refusal("v1", "declined")).await.expect(204);
    app.recorded(&site.acceptance("v2")).await;
    let refused = asked(&app, &ann.key, &site, "v3").await;
    refuse(&app, &ann.key, &site.pixel_id, &refused, json!("a claim")).await.expect(200);
    let path = format!("/v1/pixels/{}", site.pixel_id);
    assert_eq!(app.call(Method::DELETE, &path, &ann.key, Value::Null).await.status, 204);
    ask(&app, &site.pixel_id, "v1").await.expect(202);
    let left = "SELECT string_agg(visitor_id, ' ' ORDER BY visitor_id) FROM (
        SELECT visitor_id FROM consent_receipts UNION SELECT visitor_id FROM consent_shown) AS v";
    let left: String = sqlx::query_scalar(left).fetch_one(&app.pool).await.unwrap();
    assert_eq!(left, "v2 v3");
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM erasure_requests")
        .fetch_one(&app.pool)
        .await
        .unwrap();
    assert_eq!(left, 0);
}
