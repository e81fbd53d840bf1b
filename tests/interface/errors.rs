//! Rules of all routes: problem documents, methods, bodies, headers, outages.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::outage::Road;
use crate::support::server::start_of_time;
use crate::support::visitors::fields;
use crate::support::{Answer, App};

async fn send(app: &App, method: &str, path: &str) -> Answer {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    Answer::of(app.request(method, path)).await
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let app = App::spawn().await;
    for path in
        ["/nowhere", "/v1", "/v1/nowhere", "/v2/plans", "/v1/plans/more", "/%ff", "/..%2f..%2fetc"]
    {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            send(&app, method, path).await.refused(404, "not found");
        }
    }
}

#[tokio::test]
async fn a_known_path_with_another_method_says_what_is_allowed() {
    let app = App::spawn().await;
    for (method, path, allow) in [
        ("DELETE", "/v1/accounts", "POST"),
        ("GET", "/v1/accounts", "POST"),
        ("OPTIONS", "/v1/accounts", "POST"),
        ("POST", "/v1/accounts/acc_1", "GET, HEAD"),
        ("GET", "/v1/accounts/acc_1/confirm", "POST"),
        ("GET", "/v1/accounts/acc_1/verification-email", "POST"),
        ("PUT", "/v1/api-keys", "GET, HEAD, POST"),
        ("GET", "/v1/api-keys/px_123456789", "DELETE"),
        ("PUT", "/v1/email/disown", "GET, HEAD, POST"),
        ("POST", "/v1/whoami", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("TRACE", "/v1/plans", "GET, HEAD"),
        ("GET", "/v1/suppressions/import", "POST"),
        ("POST", "/v1/pixels/abc/contacts/withdrawn", "GET, HEAD"),
        ("POST", "/v1/email/verify", "GET, HEAD"),
        ("GET", "/v1/consent/record", "OPTIONS, POST"),
        ("PUT", "/v1/consent/check", "GET, HEAD, OPTIONS"),
        ("POST", "/px/abc.js", "GET, HEAD, OPTIONS"),
        ("POST", "/pixels/abc/p.js", "GET, HEAD"),
    ] {
        let answer = send(&app, method, path).await;
        answer.refused(405, "method not allowed");
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
}

#[tokio::test]
async fn no_answer_refuses_the_very_method_that_it_allows() {
    let app = App::spawn().await;
    for path in [
        "/v1/accounts/",
        "/v1/pixels/",
        "//v1//accounts",
        "/v1/policy/",
        "/px/",
        "/v1/pixels//consent",
    ] {
        for method in ["GET", "POST", "PUT"] {
            let answer = send(&app, method, path).await;
            if answer.status == 405 {
                let allowed = answer.header("allow").unwrap().split(", ").collect::<Vec<_>>();
                assert!(!allowed.contains(&method), "{method} {path}: {allowed:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_unheard_of_method_is_refused_as_a_problem() {
    let app = App::spawn().await;
    let answer = send(&app, "FROBNICATE", "/healthz").await;
    assert!((400..=501).contains(&answer.status), "{}", answer.status);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert!(answer.header("x-request-id").is_some());
}

#[tokio::test]
async fn an_error_is_a_problem_document() {
    let app = App::spawn().await;
    for (path, status, title) in [
        ("/v1/email/verify", 400, "Bad Request"),
        ("/v1/whoami", 401, "Unauthorized"),
        ("/nowhere", 404, "Not Found"),
        ("/v1/accounts", 405, "Method Not Allowed"),
    ] {
        let answer = app.get(path).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let problem = answer.json();
        assert_eq!(fields(&problem), ["code", "detail", "request_id", "status", "title", "type"]);
        assert_eq!(problem["title"], title);
    }
}

#[tokio::test]
async fn every_answer_has_a_request_id_of_its_own() {
    let app = App::spawn().await;
    let mut seen = HashSet::new();
    for path in [
        "/healthz",
        "/healthz",
        "/",
        "/log",
        "/nowhere",
        "/v1/whoami",
        "/pixel.js",
        "/pixels/a/p.js",
        "/v1/accounts",
        "/assets/site.css",
    ] {
        let answer = app.get(path).await;
        let id = answer.header("x-request-id").unwrap_or_else(|| panic!("{path} has none"));
        assert!(id.len() >= 16 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert!(seen.insert(id.to_owned()), "{id} was there before");
    }
}

#[tokio::test]
async fn an_internal_error_names_its_request_and_never_its_cause() {
    let app = App::spawn().await;
    let key = app.account("ann@example.com").await.key;
    sqlx::query("ALTER TABLE pixels RENAME TO out_of_reach").execute(&app.pool).await.unwrap();
    let answer = app.call(Method::GET, "/v1/pixels", &key, Value::Null).await;
    answer.refused(500, "internal error");
    let problem = answer.json();
    assert_eq!(fields(&problem), ["code", "detail", "request_id", "status", "title", "type"]);
    assert_eq!(problem["request_id"].as_str(), answer.header("x-request-id"));
    assert!(!answer.text.contains("pixels") && !answer.text.contains("relation"));
}

#[tokio::test]
async fn a_body_over_64_kib_is_too_large() {
    let app = App::spawn().await;
    let key = app.account("ann@example.com").await.key;
    let pixel = app.pixel(&key, "ann.example").await;
    for path in [
        "/v1/accounts",
        "/v1/accounts/acc_1/confirm",
        "/v1/pixels",
        &format!("/v1/pixels/{pixel}/consent"),
        "/v1/consent/record",
        "/api/v1/pixel/fire",
        "/v1/consent/shown",
        "/v1/consent/history",
        "/v1/consent/verify",
    ] {
        for size in [64 * 1024 + 1, 1 << 20] {
            let body = " ".repeat(size - 2) + "{}";
            let request = app.request(Method::POST, path).bearer_auth(&key).body(body);
            Answer::of(request).await.refused(413, "request body too large");
        }
    }
}

#[tokio::test]
async fn a_body_of_64_kib_is_read() {
    let app = App::spawn().await;
    let body = json!({"email": "ann@example.com", "display_name": "Ann"}).to_string();
    let padded = " ".repeat(64 * 1024 - body.len()) + &body;
    Answer::of(app.request(Method::POST, "/v1/accounts").body(padded)).await.expect(201);
}

#[tokio::test]
async fn a_body_that_drips_in_is_cut_off() {
    let app = App::spawn().await;
    let address = app.base.strip_prefix("http://localhost").unwrap();
    let mut stream = TcpStream::connect(format!("127.0.0.1{address}")).await.unwrap();
    let head = "POST /v1/accounts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    let started = Instant::now();
    let mut answer = vec![0; 4096];
    let read = tokio::time::timeout(Duration::from_secs(20), reading.read(&mut answer)).await;
    let length = read.expect("it is cut off").unwrap();
    dripping.abort();
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
    assert!(started.elapsed() > Duration::from_secs(5), "honest clients are given time");
}

#[tokio::test]
async fn head_is_answered_like_get_without_a_body() {
    let app = App::spawn().await;
    for path in [
        "/",
        "/log",
        "/healthz",
        "/v1/plans",
        "/v1/whoami",
        "/pixel.js",
        "/pixels/a/p.js",
        "/px/unknown.js",
        "/v1/consent/check",
        "/v1/policy/unknown",
        "/nowhere",
    ] {
        let (get, head) = (send(&app, "GET", path).await, send(&app, "HEAD", path).await);
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.text, "", "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert_eq!(head.header("location"), get.header("location"), "{path}");
    }
}

#[tokio::test]
async fn answers_are_not_sniffed_framed_or_signed_by_their_server() {
    let app = App::spawn().await;
    for path in ["/", "/log", "/healthz", "/v1/whoami"] {
        let answer = app.get(path).await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("x-frame-options"), Some("SAMEORIGIN"), "{path}");
        assert_eq!(answer.header("server"), None, "{path}");
    }
    let page = app.get("/").await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

#[tokio::test]
async fn while_the_database_is_away_routes_say_so_and_afterwards_go_on() {
    let database = TestDatabase::create().await;
    let road = Road::to(&database.url).await;
    let database = Arc::new(database.reached_by(road.url.clone()));
    let app = App::spawn_on(database, Clock::manual(start_of_time()), &[]).await;
    let key = app.account("ann@example.com").await.key;
    let site = app.consent_site(&key, "ann.example").await;
    app.recorded(&site.acceptance("before")).await;

    road.cut();
    let health = app.get("/healthz").await;
    health.refused(503, "database unavailable");
    assert!(health.header("retry-after").is_some());
    let who = app.call(Method::GET, "/v1/whoami", &key, Value::Null).await;
    who.refused(503, "database unavailable");
    app.post("/v1/accounts", json!({"email": "bob@example.com", "display_name": "Bob"}))
        .await
        .refused(503, "database unavailable");
    // A choice that is not durable is never confirmed.
    app.record(&site.acceptance("during")).await.refused(503, "database unavailable");
    app.receipt(&site.pixel_id, "before").await.refused(503, "database unavailable");

    road.mend();
    let mended = Instant::now();
    while app.get("/healthz").await.status != 200 {
        assert!(mended.elapsed() < Duration::from_secs(10), "it does not find its database again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The service does not ping a connection that was used less than a second ago.
    tokio::time::sleep(Duration::from_secs(1)).await;
    app.recorded(&site.acceptance("after")).await;
    assert_eq!(app.check(&site.pixel_id, "before").await["reason"], "ok");
    assert_eq!(app.check(&site.pixel_id, "during").await["reason"], "no_consent_record");
}

#[tokio::test]
async fn a_posted_form_is_a_post_whatever_method_it_names() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let path = format!("/v1/pixels/{pixel}");
    for (kind, body) in [
        ("application/x-www-form-urlencoded", "_method=DELETE"),
        ("application/x-www-form-urlencoded", "_method=delete&a=b"),
        ("Application/X-WWW-Form-URLencoded; charset=utf-8", "&&_method=delete"),
        ("application/x-www-form-urlencoded", "_method=PATCH&domain=other.example"),
        ("application/x-www-form-urlencoded", "_method=PUT"),
        ("application/x-www-form-urlencoded", "_method=get"),
    ] {
        let request = app.request(Method::POST, &path).bearer_auth(&ann.key);
        let answer = Answer::of(request.header("content-type", kind).body(body)).await;
        answer.refused(405, "method not allowed");
        assert_eq!(answer.header("allow"), Some("DELETE, GET, HEAD, PATCH"), "{body}");
    }
    let shown = app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
    assert_eq!(shown["domain"], "shop.example");
    // A body that curl labels as a form by default is read as before if it has no such field.
    let rename = app.request(Method::PATCH, &path).bearer_auth(&ann.key);
    let rename = rename.header("content-type", "application/x-www-form-urlencoded");
    Answer::of(rename.body(r#"{"domain": "new.example"}"#)).await.expect(200);
    let delete = app.request(Method::DELETE, &path).bearer_auth(&ann.key);
    let delete = delete.header("content-type", "application/x-www-form-urlencoded").body("a=b");
    Answer::of(delete).await.expect(204);
}

#[tokio::test]
async fn a_request_that_names_two_hosts_is_refused() {
    let app = App::spawn().await;
    let address = app.base.strip_prefix("http://localhost").unwrap();
    for (hosts, path, status) in [
        ("Host: localhost\r\nHost: evil.example\r\n", "/", 400),
        ("Host: localhost\r\nHost: localhost\r\n", "/healthz", 400),
        ("host: localhost\r\nHOST: evil.example\r\n", "/px/unknown.js", 400),
        ("Host: localhost\r\n", "/healthz", 200),
    ] {
        let mut stream = TcpStream::connect(format!("127.0.0.1{address}")).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{hosts}{answer}");
        assert_eq!(answer.contains("\"invalid request\""), status == 400, "{answer}");
    }
}

/// The errors of PostgreSQL while a statement's tables are moved to other machines, or when its plan is
/// older than the move.
#[tokio::test]
async fn tables_that_are_being_moved_are_waited_for() {
    let app = App::spawn().await;
    let site = app.consent_site(&app.account("ann@example.com").await.key, "shop.example").await;
    let moving = "CREATE FUNCTION moving() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'not while it moves' USING ERRCODE = 'feature_not_supported'; END $$";
    let trigger = "CREATE TRIGGER moving BEFORE INSERT ON consent_receipts FOR EACH ROW
        EXECUTE FUNCTION moving()";
    // One after the other, as a cluster takes them.
    for statement in [moving, trigger] {
        sqlx::raw_sql(statement).execute(&app.pool).await.unwrap();
    }
    let answer = app.record(&site.acceptance("visitor")).await;
    assert!(answer.header("retry-after").is_some());
    answer.refused(503, "database unavailable");
    sqlx::raw_sql("DROP TRIGGER moving ON consent_receipts").execute(&app.pool).await.unwrap();
    app.recorded(&site.acceptance("visitor")).await;
}
