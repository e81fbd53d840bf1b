//! Consent log, contacts and counts as CSV: two readers of CSV find the values of the JSON.

use std::io::Write;
use std::process::{Command, Stdio};

use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::contacts::{hem, insert_contacts};
use crate::support::{Answer, App};

/// A table under the names of its columns, as the csv crate reads it, which refuses lines of
/// another length.
fn rows(text: &str) -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let row = |row: csv::StringRecord| {
        names.iter().zip(&row).map(|(name, cell)| (name.to_owned(), json!(cell))).collect()
    };
    reader
        .records()
        .map(|record| Value::Object(row(record.expect("a line as long as the others"))))
        .collect()
}

/// The same by Python's module in its strict mode.
fn rows_for_python(text: &str) -> Vec<Value> {
    const PROGRAM: &str = "import csv, io, json, sys
table = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', newline='')
print(json.dumps(list(csv.DictReader(table, strict=True))))";
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut child = Command::new(python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).expect("Python reads it")
}

/// The lines of a table that is found.
fn found(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(answer.text.ends_with("\r\n"));
    let rows = rows(&answer.text);
    assert_eq!(rows_for_python(&answer.text), rows);
    rows
}

/// The path in `Link`, for whoever has followed the service's address.
fn next_page(app: &App, answer: &Answer) -> Option<String> {
    let link = answer.header("link")?;
    let address = link.strip_prefix('<')?.strip_suffix(">; rel=\"next\"").expect(link);
    Some(address.strip_prefix(&app.base).expect("it is absolute").to_owned())
}

/// The lines of all pages, and how many pages there were.
async fn pages(app: &App, key: &str, first: &str) -> (Vec<Value>, usize) {
    let (mut read, mut number, mut next) = (Vec::new(), 0, Some(first.to_owned()));
    while let Some(path) = next {
        let answer = app.read(key, &path).await;
        read.extend(found(&answer));
        number += 1;
        assert!(number < 50, "it never ends");
        next = next_page(app, &answer);
    }
    (read, number)
}

#[tokio::test]
async fn a_log_as_a_table_says_what_the_log_says() {
    let (app, ann, site) = app_with_site().await;
    let mut both = site.acceptance("ann");
    both["purposes"] = json!(["resolution", "analytics"]);
    both["shown"] = json!({"language": "de", "script": "unknown", "act": "assistive",
        "seen": "under_1s", "automated": false});
    app.recorded(&both).await;
    app.recorded(&site.refusal("-5", "declined")).await;
    app.recorded(&site.refusal("ann", "withdrawn")).await;
    let answer = app.read(&ann.key, &site.path("?format=csv")).await;
    let name = format!("attachment; filename=\"consent-log-{}.csv\"", site.pixel_id);
    assert_eq!(answer.header("content-disposition"), Some(&*name));
    assert_eq!(answer.header("link"), None);
    let log = app.read(&ann.key, &site.path("?format=json")).await.expect(200);
    let events = log["events"].as_array().unwrap();
    let rows = found(&answer);
    assert_eq!(rows.len(), 3);
    for (row, event) in rows.iter().zip(events) {
        for (name, cell) in row.as_object().unwrap() {
            let shown = name.strip_prefix("shown_").map(|part| &event["shown"][part]);
            let expected = match (name.as_str(), shown.unwrap_or(&event[name]).as_str()) {
                ("purposes", _) => {
                    let purposes = event[name].as_array().unwrap().iter();
                    purposes.map(|purpose| purpose.as_str().unwrap()).collect::<Vec<_>>().join(" ")
                }
                ("shown_automated", _) => {
                    shown.unwrap().as_bool().map(|it| it.to_string()).unwrap_or_default()
                }
                (_, None) if shown.is_some() => String::new(),
                ("visitor_id", Some("-5")) => "'-5".to_owned(),
                (_, text) => text.expect(name).to_owned(),
            };
            assert_eq!(*cell, json!(expected), "{name}");
        }
    }
    assert_eq!(rows[2]["purposes"], "analytics resolution");
    assert_eq!(rows[2]["shown_language"], "de");
    assert_eq!(rows[2]["shown_act"], "assistive");
    assert_eq!(rows[2]["shown_automated"], "false");
    assert_eq!(rows[1]["shown_act"], "");
    assert_eq!(rows[2]["shown_notice"].as_str().map(str::len), Some(64));
}

#[tokio::test]
async fn the_next_page_of_a_table_of_choices_is_linked_with_the_same_filters() {
    let (app, ann, site) = app_with_site().await;
    for number in 0..7 {
        app.recorded(&site.acceptance(&format!("v{number}"))).await;
        app.recorded(&site.refusal(&format!("v{number}"), "withdrawn")).await;
    }
    let ids = |rows: &[Value]| rows.iter().map(|row| row["receipt_id"].clone()).collect::<Vec<_>>();
    for (filters, limit, expected, number) in [
        ("", 4, 14, 4),
        ("", 7, 14, 2),
        ("state=withdrawn&", 3, 7, 3),
        ("visitor_id=v3&", 1, 2, 2),
        ("from=2026-03-10&to=2026-03-10&", 14, 14, 1),
        ("state=declined&", 200, 0, 1),
    ] {
        let first = site.path(&format!("?{filters}format=csv&limit={limit}"));
        let (read, pages) = pages(&app, &ann.key, &first).await;
        assert_eq!((read.len(), pages), (expected, number), "{filters}");
        let log = app.read(&ann.key, &site.path(&format!("?{filters}limit=200"))).await.expect(200);
        assert_eq!(ids(&read), ids(log["events"].as_array().unwrap()), "{filters}");
    }
}

#[tokio::test]
async fn counts_as_a_table_have_a_line_for_each_day() {
    let (app, ann, site) = app_with_site().await;
    for visitor in ["one", "two", "three"] {
        app.post("/v1/consent/shown", site.refusal(visitor, "declined")).await.expect(204);
    }
    app.recorded(&site.acceptance("one")).await;
    let path = site.path("/stats?from=2026-03-09&to=2026-03-11");
    let answer = app.read(&ann.key, &format!("{path}&format=csv")).await;
    let name = format!("consent-stats-{}-2026-03-09-2026-03-11.csv", site.pixel_id);
    let disposition = format!("attachment; filename=\"{name}\"");
    assert_eq!(answer.header("content-disposition"), Some(&*disposition));
    let stats = app.read(&ann.key, &path).await.expect(200);
    let flat = |day: &Value| {
        let mut flat = day.as_object().unwrap().clone();
        let purposes = flat.remove("purposes").unwrap();
        flat.extend(purposes.as_object().unwrap().clone());
        let texts = flat.into_iter().map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name, json!(text))
        });
        Value::Object(texts.collect())
    };
    let days = stats["days"].as_array().unwrap().iter().map(flat).collect::<Vec<_>>();
    let rows = found(&answer);
    assert_eq!(rows, days);
    assert_eq!((&rows[1]["unanswered"], &rows[1]["resolution"]), (&json!("2"), &json!("1")));
}

#[tokio::test]
async fn the_object_of_a_contact_is_one_cell_whatever_is_in_it() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let odd = [
        json!({"formula": "=HYPERLINK(\"https://evil.example\",\"x\")", "=cmd|' /C calc'!A0": "+1"}),
        json!({"quotes": "\"\"\"", "commas": ",,", "lines": "a\r\nb\nc\rd", "tab": "\t=1"}),
        json!({"unicode": "\u{feff}\u{202e}ünï😀\u{2028}\u{1f469}\u{200d}\u{1f4bb}", "של": "שלום"}),
        json!({"nested": [{"a": [null, true, 1.5e300]}]}),
    ];
    let spaced = "{\n  \"contact\": [\r\n1 ],\t\"b\" : \"'\" }";
    let mut items = odd.iter().enumerate().map(|(number, contact)| json!({"hem": hem(number), "seen_at": "2026-03-01T08:00:00.25+01:00", "contact": contact}).to_string()).collect::<Vec<_>>();
    items.push(format!(
        "{{\"hem\":\"{}\",\"seen_at\":\"2026-03-02\",\"contact\":{spaced}}}",
        hem(9)
    ));
    let body = format!("{{\"contacts\":[{}]}}", items.join(","));
    let path = format!("/v1/pixels/{pixel}/contacts");
    let stored = app.request(Method::POST, &path).bearer_auth(&ann.key).body(body);
    Answer::of(stored).await.expect(200);
    let nul = json!([{"hem": hem(10), "contact": {"nul": "a\0b"}}]);
    app.store(&ann.key, &pixel, nul).await.refused(400, "invalid request");

    let answer = app.contacts(&ann.key, &pixel, "after=0&format=csv").await;
    let rows = found(&answer);
    let page = app.contacts(&ann.key, &pixel, "after=0").await.expect(200);
    let contacts = page["contacts"].as_array().unwrap();
    assert_eq!((rows.len(), contacts.len()), (5, 5));
    for (row, contact) in rows.iter().zip(contacts) {
        assert_eq!(row["id"], json!(contact["id"].to_string()));
        assert_eq!((&row["hem"], &row["resolved_at"]), (&contact["hem"], &contact["resolved_at"]));
        let cell = row["contact"].as_str().unwrap();
        assert!(cell.starts_with('{'));
        assert_eq!(serde_json::from_str::<Value>(cell).unwrap(), contact["contact"]);
    }
    assert_eq!(rows[0]["resolved_at"], "2026-03-01T07:00:00.25Z");
    let name = format!("attachment; filename=\"contacts-{pixel}-after-0.csv\"");
    assert_eq!(answer.header("content-disposition"), Some(&*name));
    let of_day = app.contacts(&ann.key, &pixel, "on=2026-03-02&format=csv").await;
    assert_eq!(found(&of_day), rows[4..]);
    let name = format!("attachment; filename=\"contacts-{pixel}-2026-03-02.csv\"");
    assert_eq!(of_day.header("content-disposition"), Some(&*name));
}

#[tokio::test]
async fn pages_of_contacts_are_linked_until_there_are_no_more() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    insert_contacts(&app.pool, &pixel, 1_203, 10).await;
    let ids = |rows: &[Value]| {
        let ids = rows.iter().map(|row| row["id"].as_str().unwrap().parse().unwrap());
        ids.collect::<Vec<usize>>()
    };
    for (query, from, number) in [
        ("after=0&format=csv", 1, 2),
        ("after=0&limit=401&format=csv", 1, 3),
        ("after=1000&limit=100&format=csv", 1_001, 3),
        ("format=csv&on=2026-03-10&limit=300", 1, 5),
        ("format=csv&on=2026-03-10&cursor=203&limit=1000", 204, 1),
        // A day without a limit is whole.
        ("on=2026-03-10&format=csv", 1, 1),
        ("on=2026-03-10&format=csv&method=html", 1, 1),
    ] {
        let path = format!("/v1/pixels/{pixel}/contacts?{query}");
        let (read, pages) = pages(&app, &ann.key, &path).await;
        assert_eq!(ids(&read), (from..=1_203).collect::<Vec<_>>(), "{query}");
        assert_eq!(pages, number, "{query}");
    }
    for query in ["after=1203&format=csv", "on=2026-03-11&format=csv"] {
        let answer = app.contacts(&ann.key, &pixel, query).await;
        assert_eq!(
            answer.text, "id,hem,resolved_at,contact,visitor_id,receipt_id,permitted,reason\r\n",
            "{query}"
        );
        assert_eq!(answer.header("link"), None, "{query}");
    }
}

#[tokio::test]
async fn a_table_that_breaks_off_is_no_table_for_strict_readers() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    insert_contacts(&app.pool, &pixel, 20_000, 2_000).await;
    let path = format!("/v1/pixels/{pixel}/contacts?on=2026-03-10&format=csv");
    let request = app.request(Method::GET, &path).bearer_auth(&ann.key);
    let mut stream = request.send().await.unwrap().bytes_stream();
    let mut bytes = stream.next().await.unwrap().unwrap().to_vec();
    sqlx::query("ALTER TABLE contacts RENAME TO lost").execute(&app.pool).await.unwrap();
    while let Some(chunk) = stream.next().await {
        bytes.extend(chunk.unwrap());
    }
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().last(), Some("error: the table broke off here"));
    assert!(csv::Reader::from_reader(text.as_bytes()).records().any(|row| row.is_err()));
    app.read(&ann.key, &path).await.refused(500, "internal error");
}

#[tokio::test]
async fn a_form_that_there_is_not_is_named() {
    let (app, ann, site) = app_with_site().await;
    for format in ["xml", "CSV", "csv,json", "%00"] {
        for path in ["", "/stats"] {
            let path = site.path(&format!("{path}?format={format}"));
            let answer = app.read(&ann.key, &path).await;
            assert_eq!(answer.status, 422, "{path}");
            answer.invalid(&["query", "format"]);
        }
        let query = format!("after=0&format={format}");
        let answer = app.contacts(&ann.key, &site.pixel_id, &query).await;
        assert_eq!(answer.json()["errors"][0]["loc"], json!(["query", "format"]));
        answer.refused(400, "invalid request");
    }
    for path in ["?format=", "?format=%20", "/stats?format=", "?format=json"] {
        app.read(&ann.key, &site.path(path)).await.expect(200);
    }
    app.contacts(&ann.key, &site.pixel_id, "after=0&format=").await.expect(200);
    let export = app.read(&ann.key, &site.path("/export?format=csv")).await;
    export.invalid(&["query", "format"]);
}

#[tokio::test]
async fn tables_belong_to_the_pixels_owner() {
    let (app, ann, _) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.consent_site(&bob.key, "bob.example").await;
    app.recorded(&bobs.acceptance("visitor")).await;
    for path in ["?format=csv", "/stats?format=csv"] {
        app.read(&ann.key, &bobs.path(path)).await.refused(404, "pixel not found");
        app.get(&bobs.path(path)).await.refused(401, "api key required");
        assert!(!found(&app.read(&bob.key, &bobs.path(path)).await).is_empty());
    }
    let answer = app.contacts(&ann.key, &bobs.pixel_id, "after=0&format=csv").await;
    answer.refused(404, "pixel not found");
    let operator = app.unlimited_account("op@example.com").await;
    let answer = app.read(&operator.key, &bobs.path("?format=csv")).await;
    assert_eq!(found(&answer)[0]["visitor_id"], "visitor");
}

#[tokio::test]
async fn head_of_a_table_has_its_headers() {
    let (app, ann, site) = app_with_site().await;
    for number in 0..2 {
        app.recorded(&site.acceptance(&format!("v{number}"))).await;
    }
    let path = site.path("?format=csv&limit=1");
    let answer = app.call(Method::HEAD, &path, &ann.key, Value::Null).await;
    assert_eq!((answer.status, &*answer.text), (200, ""));
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(next_page(&app, &answer).unwrap().contains("before="));
}
