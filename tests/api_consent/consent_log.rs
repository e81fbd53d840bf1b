//! The log of choices: filters, pages, and what does not exist.

use std::collections::BTreeSet;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::story::Site;
use crate::support::tools::{call, done};
use crate::support::visitors::fields;
use crate::support::{Account, Answer, App};

async fn page(app: &App, ann: &Account, site: &Site, query: &str) -> Value {
    app.read(&ann.key, &site.path(&format!("?{query}"))).await.expect(200)
}

fn visitors(page: &Value) -> Vec<String> {
    let events = page["events"].as_array().unwrap().iter();
    events.map(|event| event["visitor_id"].as_str().unwrap().to_owned()).collect()
}

/// All pages of a question, from the newest choice to the oldest.
async fn pages(app: &App, ann: &Account, site: &Site, query: &str) -> Vec<String> {
    let (mut read, mut before) = (Vec::new(), String::new());
    loop {
        let page = page(app, ann, site, &format!("{query}{before}")).await;
        read.extend(visitors(&page));
        match page["next_before"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return read,
        }
        assert!(read.len() < 1_000, "it never ends");
    }
}

/// Twelve visitors on six days: the even ones accept, the others decline; the last two accept a
/// changed policy.
async fn twelve(app: &App, ann: &Account, site: &Site) -> (Vec<Value>, String) {
    let (mut saved, mut hash) = (Vec::new(), site.policy_hash.clone());
    for number in 0..12 {
        if number == 10 {
            let changed = app.reconfigured(&ann.key, site, "Another Shop").await;
            hash = changed["policy_hash"].as_str().unwrap().to_owned();
        }
        let mut choice = match number % 2 == 0 || number >= 10 {
            true => site.acceptance(&format!("v{number}")),
            false => site.refusal(&format!("v{number}"), "declined"),
        };
        choice["policy_version_hash"] = json!(hash);
        saved.push(app.recorded(&choice).await);
        app.clock.advance(Duration::hours(12));
    }
    (saved, hash)
}

#[tokio::test]
async fn a_page_is_as_long_as_asked_for_and_the_next_one_goes_on() {
    let (app, ann, site) = app_with_site().await;
    twelve(&app, &ann, &site).await;
    let whole = page(&app, &ann, &site, "").await;
    assert_eq!((visitors(&whole).len(), &whole["next_before"]), (12, &Value::Null));
    for query in ["limit=5", "limit=1", "limit=12", "limit=4", "limit=5&from=2026-01-01"] {
        assert_eq!(pages(&app, &ann, &site, query).await, visitors(&whole), "{query}");
    }
    let first = page(&app, &ann, &site, "limit=5").await;
    assert_eq!(visitors(&first).len(), 5);
    assert_eq!(
        pages(&app, &ann, &site, "state=declined&limit=2").await,
        ["v9", "v7", "v5", "v3", "v1"]
    );
}

#[tokio::test]
async fn filters_find_what_they_name_alone_and_together() {
    let (app, ann, site) = app_with_site().await;
    let (saved, changed) = twelve(&app, &ann, &site).await;
    app.recorded(&site.refusal("v4", "withdrawn")).await;
    let receipt = &saved[7]["receipt_id"].as_str().unwrap();
    let old = &site.policy_hash;
    for (query, expected) in [
        ("visitor_id=v4".to_owned(), vec!["v4", "v4"]),
        ("visitor_id=v4&state=accepted".to_owned(), vec!["v4"]),
        (format!("receipt_id={receipt}"), vec!["v7"]),
        (format!("receipt_id={receipt}&state=accepted"), vec![]),
        (format!("receipt_id={receipt}&visitor_id=v7"), vec!["v7"]),
        (format!("policy_hash={changed}&state=accepted"), vec!["v11", "v10"]),
        (format!("policy_hash={old}&from=2026-03-13"), vec!["v9", "v8", "v7", "v6", "v5"]),
        (format!("policy_hash={}", "0".repeat(64)), vec![]),
        ("from=2026-03-11&to=2026-03-11".to_owned(), vec!["v2", "v1"]),
        ("to=2026-03-10".to_owned(), vec!["v0"]),
        ("from=2026-03-11&to=2026-03-12&state=declined".to_owned(), vec!["v3", "v1"]),
        ("from=2027-01-01".to_owned(), vec![]),
        ("visitor_id=nobody".to_owned(), vec![]),
    ] {
        assert_eq!(visitors(&page(&app, &ann, &site, &query).await), expected, "{query}");
    }
}

#[tokio::test]
async fn another_sites_choices_are_on_no_page() {
    let (app, ann, site) = app_with_site().await;
    let ben = app.account("ben@example.com").await;
    let other = app.consent_site(&ben.key, "ben.example").await;
    let foreign = app.recorded(&other.acceptance("foreign")).await;
    app.recorded(&site.acceptance("own")).await;
    let receipt = foreign["receipt_id"].as_str().unwrap();
    for query in ["limit=1", "state=accepted", "from=2026-01-01", "visitor_id=own"] {
        assert_eq!(visitors(&page(&app, &ann, &site, query).await), ["own"], "{query}");
    }
    let query = format!("receipt_id={receipt}");
    assert_eq!(visitors(&page(&app, &ann, &site, &query).await), Vec::<String>::new());
    app.read(&ann.key, &other.path("?limit=1")).await.refused(404, "pixel not found");
}

#[tokio::test]
async fn unreadable_and_unknown_parameters_are_named() {
    let (app, ann, site) = app_with_site().await;
    for (query, name) in [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("visitor_id=a%20b", "visitor_id"),
        ("receipt_id=7", "receipt_id"),
        ("policy_hash=abc", "policy_hash"),
        ("from=yesterday", "from"),
        ("from=2026-03-02&to=2026-03-01", "from"),
        ("to=2026-02-30", "to"),
        ("before=nonsense", "before"),
        ("before=0000000000000001&state=accepted", "before"),
        ("visitor=v1", "visitor"),
        ("State=accepted", "State"),
    ] {
        app.read(&ann.key, &site.path(&format!("?{query}"))).await.invalid(&["query", name]);
    }
    app.read(&ann.key, &site.path("?state=maybe")).await.refused(400, "invalid state");
    for path in ["/stats?state=accepted", "/export?limit=1", "/export?from=soon"] {
        assert_eq!(app.read(&ann.key, &site.path(path)).await.status, 422, "{path}");
    }
    let much = (0..300).map(|number| format!("x{number}=1")).collect::<Vec<_>>().join("&");
    let refused = app.read(&ann.key, &site.path(&format!("?{much}"))).await;
    assert_eq!(refused.json()["detail"].as_array().unwrap().len(), 10);
    // Elsewhere they are ignored.
    app.read(&ann.key, &format!("/v1/pixels/{}?x=1", site.pixel_id)).await.expect(200);
    let contacts = format!("/v1/pixels/{}/contacts?after=0&x=1", site.pixel_id);
    app.read(&ann.key, &contacts).await.expect(200);
}

#[tokio::test]
async fn an_export_of_some_days_has_their_receipts_and_every_policy() {
    let (app, ann, site) = app_with_site().await;
    twelve(&app, &ann, &site).await;
    let lines = async |query: &str| {
        let answer = app.read(&ann.key, &site.path(&format!("/export{query}"))).await;
        let lines = answer.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let (policies, receipts): (Vec<_>, Vec<_>) =
            lines.partition(|line| line["policy_hash"].is_string());
        assert_eq!(policies.len(), 2);
        let visitors = receipts.iter().map(|line| line["receipt"]["visitor_id"].clone());
        visitors.map(|visitor| visitor.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines("?from=2026-03-11&to=2026-03-12").await, ["v1", "v2", "v3", "v4"]);
    assert_eq!(lines("?to=2026-03-10").await, ["v0"]);
    assert_eq!(lines("?from=2026-03-16").await, ["v11"]);
    assert_eq!(lines("").await.len(), 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_pages_misses_nothing_while_others_write() {
    let (app, ann, site) = app_with_site().await;
    let writer = |start: usize| {
        let (app, site) = (&app, &site);
        async move {
            for number in start..start + 20 {
                app.recorded(&site.acceptance(&format!("v{number}"))).await;
            }
        }
    };
    writer(0).await;
    let before = (0..20).map(|number| format!("v{number}")).collect::<BTreeSet<_>>();
    for query in ["limit=7", "limit=7&state=accepted"] {
        let reader = pages(&app, &ann, &site, query);
        let (read, (), ()) = tokio::join!(reader, writer(1_000), writer(2_000));
        let distinct = read.iter().cloned().collect::<BTreeSet<_>>();
        assert!(distinct.is_superset(&before), "{query}: {read:?}");
    }
}

#[tokio::test]
async fn a_day_of_contacts_is_read_in_pages() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let person = |number: usize| json!({"hem": format!("{number:064x}"), "seen_at": if number < 7 { "2026-03-01" } else { "2026-03-02" }, "contact": {"n": number}});
    app.store(&ann.key, &pixel, (0..9).map(person).collect()).await.expect(200);
    let read = async |query: &str| app.contacts(&ann.key, &pixel, query).await;
    let numbers = |page: &Value| {
        let contacts = page["contacts"].as_array().unwrap().iter();
        contacts.map(|contact| contact["contact"]["n"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    let mut query = "on=2026-03-01&limit=3".to_owned();
    for expected in [3, 3, 1] {
        let page = read(&query).await.expect(200);
        assert_eq!(numbers(&page).len(), expected);
        found.extend(numbers(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("on=2026-03-01&limit=3&cursor={cursor}");
    }
    assert_eq!(found, (0..7).collect::<Vec<_>>());
    let exact = read("on=2026-03-01&limit=7").await.expect(200);
    assert_eq!((numbers(&exact).len(), &exact["next_cursor"]), (7, &Value::Null));
    // As it always was.
    let whole = read("on=2026-03-01").await.expect(200);
    assert_eq!((numbers(&whole).len(), whole.get("next_cursor")), (7, None));
    let page = read("after=2&limit=3").await.expect(200);
    assert_eq!((numbers(&page), &page["high_water"]), (vec![2, 3, 4], &json!(5)));
    for bad in
        ["after=0&limit=0", "after=0&limit=1001", "on=2026-03-01&limit=x", "on=2026-03-01&cursor=x"]
    {
        read(bad).await.refused(400, "invalid request");
    }
}

#[tokio::test]
async fn a_tool_answers_with_what_a_model_can_read() {
    let (app, ann, site) = app_with_site().await;
    for number in 0..30 {
        app.recorded(&site.acceptance(&format!("visitor-{number}"))).await;
    }
    let person = |number: usize| json!({"hem": format!("{number:064x}"), "seen_at": "2026-03-01T08:00:00Z", "contact": {"name": "Ann Example", "company": "Example Ltd", "city": "Berlin", "text": "x".repeat(if number > 60 { 3_000 } else { 40 })}});
    let path = format!("/v1/pixels/{}/contacts", site.pixel_id);
    let people = json!({"contacts": (0..80).map(person).collect::<Vec<_>>()});
    app.call(Method::POST, &path, &ann.key, people).await.expect(200);
    let about = |more: Value| {
        let mut arguments = json!({"pixel_id": site.pixel_id, "api_key": ann.key});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (tool, more) in [
        ("read_consent_log", json!({})),
        ("read_contacts", json!({"after": 0})),
        ("read_contacts", json!({"after": 60})),
        ("read_contacts", json!({"on": "2026-03-01"})),
        ("read_consent_stats", json!({})),
        (
            "configure_consent",
            json!({"controller_name": "Ann", "purposes": ["resolution"], "dry_run": true}),
        ),
    ] {
        let result = call(&app, tool, about(more)).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        // 8,000 tokens; what is mostly digits has some two letters in each.
        assert!(text.len() < 16_000, "{tool}: {}", text.len());
    }
    let (mut read, mut before) = (0, Value::Null);
    loop {
        let log = call(&app, "read_consent_log", about(json!({"before": before}))).await;
        read += done(&log)["events"].as_array().unwrap().len();
        before = done(&log)["next_before"].clone();
        if before.is_null() {
            break;
        }
    }
    assert_eq!(read, 30);
    let (mut read, mut cursor) = (0, Value::Null);
    loop {
        let more = json!({"on": "2026-03-01", "cursor": cursor});
        let day = call(&app, "read_contacts", about(more)).await;
        read += done(&day)["contacts"].as_array().unwrap().len();
        cursor = done(&day)["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(read, 80);
    let named =
        call(&app, "read_consent_log", about(json!({"limit": 30, "visitor_id": "visitor-7"})));
    assert_eq!(done(&named.await)["events"][0]["visitor_id"], "visitor-7");
    let wrong = call(&app, "read_consent_log", about(json!({"limit": 500}))).await;
    assert!(wrong["content"][0]["text"].as_str().unwrap().starts_with("limit: "), "{wrong}");
}

#[tokio::test]
async fn a_key_of_one_account_brings_no_key_for_another() {
    let app = App::spawn().await;
    let (ann, ben) = (app.account("ann@example.com").await, app.account("ben@example.com").await);
    let issue = |account: &str| {
        let path = format!("/v1/api-keys?account_id={account}");
        let request = app.request(Method::POST, &path).bearer_auth(&ann.key);
        Answer::of(request)
    };
    issue(&ben.account_id).await.refused(404, "account not found");
    issue(&ann.account_id).await.expect(201);
    issue("").await.expect(201);
}

#[tokio::test]
async fn the_log_has_the_newest_choice_first_with_its_receipt() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let answers = [
        app.recorded(&site.acceptance("one")).await,
        app.recorded(&site.refusal("two", "declined")).await,
        app.recorded(&site.refusal("one", "withdrawn")).await,
    ];
    let path = format!("/v1/pixels/{}/consent", site.pixel_id);
    let log = app.call(Method::GET, &path, &key, Value::Null).await.expect(200);
    assert_eq!(fields(&log), ["events", "next", "next_before", "pixel_id"]);
    assert_eq!(log["pixel_id"], json!(site.pixel_id));
    let events = log["events"].as_array().unwrap();
    assert_eq!(events.len(), 3);
    for (event, answer) in events.iter().rev().zip(&answers) {
        assert_eq!(event["receipt"], answer["receipt"]);
        assert_eq!(event["signature"], answer["signature"]);
        assert_eq!(event["signature_alg"], "hmac-sha256");
        for (field, value) in event["receipt"].as_object().unwrap() {
            assert_eq!(&event[field], value, "{field}");
        }
        assert_eq!(fields(event).len(), fields(&event["receipt"]).len() + 4);
        assert!(app.verifies(&event["receipt"], event["signature"].as_str().unwrap()).await);
    }
}

#[tokio::test]
async fn the_log_can_be_read_by_state() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    app.recorded(&site.acceptance("one")).await;
    app.recorded(&site.refusal("two", "declined")).await;
    app.recorded(&site.refusal("one", "withdrawn")).await;
    let path = format!("/v1/pixels/{}/consent", site.pixel_id);
    for state in ["accepted", "declined", "withdrawn"] {
        let path = format!("{path}?state={state}");
        let log = app.call(Method::GET, &path, &key, Value::Null).await.expect(200);
        let events = log["events"].as_array().unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["consent_state"], state);
    }
    let older = app.recorded(&site.acceptance("three")).await;
    let newer = app.recorded(&site.acceptance("four")).await;
    let log = app.call(Method::GET, &format!("{path}?state=accepted"), &key, Value::Null).await;
    let events = log.expect(200)["events"].as_array().unwrap().clone();
    assert_eq!(events.len(), 3);
    assert_eq!(events[0]["receipt"], newer["receipt"], "the newest is first");
    assert_eq!(events[1]["receipt"], older["receipt"]);
    for state in ["", "Accepted", "pending", "accepted,declined", "%ff"] {
        let path = format!("{path}?state={state}");
        let answer = app.call(Method::GET, &path, &key, Value::Null).await;
        answer.refused(400, "invalid state");
    }
}

#[tokio::test]
async fn the_log_has_at_most_200_rows() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    for number in 0..203 {
        app.recorded(&site.refusal(&format!("visitor-{number}"), "declined")).await;
    }
    let events = app.log(&key, &site.pixel_id).await;
    let visitors = events.iter().map(|event| event["visitor_id"].as_str().unwrap().to_owned());
    let expected = (3..203).rev().map(|number| format!("visitor-{number}"));
    assert!(visitors.eq(expected));
}

#[tokio::test]
async fn reading_the_log_needs_an_active_account() {
    let app = App::spawn().await;
    app.refuses_all_but_active_accounts(Method::GET, "/v1/pixels/unknown/consent").await;
}
