//! Every list is read to its end by `next`, while others write: nothing twice, nothing missed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contact_shop::ContactShop;
use crate::support::contacts::{bound, hem, person};
use crate::support::watch_reports::ReportMade;
use crate::support::{Answer, App};

/// The items of all pages. `between` is called after each page.
async fn walk(
    app: &App,
    key: &str,
    path: &str,
    items: &str,
    id: &str,
    mut between: impl AsyncFnMut(usize),
) -> Vec<String> {
    let (mut next, mut found, mut pages) = (Some(app.url(path)), Vec::new(), 0);
    while let Some(address) = next {
        let answer = Answer::of(app.client.get(&address).bearer_auth(key)).await;
        let page = answer.expect(200);
        let listed = page[items].as_array().unwrap_or_else(|| panic!("{page}"));
        found.extend(listed.iter().map(|item| match &item[id] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }));
        next = page["next"].as_str().map(str::to_owned);
        assert!(page.get("next").is_some(), "{address} does not say whether more follows");
        let link = next.as_ref().map(|next| format!("<{next}>; rel=\"next\""));
        assert_eq!(answer.header("link"), link.as_deref(), "{address}");
        between(pages).await;
        pages += 1;
        assert!(pages < 100, "{path} has no end");
    }
    found
}

fn assert_complete(found: &[String], wanted: &BTreeSet<String>) {
    let once = found.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(once.len(), found.len(), "twice: {found:?}");
    let missed = wanted.difference(&once).collect::<Vec<_>>();
    assert!(missed.is_empty(), "missed: {missed:?}");
}

#[tokio::test]
async fn contacts_by_each_of_their_cursors() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 0..25).await.expect(200);
    let wanted = (0..25).map(hem).collect::<BTreeSet<_>>();
    for (round, query) in ["after=0&limit=4", "changed_after=0&limit=4", "on=2026-03-10&limit=4"]
        .into_iter()
        .enumerate()
    {
        let path = format!("/v1/pixels/{pixel}/contacts?{query}");
        let found = walk(&app, &ann.key, &path, "contacts", "hem", async |page| {
            let number = 1_000 + 100 * round + page;
            if page < 4 {
                app.store(&ann.key, &pixel, json!([person(number)])).await.expect(200);
            }
        });
        assert_complete(&found.await, &wanted);
    }
    let whole = format!("/v1/pixels/{pixel}/contacts?on=2026-03-10");
    walk(&app, &ann.key, &whole, "contacts", "hem", async |page| assert_eq!(page, 0)).await;
}

#[tokio::test]
async fn the_consent_log() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let mut wanted = BTreeSet::new();
    for number in 0..11 {
        let visitor = format!("visitor-{number}");
        app.recorded(&site.acceptance(&visitor)).await;
        wanted.insert(visitor);
    }
    let path = format!("/v1/pixels/{}/consent?limit=3&state=accepted", site.pixel_id);
    let found = walk(&app, &ann.key, &path, "events", "visitor_id", async |page| {
        app.recorded(&site.acceptance(&format!("later-{page}"))).await;
    });
    assert_complete(&found.await, &wanted);
}

#[tokio::test]
async fn what_a_visitor_answered_and_asked_for() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let choices = (0..201).map(|_| site.refusal("visitor", "declined")).collect::<Vec<_>>();
    let recorded = join_all(choices.iter().map(|choice| app.recorded(choice))).await;
    let id_of = |receipt: &Value| receipt["receipt_id"].as_str().unwrap().to_owned();
    let wanted = recorded.iter().map(id_of).collect();
    let body = json!({"pixel_id": site.pixel_id, "visitor_id": "visitor"});
    let (mut next, mut found, mut pages) = (Some(app.url("/v1/consent/history")), Vec::new(), 0);
    while let Some(address) = next {
        let answer = Answer::of(app.client.post(&address).json(&body)).await;
        let page = answer.expect(200);
        let receipts = page["receipts"].as_array().unwrap().iter();
        found.extend(receipts.map(|choice| id_of(&choice["receipt"])));
        next = page["next"].as_str().map(str::to_owned);
        let link = next.as_ref().map(|next| format!("<{next}>; rel=\"next\""));
        assert_eq!(answer.header("link"), link.as_deref(), "{address}");
        app.recorded(&site.refusal("visitor", "withdrawn")).await;
        pages += 1;
    }
    assert_eq!(pages, 2);
    assert_complete(&found, &wanted);
    app.post("/v1/consent/erasure-requests", body.clone()).await.expect(202);
    let asked = app.post("/v1/consent/erasure-requests/history", body).await.expect(200);
    assert_eq!(asked["requests"].as_array().unwrap().len(), 1);
    assert_eq!(asked.get("next"), Some(&Value::Null));
}

#[tokio::test]
async fn withdrawn_contacts() {
    let shop = ContactShop::open().await;
    let withdraw = async |number: usize| {
        let visitor = format!("visitor-{number}");
        shop.accept(&visitor).await;
        shop.stored(json!([bound(number, &visitor)])).await;
        shop.refuse(&visitor, "withdrawn").await;
    };
    for number in 0..5 {
        withdraw(number).await;
    }
    shop.withdrawn_are(5).await;
    let wanted = (0..5).map(hem).collect();
    let path = format!("/v1/pixels/{}/contacts/withdrawn?limit=2", shop.site.pixel_id);
    let found = walk(&shop.app, &shop.ann.key, &path, "withdrawn", "hem", async |page| {
        if page < 3 {
            withdraw(100 + page).await;
            shop.withdrawn_are(6 + page).await;
        }
    });
    assert_complete(&found.await, &wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn contacts_and_choices_while_two_others_write_without_a_pause() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 0..60).await.expect(200);
    let site = app.consent_site(&ann.key, "log.example").await;
    for number in 0..40 {
        app.recorded(&site.acceptance(&format!("visitor-{number}"))).await;
    }
    let is_read = AtomicBool::new(false);
    let read = async || {
        for query in ["after=0&limit=3", "changed_after=0&limit=3"] {
            let path = format!("/v1/pixels/{pixel}/contacts?{query}");
            let found = walk(&app, &ann.key, &path, "contacts", "hem", async |_| ()).await;
            assert_complete(&found, &(0..60).map(hem).collect());
        }
        let path = format!("/v1/pixels/{}/consent?limit=3", site.pixel_id);
        let found = walk(&app, &ann.key, &path, "events", "visitor_id", async |_| ()).await;
        let wanted = (0..40).map(|number| format!("visitor-{number}")).collect();
        assert_complete(&found, &wanted);
        is_read.store(true, Relaxed);
    };
    let write = async |writer: usize| {
        for number in (0..50).take_while(|_| !is_read.load(Relaxed)) {
            let number = 1_000 * writer + number;
            app.store(&ann.key, &pixel, json!([person(number)])).await.expect(200);
            app.recorded(&site.acceptance(&format!("later-{number}"))).await;
        }
    };
    tokio::join!(read(), write(1), write(2));
}

#[tokio::test]
async fn suppressions_and_events_of_the_account() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for number in 0..9 {
        let path = format!("/v1/suppressions/{}", hem(2 * number));
        app.call(Method::PUT, &path, &ann.key, Value::Null).await.expect(204);
    }
    let wanted = (0..9).map(|number| hem(2 * number)).collect();
    let found =
        walk(&app, &ann.key, "/v1/suppressions?limit=2", "suppressions", "hem", async |page| {
            let path = format!("/v1/suppressions/{}", hem(2 * page + 1));
            app.call(Method::PUT, &path, &ann.key, Value::Null).await.expect(204);
        });
    assert_complete(&found.await, &wanted);
    let all = walk(&app, &ann.key, "/v1/account/events", "events", "event_id", async |_| ()).await;
    let wanted = all.into_iter().collect::<BTreeSet<_>>();
    assert!(wanted.len() > 4, "{wanted:?}");
    let found =
        walk(&app, &ann.key, "/v1/account/events?limit=3", "events", "event_id", async |page| {
            let path = format!("/v1/suppressions/{}", hem(1_000 + page));
            app.call(Method::PUT, &path, &ann.key, Value::Null).await.expect(204);
        });
    assert_complete(&found.await, &wanted);
}

#[tokio::test]
async fn requests_for_erasure() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let ask = async |visitor: &str| {
        app.recorded(&site.acceptance(visitor)).await;
        let body = json!({"pixel_id": site.pixel_id, "visitor_id": visitor});
        app.post("/v1/consent/erasure-requests", body).await.expect(202);
    };
    for number in 0..7 {
        ask(&format!("visitor-{number}")).await;
    }
    let wanted = (0..7).map(|number| format!("visitor-{number}")).collect();
    let path = format!("/v1/pixels/{}/erasure-requests?limit=2", site.pixel_id);
    let found = walk(&app, &ann.key, &path, "requests", "visitor_id", async |page| {
        if page < 3 {
            ask(&format!("later-{page}")).await;
        }
    });
    assert_complete(&found.await, &wanted);
}

#[tokio::test]
async fn reports_of_watchers() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let path = format!("/v1/pixels/{}/watch-reports", site.pixel_id);
    let submit = async |minute: u32| {
        let report =
            ReportMade::of("ann.example").at(&format!("2026-03-01T00:{minute:02}:00.000Z"));
        let stored = app.call(Method::POST, &path, &ann.key, report.body()).await.expect(201);
        stored["report_id"].as_str().unwrap().to_owned()
    };
    let mut wanted = BTreeSet::new();
    for number in 0..7 {
        wanted.insert(submit(number).await);
    }
    let list = format!("{path}?limit=2");
    let found = walk(&app, &ann.key, &list, "reports", "report_id", async |page| {
        if page < 3 {
            submit(20 + u32::try_from(page).unwrap()).await;
        }
    });
    assert_complete(&found.await, &wanted);
}

#[tokio::test]
async fn screenshots_of_the_popup() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let store = async |version: i32| {
        let stored = app.store_picture(&site.pixel_id, (version, "en", "phone")).await;
        app.clock.advance(chrono::Duration::milliseconds(1));
        stored.id.to_string()
    };
    let mut wanted = BTreeSet::new();
    for version in 0..7 {
        wanted.insert(store(version).await);
    }
    let path = format!("/v1/pixels/{}/screenshots?language=en&limit=2", site.pixel_id);
    let found = walk(&app, &ann.key, &path, "screenshots", "screenshot_id", async |page| {
        if page < 3 {
            store(20 + i32::try_from(page).unwrap()).await;
        }
    });
    assert_complete(&found.await, &wanted);
}

#[tokio::test]
async fn lists_of_one_page_say_so() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel_id = app.pixel(&ann.key, "ann.example").await;
    let shared = format!("/v1/pixels/{pixel_id}/shared-links");
    app.call(Method::POST, &shared, &ann.key, json!({})).await.expect(201);
    let hook = json!({"url": "https://hooks.example/x"});
    let hook = app.call(Method::POST, "/v1/webhooks", &ann.key, hook).await.expect(201);
    let deliveries = format!("/v1/webhooks/{}/deliveries", hook["endpoint_id"].as_str().unwrap());
    for (path, items) in [
        ("/v1/pixels", "pixels"),
        ("/v1/api-keys", "api_keys"),
        ("/v1/webhooks", "webhooks"),
        ("/v1/account/members", "members"),
        ("/v1/grants", "grants"),
        (&*deliveries, "deliveries"),
        (&*shared, "shared_links"),
        ("/v1/plans", "plans"),
        ("/v1/sample", "contacts"),
    ] {
        walk(&app, &ann.key, path, items, "id", async |page| assert_eq!(page, 0)).await;
    }
}

/// The lists that the tests of this file read to their end.
const READ: [&str; 17] = [
    "/v1/account/events",
    "/v1/account/members",
    "/v1/api-keys",
    "/v1/grants",
    "/v1/pixels",
    "/v1/pixels/{pixel_id}/consent",
    "/v1/pixels/{pixel_id}/contacts",
    "/v1/pixels/{pixel_id}/contacts/withdrawn",
    "/v1/pixels/{pixel_id}/erasure-requests",
    "/v1/pixels/{pixel_id}/screenshots",
    "/v1/pixels/{pixel_id}/shared-links",
    "/v1/pixels/{pixel_id}/watch-reports",
    "/v1/plans",
    "/v1/sample",
    "/v1/suppressions",
    "/v1/webhooks",
    "/v1/webhooks/{endpoint_id}/deliveries",
];

#[tokio::test]
async fn every_list_of_the_description_is_among_them() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.expect(200);
    let paths = document["paths"].as_object().unwrap().iter();
    let lists = paths.filter(|(_, item)| {
        let answer = &item["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        has_next(&document, answer)
    });
    let mut found = lists.map(|(path, _)| path.as_str()).collect::<Vec<_>>();
    found.sort_unstable();
    assert_eq!(found, READ);
}

/// Whether an answer of this form, or of one of several, has the member `next`.
fn has_next(document: &Value, schema: &Value) -> bool {
    if let Some(name) = schema["$ref"].as_str() {
        return has_next(document, document.pointer(&name[1..]).unwrap());
    }
    let forms = ["oneOf", "anyOf"].into_iter().filter_map(|form| schema[form].as_array());
    schema["properties"]["next"].is_object() || forms.flatten().any(|form| has_next(document, form))
}
