//! `Idempotency-Key`: a repeated request gets the first answer, and creates nothing twice.

mod lost_answers;

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::waiting::wait_until;
use crate::support::{Account, Answer, App};

const KEY: &str = "0190d9d4-9b6a-7c3e-8a55-000000000001";

fn order(app: &App, key: &str, path: &str, body: &Value) -> RequestBuilder {
    let request = app.request(Method::POST, path).bearer_auth(key);
    request.header("Idempotency-Key", KEY).json(body)
}

async fn ordered(app: &App, key: &str, path: &str, body: &Value) -> Answer {
    Answer::of(order(app, key, path, body)).await
}

async fn new_key(app: &App, key: &str, name: &str) -> Answer {
    ordered(app, key, "/v1/api-keys", &json!({"name": name})).await
}

async fn keys_of(app: &App, account: &Account) -> usize {
    let list = app.call(Method::GET, "/v1/api-keys", &account.key, Value::Null).await;
    list.expect(200)["api_keys"].as_array().unwrap().len()
}

async fn stored(pool: &PgPool) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM idempotency_keys").fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn the_first_answer_comes_again_with_its_secret() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let first = new_key(&app, &ann.key, "ci").await;
    let again = new_key(&app, &ann.key, "ci").await;
    assert_eq!(
        (first.expect(201), first.header("idempotency-replayed")),
        (again.expect(201), None)
    );
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("content-type"), Some("application/json"));
    assert_ne!(first.header("x-request-id"), again.header("x-request-id"));
    assert_eq!(keys_of(&app, &ann).await, 2);
    let answers: Vec<Vec<u8>> = sqlx::query_scalar("SELECT answer FROM idempotency_keys")
        .fetch_all(&app.pool)
        .await
        .unwrap();
    let secret = first.json()["api_key"].as_str().unwrap().to_owned();
    assert!(
        answers
            .iter()
            .all(|answer| !answer.windows(12).any(|part| part == &secret.as_bytes()[..12]))
    );
}

#[tokio::test]
async fn every_route_that_creates_can_be_repeated() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    let consent = json!({"controller_name": "Ann", "purposes": ["resolution"]});
    let hem = "ab".repeat(32);
    let contacts = json!({"contacts": [{"hem": hem, "contact": {"a": 1}}]});
    for (path, body) in [
        ("/v1/pixels".to_owned(), json!({"domain": "shop.example"})),
        (format!("/v1/pixels/{pixel}/consent"), consent),
        (format!("/v1/pixels/{pixel}/contacts"), contacts),
        ("/v1/webhooks".to_owned(), json!({"url": "https://hooks.example/x"})),
        ("/v1/account/members".to_owned(), json!({"email": "bob@example.com", "role": "read"})),
        ("/v1/account/codes".to_owned(), json!({"purpose": "keys"})),
        ("/v1/suppressions/import".to_owned(), json!(hem)),
    ] {
        let send = || {
            let request = app.request(Method::POST, &path).bearer_auth(&ann.key).json(&body);
            Answer::of(request.header("Idempotency-Key", format!("{KEY}{}", path.len())))
        };
        let (first, again) = (send().await, send().await);
        if first.status < 300 {
            assert_eq!((first.status, &first.text), (again.status, &again.text), "{path}");
            assert_eq!(again.header("idempotency-replayed"), Some("true"), "{path}");
        } else {
            assert_eq!(again.header("idempotency-replayed"), None, "{path}");
        }
    }
    let secret = |answer: &Answer| answer.expect(200)["secret"].clone();
    let hooks = app.call(Method::GET, "/v1/webhooks", &ann.key, Value::Null).await.expect(200);
    let id = hooks["webhooks"][0]["endpoint_id"].as_str().unwrap();
    let path = format!("/v1/webhooks/{id}/secret");
    let rotate = || {
        Answer::of(
            app.request(Method::POST, &path).bearer_auth(&ann.key).header("Idempotency-Key", KEY),
        )
    };
    assert_eq!(secret(&rotate().await), secret(&rotate().await));
}

#[tokio::test]
async fn every_route_that_creates_takes_a_key_and_visitors_routes_take_none() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.expect(200);
    let mut creating = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let operation = &item["post"];
        let Some(answers) = operation["responses"].as_object() else { continue };
        let mut parameters = operation["parameters"].as_array().into_iter().flatten();
        let is_described = parameters.any(|parameter| parameter["name"] == "Idempotency-Key");
        let is_of_accounts = path.starts_with("/v1/") && !path.starts_with("/v1/consent/");
        if is_of_accounts && ["201", "202"].iter().any(|status| answers.contains_key(*status)) {
            assert!(is_described, "{path}");
            creating += 1;
        }
        // A malformed key is refused before anything else is looked at.
        let segments = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let path = segments.collect::<Vec<_>>().join("/");
        let request = app.request(Method::POST, &path).header("Idempotency-Key", "with blanks");
        let answer = Answer::of(request).await;
        assert_eq!(answer.text.contains("idempotency_key_invalid"), is_described, "{path}");
    }
    assert!(creating >= 10, "{creating}");
}

#[tokio::test]
async fn a_list_to_import_is_taken_once() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let import = |list: &str| {
        let request = app.request(Method::POST, "/v1/suppressions/import").bearer_auth(&ann.key);
        Answer::of(request.header("Idempotency-Key", KEY).body(list.to_owned()))
    };
    let (list, other) = ("ab".repeat(32), "cd".repeat(32));
    let first = import(&list).await.expect(202);
    let again = import(&list).await;
    let replayed = again.header("idempotency-replayed");
    assert_eq!((&again.expect(202), replayed), (&first, Some("true")));
    import(&other).await.refused(422, "idempotency key reused");
    let count = "SELECT count(*) FROM suppression_imports";
    let count: i64 = sqlx::query_scalar(count).fetch_one(&app.pool).await.unwrap();
    assert_eq!(count, 1);
    // Also while no other list is taken.
    sqlx::query(
        "INSERT INTO suppression_imports (import_id, account_id, status, created_at)
         SELECT gen_random_uuid(), $1, 'uploading', $2 FROM generate_series(1, 5)",
    )
    .bind(&ann.account_id)
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    let again = import(&list).await;
    assert_eq!((again.expect(202), again.header("idempotency-replayed")), (first, Some("true")));
    import(&other).await.refused(422, "idempotency key reused");
    let request = app.request(Method::POST, "/v1/suppressions/import").bearer_auth(&ann.key);
    let new = request.header("Idempotency-Key", "another").body(other);
    Answer::of(new).await.refused(403, "import allowance reached");
}

#[tokio::test]
async fn a_sign_up_can_be_repeated_without_a_credential() {
    let app = App::spawn().await;
    let body = json!({"email": "ann@example.com", "display_name": "Ann"});
    let sign_up = |body: Value| {
        Answer::of(
            app.request(Method::POST, "/v1/accounts").header("Idempotency-Key", KEY).json(&body),
        )
    };
    let (first, again) = (sign_up(body.clone()).await, sign_up(body).await);
    assert_eq!(first.expect(201)["signup_token"], again.expect(201)["signup_token"]);
    let other = json!({"email": "bob@example.com", "display_name": "Bob"});
    sign_up(other).await.refused(422, "idempotency key reused");
}

#[tokio::test]
async fn another_request_under_the_same_key_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    new_key(&app, &ann.key, "ci").await.expect(201);
    new_key(&app, &ann.key, "cd").await.refused(422, "idempotency key reused");
    let hook = json!({"url": "https://hooks.example/x"});
    ordered(&app, &ann.key, "/v1/webhooks", &hook).await.refused(422, "idempotency key reused");
    let query = ordered(&app, &ann.key, "/v1/api-keys?a=1", &json!({"name": "ci"})).await;
    query.refused(422, "idempotency key reused");
    assert_eq!(keys_of(&app, &ann).await, 2);
}

const WRONG: &str =
    "idempotency key must have 1 to 255 printable characters, without a key or token at least 16";

#[tokio::test]
async fn a_key_is_text_of_1_to_255_characters() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let long = "k".repeat(256);
    for key in ["", "with blanks inside it", &long] {
        let request = app.request(Method::POST, "/v1/api-keys").bearer_auth(&ann.key);
        let answer = Answer::of(request.header("Idempotency-Key", key).json(&json!({}))).await;
        answer.refused(400, WRONG);
    }
    for key in ["1", &long[1..]] {
        let request = app.request(Method::POST, "/v1/api-keys").bearer_auth(&ann.key);
        let request = request.header("Idempotency-Key", key).json(&json!({}));
        let repeated = request.try_clone().unwrap();
        Answer::of(request).await.expect(201);
        Answer::of(repeated).await.expect(201);
    }
    assert_eq!(keys_of(&app, &ann).await, 3);
}

#[tokio::test]
async fn without_a_credential_a_key_must_be_hard_to_guess() {
    let app = App::spawn().await;
    let order = json!({"email": "new@example.com", "display_name": "New"});
    for (key, status) in [("fifteen-letters", 400), ("sixteen--letters", 201)] {
        let request = app.request(Method::POST, "/v1/accounts").json(&order);
        let answer = Answer::of(request.header("Idempotency-Key", key)).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_repetitions_create_one_also_on_two_nodes() {
    let here = App::spawn().await;
    let there = here.another_node(&[]).await;
    let ann = here.account("ann@example.com").await;
    let body = json!({"name": "ci"});
    let sent = (0..16).map(|number| {
        let node = if number % 2 == 0 { &here } else { &there };
        ordered(node, &ann.key, "/v1/api-keys", &body)
    });
    let answers = join_all(sent).await;
    let created = answers.iter().filter(|answer| answer.status == 201).collect::<Vec<_>>();
    assert!(created.iter().all(|answer| answer.text == created[0].text), "{created:?}");
    for other in answers.iter().filter(|answer| answer.status != 201) {
        other.refused(409, "idempotency key in use");
        assert_eq!(other.header("retry-after"), Some("1"));
    }
    assert_eq!(keys_of(&here, &ann).await, 2);
    assert_eq!(new_key(&there, &ann.key, "ci").await.text, created[0].text);
}

#[tokio::test]
async fn the_same_key_of_another_tenant_is_another_key() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let eve = app.account("eve@example.com").await;
    let first = new_key(&app, &ann.key, "ci").await.expect(201);
    let other = new_key(&app, &eve.key, "ci").await.expect(201);
    assert_ne!(first["api_key"], other["api_key"]);
    assert_eq!((keys_of(&app, &ann).await, keys_of(&app, &eve).await), (2, 2));
}

#[tokio::test]
async fn a_key_ends_after_24_hours() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let first = new_key(&app, &ann.key, "ci").await.expect(201);
    app.clock.advance(Duration::hours(24) - Duration::seconds(1));
    assert_eq!(new_key(&app, &ann.key, "ci").await.expect(201), first);
    app.clock.advance(Duration::seconds(2));
    assert_ne!(new_key(&app, &ann.key, "ci").await.expect(201), first);
    app.clock.advance(Duration::hours(25));
    wait_until("expired keys are deleted", async || stored(&app.pool).await == 0).await;
}

#[tokio::test]
async fn a_refusal_is_not_kept() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    ordered(&app, &ann.key, "/v1/pixels", &json!({})).await.refused(400, "domain is required");
    assert_eq!(stored(&app.pool).await, 0);
    ordered(&app, &ann.key, "/v1/pixels", &json!({"domain": "a.example"})).await.expect(201);
    ordered(&app, "px_wrong", "/v1/pixels", &json!({"domain": "b.example"})).await;
    assert_eq!(stored(&app.pool).await, 1);
}

#[tokio::test]
async fn a_revoked_key_gets_no_answer_again() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let second = app.call(Method::POST, "/v1/api-keys", &ann.key, json!({})).await.expect(201);
    let key = second["api_key"].as_str().unwrap();
    new_key(&app, key, "ci").await.expect(201);
    let path = format!("/v1/api-keys/{}", second["prefix"].as_str().unwrap());
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    new_key(&app, key, "ci").await.refused(401, "api key revoked");
}

#[tokio::test]
async fn a_signup_token_that_has_ended_gets_no_answer_again() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let path = format!("/v1/api-keys?account_id={}", ann.account_id);
    let issue = || {
        let request = app.request(Method::POST, &path).header("x-signup-token", &ann.signup_token);
        Answer::of(request.header("Idempotency-Key", KEY).json(&json!({"name": "ci"})))
    };
    let first = issue().await.expect(201);
    app.clock.advance(Duration::minutes(59));
    assert_eq!(issue().await.expect(201), first);
    app.clock.advance(Duration::minutes(2));
    issue().await.refused(401, "signup token expired");
}

#[tokio::test]
async fn a_request_that_was_left_without_an_answer_may_be_carried_out_after_a_minute() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let first = new_key(&app, &ann.key, "ci").await.expect(201);
    let left = "UPDATE idempotency_keys SET status = NULL, answer = NULL";
    sqlx::query(left).execute(&app.pool).await.unwrap();
    new_key(&app, &ann.key, "ci").await.refused(409, "idempotency key in use");
    app.clock.advance(Duration::seconds(61));
    new_key(&app, &ann.key, "cd").await.refused(422, "idempotency key reused");
    assert_ne!(new_key(&app, &ann.key, "ci").await.expect(201), first);
}

#[tokio::test]
async fn requests_without_a_key_store_nothing() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    app.pixel(&ann.key, "ann.example").await;
    assert_eq!(stored(&app.pool).await, 0);
}
