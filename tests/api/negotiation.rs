//! How answers travel: compressed for who accepts it, and not at all to who has them.

use std::io::Read;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::shop;
use crate::support::{Answer, App};

/// The same for everybody until the next version.
const STATIC: [&str; 12] = [
    "/",
    "/site/pixel",
    "/demo",
    "/log",
    "/docs",
    "/guide",
    "/guide/webhooks",
    "/guide.md",
    "/llms.txt",
    "/openapi.json",
    "/assets/site.css",
    "/assets/docs.js",
];

fn has_vary(answer: &Answer) -> bool {
    let mut values = answer.headers.get_all("vary").iter();
    values.any(|value| value.to_str().unwrap().contains("Accept-Encoding"))
}

async fn knowing(app: &App, method: Method, path: &str, tag: &str) -> Answer {
    Answer::of(app.request(method, path).header("if-none-match", tag)).await
}

#[tokio::test]
async fn what_is_the_same_for_everybody_is_not_sent_twice() {
    let app = App::spawn().await;
    for path in STATIC {
        let first = app.get(path).await;
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path} has no tag"));
        assert!(tag.starts_with("W/\"") && has_vary(&first), "{path}: {tag}");
        assert_ne!(first.header("cache-control"), Some("no-store"), "{path}");
        for method in [Method::GET, Method::HEAD] {
            let again = knowing(&app, method, path, &format!("\"another\", {tag}")).await;
            assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
            assert_eq!(again.header("etag"), Some(tag), "{path}");
            assert_eq!(again.header("cache-control"), first.header("cache-control"), "{path}");
            assert!(again.header("content-length").is_none() && has_vary(&again), "{path}");
        }
        let other = knowing(&app, Method::GET, path, "\"another\"").await;
        assert_eq!((other.status, &other.text), (200, &first.text), "{path}");
    }
}

#[tokio::test]
async fn scripts_of_visitors_are_always_sent() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for path in ["/pixel.js".to_owned(), format!("/px/{}.js", site.pixel_id)] {
        let answer = knowing(&app, Method::GET, &path, "*").await;
        assert_eq!((answer.status, answer.header("etag")), (200, None), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
}

/// The bytes as they travel, and how they are encoded.
async fn travelling(request: reqwest::RequestBuilder) -> (Option<String>, Vec<u8>) {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let encoding = response.headers().get("content-encoding");
    let encoding = encoding.map(|encoding| encoding.to_str().unwrap().to_owned());
    (encoding, response.bytes().await.unwrap().to_vec())
}

fn unpacked(encoding: &str, bytes: &[u8]) -> String {
    let mut text = Vec::new();
    match encoding {
        "br" => brotli::BrotliDecompress(&mut &bytes[..], &mut text).unwrap(),
        _ => {
            flate2::read::GzDecoder::new(bytes).read_to_end(&mut text).unwrap();
        }
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn pages_and_descriptions_are_compressed_for_who_accepts_it() {
    let app = App::spawn().await;
    for path in STATIC {
        let plain = app.get(path).await;
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        for encoding in ["br", "gzip"] {
            let request = app.request(Method::GET, path).header("accept-encoding", encoding);
            let (named, bytes) = travelling(request).await;
            assert_eq!(named.as_deref(), Some(encoding), "{path}");
            assert_eq!(unpacked(encoding, &bytes), plain.text, "{path}");
            // The reference repeats itself, texts do so less.
            let times = if ["/openapi.json", "/docs"].contains(&path) { 5 } else { 1 };
            assert!(times * bytes.len() < plain.text.len(), "{path}: {} bytes", bytes.len());
        }
    }
}

#[tokio::test]
async fn what_is_read_by_programs_is_compressed_on_its_way() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    app.store_people(&key, &site.pixel_id, 0..50).await.expect(200);
    for visitor in 0..20 {
        app.recorded(&site.refusal(&format!("visitor-{visitor}"), "declined")).await;
    }
    let today = app.clock.now().date_naive();
    let pixel = format!("/v1/pixels/{}", site.pixel_id);
    for path in [
        format!("{pixel}/contacts?after=0"),
        format!("{pixel}/contacts?on={today}"),
        format!("{pixel}/contacts?after=0&format=csv"),
        format!("{pixel}/consent"),
        format!("{pixel}/consent/export"),
    ] {
        let request = || app.request(Method::GET, &path).bearer_auth(&key);
        let plain = Answer::of(request()).await;
        assert!(plain.header("content-encoding").is_none() && has_vary(&plain), "{path}");
        let (named, bytes) = travelling(request().header("accept-encoding", "gzip, br")).await;
        assert_eq!(named.as_deref(), Some("gzip"), "{path}");
        assert_eq!(unpacked("gzip", &bytes), plain.text, "{path}");
        assert!(2 * bytes.len() < plain.text.len(), "{path}: {} bytes", bytes.len());
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let request = app.request(Method::POST, "/mcp").json(&list);
    let request = request.header("accept", "application/json, text/event-stream");
    let (named, bytes) = travelling(request.header("accept-encoding", "gzip")).await;
    assert_eq!(named.as_deref(), Some("gzip"));
    let tools = serde_json::from_str::<Value>(&unpacked("gzip", &bytes)).unwrap();
    assert!(tools["result"]["tools"].is_array());
}

#[tokio::test]
async fn short_answers_and_new_secrets_are_sent_as_they_are() {
    let app = App::spawn().await;
    let name = "x".repeat(200);
    let body = json!({"email": "ann@example.com", "display_name": "Ann", "external_user_id": name});
    let accepting =
        |method, path: &str| app.request(method, path).header("accept-encoding", "gzip, br");
    let opened = accepting(Method::POST, "/v1/accounts").json(&body);
    let opened = Answer::of(opened).await;
    assert!(opened.expect(201)["signup_token"].is_string());
    assert_eq!(opened.header("content-encoding"), None);
    let name = "x".repeat(190);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "create_account",
        "arguments": {"email": "bob@example.com", "display_name": name, "external_user_id": name},
    }});
    let called =
        accepting(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let called = Answer::of(called.json(&body)).await;
    assert!(called.text.contains("st_"), "{}", called.text);
    assert_eq!(called.header("content-encoding"), None);
    for path in ["/healthz", "/v1/plans"] {
        let answer = Answer::of(accepting(Method::GET, path)).await;
        assert_eq!((answer.status, answer.header("content-encoding")), (200, None), "{path}");
    }
}
