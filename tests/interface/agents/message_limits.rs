//! Messages to the tool server that cost much: how large, how deep, how many, and from whom.

use futures_util::future::join_all;
use futures_util::stream::{self, FuturesUnordered, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::tools::{call_with, done, message, post, refused};
use crate::support::{Answer, App};

const NEEDS_KEY: &str = "a message over 64 KiB needs an API key in the headers";

fn call_of(tool: &str, arguments: &Value) -> String {
    message("tools/call", json!({"name": tool, "arguments": arguments})).to_string()
}

async fn send(app: &App, headers: &[(&str, &str)], body: String) -> Answer {
    let request = post(app).header("Content-Type", "application/json");
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    Answer::of(request.body(body)).await
}

/// So many people, each with so many facts: some 2 KiB for a hundred.
fn people(count: usize, facts: usize) -> Value {
    let facts = (0..facts).map(|fact| (format!("fact{fact:02}"), json!("yes")));
    let contact = Value::Object(facts.collect());
    let person = |number: usize| json!({"hem": format!("{number:064x}"), "seen_at": "2026-03-01", "contact": contact});
    (0..count).map(person).collect()
}

#[tokio::test]
async fn a_large_message_needs_a_good_key_in_the_headers() {
    let app = App::spawn().await;
    let ann = app.unlimited_account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "a.example").await;
    let arguments = json!({"pixel_id": pixel, "contacts": people(1_000, 90), "api_key": ann.key});
    let large = call_of("store_contacts", &arguments);
    assert!(large.len() > 1_400_000, "{}", large.len());
    let bearer = format!("Bearer {}", ann.key);
    for headers in [
        &[][..],
        &[("Authorization", "Bearer px_wrong")],
        &[("x-signup-token", ann.signup_token.as_str())],
    ] {
        send(&app, headers, large.clone()).await.refused(413, NEEDS_KEY);
    }
    for header in [("Authorization", bearer.as_str()), ("X-API-Key", ann.key.as_str())] {
        let stored = send(&app, &[header], large.clone()).await.expect(200);
        assert_eq!(done(&stored["result"])["stored"], 1_000);
    }
    // A length that is not announced is found out.
    let chunks = large.as_bytes().chunks(16 * 1024).map(|chunk| Ok::<_, String>(chunk.to_vec()));
    let chunks = chunks.collect::<Vec<_>>();
    let chunked = |key: &'static str| {
        let body = reqwest::Body::wrap_stream(stream::iter(chunks.clone()));
        let request = post(&app).header("Content-Type", "application/json");
        let request = if key.is_empty() { request } else { request.bearer_auth(&ann.key) };
        Answer::of(request.body(body))
    };
    chunked("").await.refused(413, NEEDS_KEY);
    chunked("good").await.expect(200);
    sqlx::query("UPDATE accounts SET status = 'suspended'").execute(&app.pool).await.unwrap();
    send(&app, &[("X-API-Key", &ann.key)], large.clone()).await.refused(413, NEEDS_KEY);
    sqlx::query("UPDATE accounts SET status = 'active'").execute(&app.pool).await.unwrap();
    sqlx::query("UPDATE api_keys SET revoked_at = created_at").execute(&app.pool).await.unwrap();
    send(&app, &[("X-API-Key", &ann.key)], large).await.refused(413, NEEDS_KEY);
}

#[tokio::test]
async fn a_tool_takes_as_much_as_its_route() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let key = [("X-API-Key", ann.key.as_str())];
    let verifier = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    let proof = |length: usize| json!({"proof": {"x": "x".repeat(length)}, "key": verifier});
    let whole = call_of("verify_proof", &proof(4_190_000));
    let answer = send(&app, &key, whole).await.expect(200);
    assert_eq!(done(&answer["result"])["valid"], false, "{answer}");
    let contacts = |length: usize| json!({"pixel_id": "x".repeat(length), "contacts": []});
    for (tool, arguments) in [
        ("verify_proof", proof(4_194_304)),
        ("store_contacts", contacts(2_400_000)),
        ("verify_receipt", json!({"receipt": {"x": "x".repeat(70_000)}, "signature": "0"})),
    ] {
        let answer = send(&app, &key, call_of(tool, &arguments)).await.expect(200);
        refused(&answer["result"], 413, "request body too large");
    }
    for tool in ["read_with", "change_with"] {
        let padded = |blanks: usize| {
            call_of(tool, &json!({"tool": "whoami", "arguments": {}}))
                .replace("\"whoami\"", &format!("\"whoami\"{}", " ".repeat(blanks)))
        };
        let answer = send(&app, &key, padded(60_000)).await.expect(200);
        assert_eq!(done(&answer["result"])["account_id"], ann.account_id.as_str());
        let answer = send(&app, &key, padded(70_000)).await.expect(200);
        refused(&answer["result"], 413, "request body too large");
    }
    send(&app, &key, call_of("verify_proof", &proof(4_500_000)))
        .await
        .refused(413, "request body too large");
    send(&app, &[], call_of("verify_proof", &proof(70_000))).await.refused(413, NEEDS_KEY);
}

#[tokio::test]
async fn a_key_among_the_arguments_serves_a_message_of_64_kib() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let arguments = json!({"pixel_id": pixel, "contacts": people(40, 90), "api_key": ann.key});
    let mut body = call_of("store_contacts", &arguments);
    assert!(body.len() > 50_000);
    body.push_str(&" ".repeat(64 * 1024 - body.len()));
    let stored = send(&app, &[], body.clone()).await.expect(200);
    assert_eq!(done(&stored["result"])["stored"], 40);
    body.push(' ');
    send(&app, &[], body).await.refused(413, NEEDS_KEY);
}

#[tokio::test]
async fn values_and_depth_are_judged_before_a_message_is_read() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let too_complex = |values: usize| {
        format!("a message may have at most {values} values, nested at most 64 deep")
    };
    let receipt = |receipt: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"verify_receipt","arguments":{{"receipt":{receipt}}}}}}}"#
        )
    };
    let objects = |count: usize| format!("[{}0]", r#"{"":0},"#.repeat(count));
    let nested = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    for bad in [objects(9_000), nested(70), nested(30_000), "[".repeat(60_000)] {
        send(&app, &[], receipt(bad)).await.refused(400, &too_complex(5_000));
    }
    let key = [("X-API-Key", ann.key.as_str())];
    send(&app, &key, receipt(objects(300_000))).await.refused(400, &too_complex(100_000));
    let verified = send(&app, &[], receipt(nested(50))).await.expect(200);
    assert_eq!(done(&verified["result"])["valid"], false);
    // By HTTP the same contacts are an invalid request.
    let pixel = app.pixel(&ann.key, "a.example").await;
    let body = format!(r#"{{"contacts":[{{"contact":{{"a":{}}}}}]}}"#, objects(60_000));
    let path = format!("/v1/pixels/{pixel}/contacts");
    let request = app.request(Method::POST, &path).bearer_auth(&ann.key).body(body);
    Answer::of(request).await.refused(400, "invalid request");
}

#[tokio::test]
async fn a_message_that_is_no_tool_call_has_at_most_64_kib_with_any_key() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let key = [("X-API-Key", ann.key.as_str())];
    let ping = message("ping", json!({"x": "x".repeat(70_000)})).to_string();
    send(&app, &key, ping).await.refused(413, "request body too large");
}

#[tokio::test]
async fn messages_of_a_client_are_limited_unless_its_key_has_worked() {
    let app = App::spawn_with(&[("RATE_LIMITS", "on")]).await;
    let ann = app.account("ann@example.com").await;
    let key = [("X-API-Key", ann.key.as_str())];
    done(&call_with(&app, &key, "whoami", json!({})).await);
    let ping = message("ping", json!({})).to_string();
    for _ in 0..20 {
        join_all((0..30).map(|_| send(&app, &[], ping.clone()))).await;
    }
    let refused = send(&app, &[], ping.clone()).await;
    refused.refused(429, "too many requests");
    assert_eq!(refused.header("retry-after"), Some("1"));
    send(&app, &[("X-API-Key", "px_wrong")], ping.clone()).await.refused(429, "too many requests");
    send(&app, &key, ping.clone()).await.expect(200);
    app.clock.advance(chrono::Duration::milliseconds(50));
    send(&app, &[], ping).await.expect(200);
}

/// A large tool call whose sender stops in the middle of it.
struct Stalled {
    connection: TcpStream,
    rest: String,
}

impl Stalled {
    async fn send(app: &App, key: &str) -> Self {
        Self::of_length(app, key, 70_000).await
    }

    async fn of_length(app: &App, key: &str, length: usize) -> Self {
        let address = app.base.trim_start_matches("http://").to_owned();
        let mut connection = TcpStream::connect(&address).await.unwrap();
        let arguments = json!({"pixel_id": "x".repeat(length), "contacts": []});
        let call = json!({"name": "store_contacts", "arguments": arguments});
        let body = message("tools/call", call).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        // Rocket wants some of the body before anything happens.
        let (beginning, rest) = body.split_at(600);
        connection.write_all(format!("{head}{beginning}").as_bytes()).await.unwrap();
        Self { connection, rest: rest.to_owned() }
    }

    /// Sends the rest, and gives the status of the answer.
    async fn resume(mut self) -> String {
        self.connection.write_all(self.rest.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.connection.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).expect("a status").to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_more_than_2_25_mib_takes_two_permits() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut stalled = Vec::new();
    for _ in 0..3 {
        stalled.push(Stalled::of_length(&app, &ann.key, 2_400_000).await);
    }
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let lock = keys_locked(&app).await;
    let mut handled = stalled.into_iter().map(Stalled::resume).collect::<FuturesUnordered<_>>();
    assert_eq!(handled.next().await.as_deref(), Some("503"));
    lock.rollback().await.unwrap();
    assert_eq!(handled.collect::<Vec<_>>().await, ["200"; 2]);
}

/// Keeps every key from being looked up for as long as it is there.
async fn keys_locked(app: &App) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut lock = app.pool.begin().await.unwrap();
    sqlx::query("LOCK TABLE api_keys").execute(&mut *lock).await.unwrap();
    lock
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_large_messages_are_handled_at_a_time_and_others_wait_for_two_seconds() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let key = [("X-API-Key", ann.key.as_str())];
    let mut stalled = Vec::new();
    for _ in 0..5 {
        stalled.push(Stalled::send(&app, &ann.key).await);
    }
    // None has a permit while it arrives: this one gets one, and is refused at once.
    let large = message("ping", json!({"x": "x".repeat(70_000)})).to_string();
    send(&app, &key, large.clone()).await.refused(413, "request body too large");
    // Their keys are looked up meanwhile.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let lock = keys_locked(&app).await;
    let mut handled = stalled.into_iter().map(Stalled::resume).collect::<FuturesUnordered<_>>();
    assert_eq!(handled.next().await.as_deref(), Some("503"));
    // Small ones do not wait.
    send(&app, &[], message("ping", json!({})).to_string()).await.expect(200);
    lock.rollback().await.unwrap();
    assert_eq!(handled.collect::<Vec<_>>().await, ["200"; 4]);
    send(&app, &key, large).await.refused(413, "request body too large");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_releases_its_permit_before_its_tool_is_done() {
    let app = App::spawn().await;
    let lock = keys_locked(&app).await;
    let arguments = json!({"api_key": "px_unknown", "domain": "x".repeat(10_000)});
    let call = call_of("create_pixel", &arguments);
    let calls = (0..2).map(|_| send(&app, &[], call.clone()));
    let calls = join_all(calls);
    let ping = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let ping = message("ping", json!({"x": "x".repeat(10_000)})).to_string();
        let answer = send(&app, &[], ping).await;
        lock.rollback().await.unwrap();
        answer
    };
    let (calls, ping) = tokio::join!(calls, ping);
    ping.expect(200);
    for call in calls {
        assert!(call.text.contains("invalid api key"), "{}", call.text);
    }
}
