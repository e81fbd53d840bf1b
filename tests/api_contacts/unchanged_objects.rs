//! Contact objects are returned as they were stored by every reader: numbers beyond 64 bits, the order of
//! keys, all kinds of text.

use std::fmt::Write;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::hem;
use crate::support::sites::https_site::Reply;
use crate::support::tools::{message, post};
use crate::support::webhooks::Hooks;
use crate::support::{Account, Answer, App};

/// Pairs of sent and returned objects; they differ only in spaces and escapes.
const OBJECTS: [(&str, &str); 8] = [
    (r#"{"n": 18446744073709551616}"#, r#"{"n":18446744073709551616}"#),
    (
        r#"{"n":12345678901234567890123,"m":-170141183460469231731687303715884105729}"#,
        r#"{"n":12345678901234567890123,"m":-170141183460469231731687303715884105729}"#,
    ),
    (r#"{"n":[1E2,1e-400,-0,-0.0,1.10,0.1e+1]}"#, r#"{"n":[1E2,1e-400,-0,-0.0,1.10,0.1e+1]}"#),
    (
        r#"{"n":0.1000000000000000055511151231257827021181583404541015625}"#,
        r#"{"n":0.1000000000000000055511151231257827021181583404541015625}"#,
    ),
    (r#"{"z":1,"a":{"z":true,"a":null},"m":2}"#, r#"{"z":1,"a":{"z":true,"a":null},"m":2}"#),
    ("{ \"name\" :\t\"\\u00e9\\ud83d\\ude00\\/\" }", r#"{"name":"é😀/"}"#),
    (r#"{"\u0061":"\\ \" \t { }","b":" "}"#, r#"{"a":"\\ \" \t { }","b":" "}"#),
    (
        r#"{"n":9223372036854775808,"m":-9223372036854775809}"#,
        r#"{"n":9223372036854775808,"m":-9223372036854775809}"#,
    ),
];

fn body() -> String {
    let mut items = String::new();
    for (index, (sent, _)) in OBJECTS.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(items, r#"{comma}{{"hem":"{}","contact":{sent}}}"#, hem(index)).unwrap();
    }
    format!(r#"{{"contacts":[{items}]}}"#)
}

async fn post_contacts(app: &App, ann: &Account, pixel: &str, body: String) -> Answer {
    let path = format!("/v1/pixels/{pixel}/contacts");
    Answer::of(app.request(Method::POST, &path).bearer_auth(&ann.key).body(body)).await
}

fn has_all(text: &str, source: &str) {
    for (_, read) in OBJECTS {
        assert!(text.contains(&format!(r#""contact":{read}"#)), "{source}: {read}\n{text}");
    }
}

#[tokio::test]
async fn every_reader_returns_contacts_as_sent() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    post_contacts(&app, &ann, &pixel, body()).await.expect(200);
    let read = async |path: &str| {
        let answer = app.call(Method::GET, path, &ann.key, Value::Null).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    };
    let contacts = format!("/v1/pixels/{pixel}/contacts");
    let today = app.clock.now().date_naive();
    for query in ["after=0".to_owned(), "changed_after=0".to_owned(), format!("on={today}")] {
        has_all(&read(&format!("{contacts}?{query}")).await, &query);
        let table = read(&format!("{contacts}?{query}&format=csv")).await;
        for (_, read) in OBJECTS {
            let cell = format!("\"{}\"", read.replace('"', "\"\""));
            assert!(table.contains(&cell), "{query}: {cell}\n{table}");
        }
    }
    for (index, (_, object)) in OBJECTS.iter().enumerate() {
        let one = read(&format!("{contacts}/{}", hem(index))).await;
        assert!(one.contains(&format!(r#""contact":{object}"#)), "{one}");
    }
    has_all(&read("/v1/account/export").await, "export");
    let mut browser = app.browser_of(&ann.key).await;
    for (index, part) in [
        (0, "<dt>N</dt><dd><bdi>18446744073709551616</bdi>"),
        (1, "12345678901234567890123"),
        (2, "[1E2,1e-400,-0,-0.0,1.10,0.1e+1]"),
    ] {
        let person = format!("/console/sites/{pixel}/contacts/find?hem={}", hem(index));
        let page = browser.page(&person).await;
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn tools_store_and_read_what_was_sent() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let call = async |tool: &str, arguments: &str| {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let request = post(&app).header("Content-Type", "application/json").body(call);
        let answer = Answer::of(request.bearer_auth(&ann.key)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.text
    };
    let contacts = body();
    let contacts = contacts.strip_prefix('{').unwrap();
    let stored = call("store_contacts", &format!(r#"{{"pixel_id":"{pixel}",{contacts}"#)).await;
    assert!(stored.contains(&format!(r#""stored":{}"#, OBJECTS.len())), "{stored}");
    for window in ["\"after\":0", "\"changed_after\":0,\"limit\":100"] {
        let page = call("read_contacts", &format!(r#"{{"pixel_id":"{pixel}",{window}}}"#)).await;
        has_all(page.split("\"structuredContent\":").nth(1).unwrap(), window);
        let text = serde_json::from_str::<Value>(&page).unwrap();
        has_all(text["result"]["content"][0]["text"].as_str().unwrap(), window);
    }
    let arguments = format!(r#"{{"pixel_id":"{pixel}","hem":"{}"}}"#, hem(0));
    let found = call("find_contact", &arguments).await;
    assert!(found.contains(r#""contact":{"n":18446744073709551616}"#), "{found}");
    // The service's own results are structured as before.
    let plans = Answer::of(post(&app).json(&message("tools/call", json!({"name": "list_plans"}))));
    let plans = plans.await.expect(200);
    let text = plans["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), plans["result"]["structuredContent"]);
}

#[tokio::test]
async fn webhooks_send_what_was_stored() {
    let hooks = Hooks::start().await;
    hooks.webhook("hooks.example/a", Reply::status(204)).await;
    let stored = post_contacts(&hooks.app, &hooks.ann, &hooks.shop.pixel_id, body()).await;
    stored.expect(200);
    hooks.arrived("hooks.example/a", OBJECTS.len()).await;
    let sent = hooks.sent("hooks.example/a").into_iter().map(|seen| seen.body);
    has_all(&sent.collect::<String>(), "webhooks");
}

#[tokio::test]
async fn contacts_that_cannot_be_preserved_are_refused() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for object in [
        r#"{"n":1e400}"#,
        r#"{"n":[-1e999]}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"a":"\u0000"}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\udc00\ud800"}"#,
        r#"{"a":NaN}"#,
        r#"{"a":01}"#,
        r#"{"a":.5}"#,
    ] {
        let body = format!(r#"{{"contacts":[{{"hem":"{}","contact":{object}}}]}}"#, hem(1));
        post_contacts(&app, &ann, &pixel, body).await.refused(400, "invalid request");
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"store_contacts","arguments":{{"pixel_id":"{pixel}","contacts":[{{"hem":"{}","contact":{object}}}]}}}}}}"#,
            hem(1)
        );
        let request = post(&app).header("Content-Type", "application/json").body(call);
        Answer::of(request.bearer_auth(&ann.key)).await.refused(400, "invalid request");
    }
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn the_limit_counts_an_object_without_spaces_and_escapes() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let store = async |text: &str| {
        let body =
            format!(r#"{{"contacts":[{{"hem":"{}","contact":{{"t" : "{text}"}}}}]}}"#, hem(1));
        post_contacts(&app, &ann, &pixel, body).await.status
    };
    // 16 KiB, including 8 bytes around the text.
    assert_eq!(store(&"\\u0078".repeat(16 * 1024 - 8)).await, 200);
    assert_eq!(store(&"x".repeat(16 * 1024 - 7)).await, 400);
}
