//! Content negotiation, compression and conditional requests.

use std::io::Read;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::shop;
use crate::support::console::{Browser, token_of};
use crate::support::waiting::wait_until;
use crate::support::{Answer, App};

/// The same for everybody until the next version.
const STATIC: [&str; 14] = [
    "/",
    "/site/pixel",
    "/demo",
    "/log",
    "/docs",
    "/docs/reference",
    "/guide",
    "/guide/tag",
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
async fn answers_that_are_equal_for_everybody_are_not_sent_twice() {
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
            let times = if ["/openapi.json", "/docs/reference"].contains(&path) { 5 } else { 1 };
            assert!(times * bytes.len() < plain.text.len(), "{path}: {} bytes", bytes.len());
        }
    }
}

#[tokio::test]
async fn json_and_exports_are_compressed() {
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

/// The content coding of the response to a request with these `Accept-Encoding` lines.
async fn encoding_of(app: &App, path: &str, accepted: &[&str]) -> Option<String> {
    let request = app.request(Method::GET, path);
    let request =
        accepted.iter().fold(request, |request, line| request.header("accept-encoding", *line));
    travelling(request).await.0
}

#[tokio::test]
async fn the_preferred_encoding_is_sent_and_never_an_excluded_one() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let tag = format!("/px/{}.js", site.pixel_id);
    // The brotli form of a script becomes available shortly after the first request.
    let is_compressed = async || encoding_of(&app, &tag, &["br"]).await.is_some();
    wait_until("the script is compressed", is_compressed).await;
    for (accepted, encoding) in [
        (&["gzip, deflate, br"][..], Some("br")),
        (&["br;q=0.5, gzip;q=1"], Some("gzip")),
        (&["BR ; Q=0.9,GZip;q=0.2"], Some("br")),
        (&["br;q=0, *"], Some("gzip")),
        (&["gzip", "br"], Some("br")),
        (&["br;q=0.1", "gzip;q=0.2"], Some("gzip")),
        (&["identity;q=0, gzip;q=0.001"], Some("gzip")),
        (&["gzip;q=0.0, br;q=0.00"], None),
        (&["*;q=0"], None),
        (&["identity, gzip;q=0.9"], None),
        (&["zstd, compress, dcb"], None),
        (&["gzip;q=high"], None),
        (&[""], None),
    ] {
        for path in [&tag, "/guide.md"] {
            let found = encoding_of(&app, path, accepted).await;
            assert_eq!(found.as_deref(), encoding, "{path} {accepted:?}");
        }
    }
    // Short responses are only compressed where nothing else is accepted.
    for (accepted, encoding) in
        [("gzip", None), ("gzip, identity;q=0", Some("gzip")), ("br, gzip, *;q=0", Some("gzip"))]
    {
        let found = encoding_of(&app, "/v1/plans", &[accepted]).await;
        assert_eq!(found.as_deref(), encoding, "{accepted}");
    }
}

#[tokio::test]
async fn an_entity_tag_is_known_in_every_form_of_the_header() {
    let app = App::spawn().await;
    let tag = app.get("/guide.md").await.header("etag").unwrap().to_owned();
    let strong = tag.strip_prefix("W/").unwrap();
    let ask = async |lines: &[&str]| {
        let request = app.request(Method::GET, "/guide.md");
        let request = lines.iter().fold(request, |ask, line| ask.header("if-none-match", *line));
        Answer::of(request).await.status
    };
    for known in [&[&*tag][..], &[strong], &[" * "], &["\"a\" , ", &tag], &["\"a\",\"b\"", strong]]
    {
        assert_eq!(ask(known).await, 304, "{known:?}");
    }
    let unquoted = strong.trim_matches('"');
    let doubled = format!("W/{tag}");
    for other in [unquoted, &doubled, "", "\"*\"", "w/\"a\""] {
        assert_eq!(ask(&[other]).await, 200, "{other}");
    }
}

/// The media type of a response, and its `Vary` header.
async fn kind_of(app: &App, path: &str, accepted: &[&str]) -> (String, Vec<String>) {
    let request = app.request(Method::GET, path);
    let answer = Answer::of(accepted.iter().fold(request, |ask, line| ask.header("accept", *line)));
    let answer = answer.await;
    let kind = answer.header("content-type").unwrap().split(';').next().unwrap().to_owned();
    let vary = answer.headers.get_all("vary").iter().map(|vary| vary.to_str().unwrap());
    (kind, vary.flat_map(|vary| vary.split(", ")).map(str::to_owned).collect())
}

#[tokio::test]
async fn a_refusal_is_a_page_if_html_is_accepted_as_much_as_json() {
    let app = App::spawn().await;
    for (accepted, is_page) in [
        (&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"][..], true),
        (&["Text/HTML ; Q=0.5"], true),
        (&["text/*"], true),
        (&["application/json;q=0.5", "text/html"], true),
        (&["text/html;q=0"], false),
        (&["text/html;q=0.0, */*"], false),
        (&["text/html;q=0.5, application/json"], false),
        (&["text/html;q=0.8, application/problem+json;q=0.9"], false),
        (&["*/*"], false),
        (&["text/plain"], false),
        (&[], false),
    ] {
        for path in ["/nowhere", "/v1/email/verify?token=x", "/v1/whoami"] {
            let (kind, vary) = kind_of(&app, path, accepted).await;
            let expected = if is_page { "text/html" } else { "application/problem+json" };
            assert_eq!(kind, expected, "{path} {accepted:?}");
            assert!(vary.contains(&"Accept".to_owned()), "{path} {accepted:?}: {vary:?}");
        }
    }
}

#[tokio::test]
async fn a_notice_is_plain_text_if_the_client_prefers_that_to_html() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let path = format!("/v1/policy/{}", site.pixel_id);
    for (accepted, kind) in [
        (&["text/plain"][..], "text/plain"),
        (&["text/plain;q=0.9, text/html;q=0.1"], "text/plain"),
        (&["text/html;q=0", "text/plain"], "text/plain"),
        (&["text/html, text/plain"], "text/html"),
        (&["text/plain;q=0, */*"], "text/html"),
        (&["text/plain;q=0.1, */*"], "text/html"),
        (&["text/*"], "text/html"),
        (&["text/markdown"], "text/markdown"),
        (&["text/markdown;q=0.5, text/html"], "text/html"),
        (&[], "text/html"),
    ] {
        let (found, vary) = kind_of(&app, &path, accepted).await;
        assert_eq!(found, kind, "{accepted:?}");
        for header in ["Accept", "Accept-Language"] {
            assert!(vary.contains(&header.to_owned()), "{accepted:?}: {vary:?}");
        }
    }
}

#[tokio::test]
async fn the_page_of_a_visitor_is_markdown_for_who_asks_for_it() {
    let app = App::spawn().await;
    for (accepted, kind) in [("text/markdown", "text/markdown"), ("text/html", "text/html")] {
        let (found, vary) = kind_of(&app, "/your-data", &[accepted]).await;
        assert_eq!(found, kind);
        for header in ["Accept", "Accept-Language"] {
            assert!(vary.contains(&header.to_owned()), "{accepted}: {vary:?}");
        }
    }
}

#[tokio::test]
async fn the_reader_gets_the_preferred_available_language() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let path = format!("/v1/policy/{}", site.pixel_id);
    for (accepted, lang) in [
        (&["de;q=0.1, fr;q=0.2"][..], "fr"),
        (&["de;Q=0.5", "fr ; q=0.7"], "fr"),
        (&["xx, es-*;q=0.5, *;q=0.1"], "es"),
        (&["de;q=0, *"], "en"),
        (&["en;q=0, it;q=0.001"], "it"),
        (&["zh-Hant-TW, en;q=0.5"], "zh-Hant"),
        (&["zh-Hans-HK"], "zh"),
        (&["sr-Latn, hr;q=0.5"], "hr"),
        (&["nn-NO"], "nb"),
        (&["tlh"], "en"),
    ] {
        let request = app.request(Method::GET, &path);
        let request =
            accepted.iter().fold(request, |ask, line| ask.header("accept-language", *line));
        let page = Answer::of(request).await.text;
        assert!(page.contains(&format!("lang=\"{lang}\"")), "{accepted:?}: {lang}");
    }
}

#[tokio::test]
async fn the_length_of_a_console_page_reveals_nothing_about_its_form_token() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let read = async |browser: &Browser<'_>, path: &str| {
        let request = browser.request(Method::GET, path).header("accept-encoding", "gzip");
        Answer::of(request).await
    };
    // The page contains text of the query, so it is sent uncompressed.
    let mut lengths = Vec::new();
    for guess in ["value=%220", "value=%22f", "xxxxxx%22z"] {
        let path = format!("/console/sites/new?domain=form_token{guess}");
        let page = read(&browser, &path).await;
        assert_eq!((page.status, page.header("content-encoding")), (200, None));
        assert!(page.text.contains("form_token"), "{}", page.text);
        lengths.push(page.text.len());
    }
    assert!(lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
    let plain = read(&browser, "/console/sites/new").await;
    assert_eq!(plain.header("content-encoding"), Some("gzip"));
    // The token differs completely between two pages, and both forms are accepted.
    let mut pages = Vec::new();
    for _ in 0..2 {
        pages.push(token_of(&browser.page("/console/sites/new").await));
    }
    let part = |token: &str, index: usize| token[index * 8..][..8].to_owned();
    for index in 0..16 {
        assert_ne!(part(&pages[0], index), part(&pages[1], index));
    }
    for (number, token) in pages.iter().enumerate() {
        let host = format!("{number}.example");
        let fields = [("domain", &*host), ("form_token", token)];
        assert_eq!(browser.post("/console/sites", &fields).await.status, 303);
    }
}
