//! Choices in the console: search, description, proof, erasure.

use assent::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::consent::{app_with_site, app_with_site_and};
use crate::support::console::{Browser, leads_to};
use crate::support::contacts::hem;
use crate::support::server::start_of_time;
use crate::support::story::{Account, Site};
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::witnesses::{Witness, policy_file};
use crate::support::visitors::with;

pub async fn signed_in<'a>(app: &'a App, account: &Account) -> Browser<'a> {
    let mut browser = Browser::new(app);
    let key = [("api_key", &*account.key)];
    leads_to(&browser.post("/console/sign-in/key", &key).await, "/console");
    browser
}

pub fn address(site: &Site, rest: &str) -> String {
    format!("/console/sites/{}/choices{rest}", site.pixel_id)
}

#[track_caller]
pub fn says(page: &str, text: &str) {
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ").replace("&#x2F;", "/");
    assert!(page.contains(text), "{text:?} is not in {page}");
}

pub fn receipt_id(saved: &Value) -> &str {
    saved["receipt_id"].as_str().unwrap()
}

#[tokio::test]
async fn choices_are_found_by_what_stands_in_the_address() {
    let (app, ann, site) = app_with_site().await;
    let one = app.recorded(&site.acceptance("one")).await;
    let two = app.recorded(&site.refusal("two", "declined")).await;
    let mut browser = signed_in(&app, &ann).await;
    let hash = &site.policy_hash;
    for (query, ids) in [
        (String::new(), vec![&two, &one]),
        ("?visitor_id=one".to_owned(), vec![&one]),
        (format!("?receipt_id={}", receipt_id(&two)), vec![&two]),
        ("?state=declined".to_owned(), vec![&two]),
        (format!("?policy_hash={hash}"), vec![&two, &one]),
        ("?from=2026-03-10&to=2026-03-10".to_owned(), vec![&two, &one]),
        ("?from=2026-03-11".to_owned(), vec![]),
        ("?visitor_id=&state=&from=".to_owned(), vec![&two, &one]),
    ] {
        let page = browser.page(&address(&site, &query)).await;
        let found = page.matches("href=\"choices/").count();
        assert_eq!(found, ids.len(), "{query}");
        for saved in ids {
            says(&page, &format!("href=\"choices/{}\"", receipt_id(saved)));
        }
    }
    let empty = browser.page(&address(&site, "?visitor_id=nobody")).await;
    says(&empty, "No choices match this filter.");
}

#[tokio::test]
async fn a_filter_that_is_none_is_explained() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = signed_in(&app, &ann).await;
    for query in ["?state=maybe", "?receipt_id=7", "?from=tomorrow", "?visitor_id=a+b"] {
        let answer = browser.get(&address(&site, query)).await;
        assert!([400, 422].contains(&answer.status), "{query}: {}", answer.status);
        says(&answer.text, "role=\"alert\"");
    }
}

#[tokio::test]
async fn pages_lead_to_every_choice_once() {
    let (app, ann, site) = app_with_site().await;
    for number in 0..60 {
        app.recorded(&site.acceptance(&format!("visitor-{number}"))).await;
    }
    let mut browser = signed_in(&app, &ann).await;
    let (mut next, mut found) = (Some(String::new()), Vec::new());
    while let Some(query) = next {
        let page = browser.page(&address(&site, &query)).await;
        let ids = page.split("href=\"choices/").skip(1);
        found.extend(ids.map(|rest| rest.split('"').next().unwrap().to_owned()));
        let link = page.split_once("rel=\"next\" href=\"choices");
        next = link.map(|(_, rest)| rest.split('"').next().unwrap().replace("&amp;", "&"));
    }
    assert_eq!(found.len(), 60);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 60);
}

#[tokio::test]
async fn one_choice_is_a_sentence_with_its_notice_and_its_proof() {
    let (app, ann, site) = app_with_site().await;
    let shown = json!({"language": "de"});
    let accepted = app.recorded(&with(&site.acceptance("one"), "shown", shown)).await;
    let withdrawn = app.recorded(&site.refusal("one", "withdrawn")).await;
    app.reconfigured(&ann.key, &site, "Another Shop").await;
    let mut browser = signed_in(&app, &ann).await;
    let page = browser.page(&address(&site, &format!("/{}", receipt_id(&accepted)))).await;
    says(&page, "On 10 March 2026, 12:00 UTC the visitor one of");
    says(&page, "agreed to ");
    says(&page, "under version 1 of the notice, published on 10 March 2026 and shown in");
    says(&page, "The consent expires on 8 September 2026, 12:00 UTC");
    says(&page, "Signature valid.");
    says(&page, "Checked on 10 March 2026, ");
    says(&page, "data-print hidden>Print or save as PDF</button>");
    says(&page, "data-without-print>To keep it on paper or as a PDF");
    says(&page, "Dauer Ihrer Erlaubnis in Tagen: 182.");
    says(&page, &format!("<a href=\"{}\">", receipt_id(&withdrawn)));
    says(&page, accepted["signature"].as_str().unwrap());

    let path = address(&site, &format!("/{}/receipt.json", receipt_id(&accepted)));
    let file = browser.get(&path).await;
    assert!(file.header("content-disposition").unwrap().contains(receipt_id(&accepted)));
    let file = file.expect(200);
    assert!(app.verifies(&file["receipt"], file["signature"].as_str().unwrap()).await);
    assert_eq!(file["receipt"], accepted["receipt"]);

    let path = address(&site, &format!("/{}/record.jsonld", receipt_id(&accepted)));
    let file = browser.get(&path).await;
    assert_eq!(file.header("content-type"), Some("application/ld+json"));
    assert!(file.header("content-disposition").unwrap().contains("record-"));
    let mut record = file.expect(200);
    let exported = app.read(&ann.key, &site.path("/export?format=dpv")).await.expect(200);
    let context = record.as_object_mut().unwrap().remove("@context");
    assert_eq!((context.as_ref(), &record), (exported.get("@context"), &exported["@graph"][0]));
}

#[tokio::test]
async fn where_there_is_a_log_a_choice_has_a_proof_to_download() {
    let witness = Witness::start("w.one", &Clock::manual(start_of_time())).await;
    let folder = tempfile::tempdir().unwrap();
    let policy = policy_file(folder.path(), &format!("{}quorum none\n", witness.line()));
    let settings = [LOG_KEY, ("LOG_WITNESSES", policy.as_str())];
    let (app, ann, site) = app_with_site_and(&settings).await;
    let saved = app.recorded(&site.acceptance("v-1")).await;
    let mut browser = signed_in(&app, &ann).await;
    let path = |rest: &str| address(&site, &format!("/{}{rest}", receipt_id(&saved)));
    says(&browser.page(&path("")).await, "Download the proof");
    app.proof(&site, "v-1").await;
    app.until(async || app.get("/log/checkpoint").await.text.contains("w.one")).await;
    says(&browser.page(&path("")).await, "One witness outside this service has signed");
    let file = browser.get(&path("/proof.json")).await;
    assert!(file.header("content-disposition").unwrap().contains("proof-"));
    assert_eq!(file.expect(200)["statement"]["receipt"], saved["receipt"]);
}

#[tokio::test]
async fn person_choices_and_requests_lead_to_each_other() {
    let (app, ann, site) = app_with_site().await;
    let saved = app.recorded(&site.acceptance("v-1")).await;
    app.recorded(&site.acceptance("v-2")).await;
    let person =
        json!([{"hem": hem(1), "contact": {"email": "ann@x.example"}, "visitor_id": "v-1"}]);
    app.store(&ann.key, &site.pixel_id, person).await.expect(200);
    let asked = json!({"pixel_id": site.pixel_id, "visitor_id": "v-1"});
    app.post("/v1/consent/erasure-requests", asked).await.expect(202);
    let mut browser = signed_in(&app, &ann).await;
    let of_site = |rest: &str| format!("/console/sites/{}{rest}", site.pixel_id);
    let requests = browser.page(&of_site("/requests")).await;
    let choices = of_site("/choices?visitor_id=v-1");
    says(&requests, &format!("href=\"{choices}\""));
    let request = requests.split("href=\"").find(|part| part.contains("/requests/")).unwrap();
    let request = request.split('"').next().unwrap();
    let (choice, found) = (
        of_site(&format!("/choices/{}", receipt_id(&saved))),
        of_site(&format!("/contacts/find?hem={}", hem(1))),
    );
    for (page, links) in [
        (request, vec![&choices, &found]),
        (&*choice, vec![&found, &request.to_owned()]),
        (&*found, vec![&choices, &choice, &request.to_owned()]),
    ] {
        let text = browser.page(page).await;
        for link in links {
            says(&text, &format!("href=\"{link}\""));
        }
    }
    let other = browser.page(&of_site("/choices?visitor_id=v-2")).await;
    let other = other.split("href=\"choices/").nth(1).unwrap().split('"').next().unwrap();
    let other = browser.page(&of_site(&format!("/choices/{other}"))).await;
    says(&other, "No contact is linked with this visitor.");
    assert!(!other.contains(request), "{other}");
}

#[tokio::test]
async fn a_choice_names_the_version_that_was_there_then_also_after_it_is_published_again() {
    let (app, ann, site) = app_with_site().await;
    let old = app.recorded(&site.acceptance("old")).await;
    let publish = async |name: &str| {
        app.clock.advance(chrono::Duration::hours(1));
        let policy = json!({"controller_name": name, "purposes": ["analytics", "resolution"]});
        app.configure(&ann.key, &site.pixel_id, policy).await.expect(200)
    };
    let path = format!("/v1/pixels/{}/consent/configuration", site.pixel_id);
    let first = app.read(&ann.key, &path).await.expect(200)["versions"][0].clone();
    publish("Another").await;
    let again = publish(first["controller_name"].as_str().unwrap()).await;
    assert_eq!(
        (&again["policy_hash"], &again["policy_version"]),
        (&first["policy_hash"], &json!(3))
    );
    let new = app.recorded(&site.acceptance("new")).await;
    let mut browser = signed_in(&app, &ann).await;
    for (saved, version) in [(&old, 1), (&new, 3)] {
        let page = browser.page(&address(&site, &format!("/{}", receipt_id(saved)))).await;
        says(&page, &format!("under version {version} of the notice"));
    }
}

#[tokio::test]
async fn a_receipt_that_was_changed_is_reported_as_such() {
    let (app, ann, site) = app_with_site().await;
    let saved = app.recorded(&site.refusal("one", "declined")).await;
    sqlx::query("UPDATE consent_receipts SET consent_state = 'accepted'")
        .execute(&app.pool)
        .await
        .unwrap();
    let mut browser = signed_in(&app, &ann).await;
    let page = browser.page(&address(&site, &format!("/{}", receipt_id(&saved)))).await;
    says(&page, "Signature invalid.");
    assert!(!page.contains("is genuine"));
}

#[tokio::test]
async fn a_visitor_is_erased_when_the_site_is_named() {
    let (app, ann, site) = app_with_site().await;
    let saved = app.recorded(&site.acceptance("one")).await;
    app.recorded(&site.refusal("one", "withdrawn")).await;
    app.recorded(&site.acceptance("two")).await;
    let mut browser = signed_in(&app, &ann).await;
    let form = address(&site, &format!("/{}/erase", receipt_id(&saved)));
    says(&browser.page(&form).await, "2 receipts");
    let wrong = browser.submit(&form, &form, &[("host", "other.example")]).await;
    assert_eq!(wrong.status, 400);
    says(&wrong.text, "Nothing was erased.");
    assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 3);
    let unasked = browser.post(&form, &[("host", &*site.domain)]).await;
    assert_eq!(unasked.status, 403, "without the form's token");
    let host = site.domain.to_uppercase();
    let done = browser.submit(&form, &form, &[("host", &*host)]).await;
    leads_to(&done, &address(&site, "?done=erased"));
    says(&browser.page(&address(&site, "?done=erased")).await, "The visitor was erased.");
    assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 1);
    assert_eq!(browser.get(&form).await.status, 404);
}

#[tokio::test]
async fn a_file_has_every_choice_of_the_filter() {
    let (app, ann, site) = app_with_site().await;
    for number in 0..205 {
        app.recorded(&site.acceptance(&format!("v{number}"))).await;
    }
    app.recorded(&site.refusal("last", "declined")).await;
    let mut browser = signed_in(&app, &ann).await;
    let file = browser.get(&address(&site, ".csv")).await;
    assert_eq!(file.status, 200);
    assert!(file.text.starts_with("\u{feff}recorded_at,receipt_id,visitor_id,"), "{}", file.text);
    assert_eq!(file.text.lines().count(), 207);
    for (query, lines) in [
        ("?state=declined", 2),
        ("?from=2026-03-10&to=2026-03-10", 207),
        ("?from=2026-03-11", 1),
        ("?visitor_id=v7", 2),
    ] {
        let file = browser.get(&address(&site, &format!(".csv{query}"))).await;
        assert_eq!(file.text.lines().count(), lines, "{query}");
    }
    assert_eq!(browser.get(&address(&site, ".csv?from=yesterday")).await.status, 422);
}

#[tokio::test]
async fn nobody_sees_or_erases_the_choices_of_another_account() {
    let (app, ann, site) = app_with_site().await;
    let saved = app.recorded(&site.acceptance("one")).await;
    let bob = app.account("bob@example.com").await;
    let bobs = app.consent_site(&bob.key, "bob.example").await;
    let mut browser = signed_in(&app, &bob).await;
    let id = receipt_id(&saved);
    for rest in [
        "",
        ".csv",
        &format!("/{id}"),
        &format!("/{id}/receipt.json"),
        &format!("/{id}/proof.json"),
        &format!("/{id}/evidence.zip"),
        &format!("/{id}/record.jsonld"),
        &format!("/{id}/erase"),
    ] {
        assert_eq!(browser.get(&address(&site, rest)).await.status, 404, "{rest}");
    }
    // Nor by way of a site of one's own.
    for rest in [format!("/{id}"), format!("/{id}/erase"), "/nonsense".to_owned()] {
        assert_eq!(browser.get(&address(&bobs, &rest)).await.status, 404, "{rest}");
    }
    let own = address(&bobs, "");
    let token = crate::support::console::token_of(&browser.page(&own).await);
    let form = address(&site, &format!("/{id}/erase"));
    let request = browser.request(Method::POST, &form).header("origin", &app.base);
    let fields = [("host", &*site.domain), ("form_token", &*token)];
    assert_eq!(browser.send(request.form(&fields)).await.status, 404);
    assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 1);
}

#[tokio::test]
async fn a_choice_and_the_overview_name_the_user_action() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = signed_in(&app, &ann).await;
    for (act, seen, automated, sentence) in [
        (
            json!("pointer"),
            json!("under_1s"),
            json!(false),
            "The browser reports that it was made with a mouse, a finger or a pen. The popup had been \
             open for less than a second.",
        ),
        (
            json!("page"),
            json!(null),
            json!(true),
            "The browser reports that it was made by a script of the page, not by a press in the \
             popup. A program controlled the browser.",
        ),
    ] {
        let shown = json!({"language": "en", "act": act, "seen": seen, "automated": automated});
        let saved = app.recorded(&with(&site.acceptance("one"), "shown", shown)).await;
        says(&browser.page(&address(&site, &format!("/{}", receipt_id(&saved)))).await, sentence);
    }
    let saved = app.recorded(&site.acceptance("two")).await;
    let page = browser.page(&address(&site, &format!("/{}", receipt_id(&saved)))).await;
    assert!(!page.contains("The browser reports"), "{page}");
    let overview = format!("/console/sites/{}/overview", site.pixel_id);
    let overview = browser.page(&overview).await;
    for row in [
        "<th scope=\"row\">Mouse, finger or pen</th><td>1</td><td>0</td><td>0</td>",
        "<th scope=\"row\">A script of the page</th><td>1</td><td>0</td><td>0</td>",
        "<th scope=\"row\">Unknown</th><td>1</td><td>0</td><td>0</td>",
    ] {
        says(&overview, row);
    }
}
