//! People are erased in the same way, however it is requested, and visitors read what became of their requests.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::erasure_requests::{asked, complete, path, requests};
use crate::support::consent::app_with_site;
use crate::support::contacts::hem;
use crate::support::story::Site;
use crate::support::{Account, Answer, App};

/// A visitor with two choices, a day shown and a contact.
async fn known(app: &App, ann: &Account, site: &Site, visitor: &str, number: usize) {
    app.recorded(&site.acceptance(visitor)).await;
    app.recorded(&site.acceptance(visitor)).await;
    let url = format!("https://{}/", site.domain);
    let shown = json!({"pixel_id": site.pixel_id, "visitor_id": visitor, "url": url});
    app.post("/v1/consent/shown", shown).await.expect(204);
    let person = json!([{"hem": hem(number), "contact": {"name": "A"}, "visitor_id": visitor}]);
    app.store(&ann.key, &site.pixel_id, person).await.expect(200);
}

async fn is_erased(app: &App, site: &Site, visitor: &str, key: &str, number: usize) {
    assert_eq!(app.check(&site.pixel_id, visitor).await["reason"], "no_consent_record");
    let contact = format!("/v1/pixels/{}/contacts/{}", site.pixel_id, hem(number));
    app.read(key, &contact).await.refused(404, "contact not found");
    let body = json!({"pixel_id": site.pixel_id, "visitor_id": visitor});
    let erased = format!("/v1/pixels/{}/visitors/{visitor}", site.pixel_id);
    let left = app.call(Method::DELETE, &erased, key, body).await.expect(200);
    assert_eq!(left["erased"], json!({"receipts": 0, "contacts": 0, "days_shown": 0}));
}

async fn add(app: &App, key: &str, pixel: &str, body: Value) -> Answer {
    app.call(Method::POST, &path(pixel, ""), key, body).await
}

async fn own(app: &App, pixel: &str, visitor: &str) -> Value {
    let body = json!({"pixel_id": pixel, "visitor_id": visitor});
    app.post("/v1/consent/erasure-requests/history", body).await.expect(200)["requests"].clone()
}

#[tokio::test]
async fn request_contact_and_mail_erase_the_same() {
    let (app, ann, site) = app_with_site().await;
    let (key, pixel) = (&*ann.key, &*site.pixel_id);
    for (number, visitor) in ["by-request", "by-contact", "by-mail"].into_iter().enumerate() {
        known(&app, &ann, &site, visitor, number).await;
    }
    let other = app.consent_site(key, "other.example").await;
    known(&app, &ann, &other, "by-contact", 1).await;

    let counts = json!({"receipts": 3, "contacts": 1, "days_shown": 1});
    let id = asked(&app, key, &site, "by-request").await;
    assert_eq!(complete(&app, key, pixel, &id).await.expect(200)["erased"], counts);

    let contact = format!("/v1/pixels/{pixel}/contacts/{}", hem(1));
    app.call(Method::DELETE, &contact, key, Value::Null).await.expect(204);
    app.call(Method::DELETE, &contact, key, Value::Null).await.expect(204);

    let added = add(&app, key, pixel, json!({"hem": hem(2)})).await.expect(200);
    let id = added["request_id"].as_str().unwrap();
    let counts = json!({"receipts": 2, "contacts": 1, "days_shown": 1});
    let closed = complete(&app, key, pixel, id).await.expect(200);
    assert_eq!((&closed["erased"], &closed["hem"]), (&counts, &Value::Null));

    for (number, visitor) in ["by-request", "by-contact", "by-mail"].into_iter().enumerate() {
        is_erased(&app, &site, visitor, key, number).await;
    }
    assert_eq!(app.check(&other.pixel_id, "by-contact").await["reason"], "ok", "another site");
}

#[tokio::test]
async fn a_contact_is_erased_with_every_visitor_it_was_bound_to_and_completes_requests() {
    let (app, ann, site) = app_with_site().await;
    let (key, pixel) = (&*ann.key, &*site.pixel_id);
    known(&app, &ann, &site, "phone", 1).await;
    known(&app, &ann, &site, "laptop", 1).await;
    known(&app, &ann, &site, "stranger", 2).await;
    asked(&app, key, &site, "phone").await;
    add(&app, key, pixel, json!({"hem": hem(1)})).await.expect(200);
    let contact = format!("/v1/pixels/{pixel}/contacts/{}", hem(1));
    app.call(Method::DELETE, &contact, key, Value::Null).await.expect(204);
    for visitor in ["phone", "laptop"] {
        assert_eq!(app.check(pixel, visitor).await["reason"], "no_consent_record", "{visitor}");
    }
    assert_eq!(app.check(pixel, "stranger").await["reason"], "ok");
    for request in requests(&app, key, pixel).await {
        assert_eq!(request["status"], "completed", "{request}");
        assert_eq!((&request["visitor_id"], &request["hem"]), (&Value::Null, &Value::Null));
    }
}

#[tokio::test]
async fn a_request_by_mail_has_its_day_and_is_kept_once_while_it_is_open() {
    let (app, ann, site) = app_with_site().await;
    let (key, pixel) = (&*ann.key, &*site.pixel_id);
    let body = json!({"hem": hem(7), "received_on": "2026-03-01"});
    let added = add(&app, key, pixel, body).await.expect(200);
    let expected = json!({"request_id": added["request_id"], "visitor_id": null,
        "received_by": "mail", "hem": hem(7), "requested_at": "2026-03-01T00:00:00.000Z",
        "due_at": "2026-03-31T00:00:00.000Z", "status": "open", "closed_at": null, "reason": null,
        "erased": null});
    assert_eq!(added, expected);
    assert_eq!(add(&app, key, pixel, json!({"hem": hem(7)})).await.expect(200), expected);
    assert_eq!(requests(&app, key, pixel).await, [expected]);
    let id = added["request_id"].as_str().unwrap();
    let nothing = json!({"receipts": 0, "contacts": 0, "days_shown": 0});
    assert_eq!(complete(&app, key, pixel, id).await.expect(200)["erased"], nothing);
    let again = add(&app, key, pixel, json!({"hem": hem(7)})).await.expect(200);
    assert_ne!(again["request_id"], added["request_id"], "the first one is closed");

    let kinds = app.read(key, "/v1/account/events").await.expect(200);
    let kinds = kinds["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str());
    assert_eq!(kinds.flatten().filter(|kind| *kind == "erasure_request_added").count(), 2);
}

#[tokio::test]
async fn a_request_by_mail_is_validated_and_of_the_own_pixel() {
    let (app, ann, site) = app_with_site().await;
    let ben = app.account("ben@example.com").await;
    let pixel = &*site.pixel_id;
    add(&app, &ann.key, pixel, json!({})).await.invalid(&["body", "hem"]);
    add(&app, &ann.key, pixel, json!({"hem": "x"}))
        .await
        .refused(400, "hem must be a 64-character hex string");
    for day in ["2026-03-11", "2025-12-09", "yesterday", "2026-3-1"] {
        let body = json!({"hem": hem(1), "received_on": day});
        add(&app, &ann.key, pixel, body).await.invalid(&["body", "received_on"]);
    }
    for day in ["2026-03-10", "2025-12-11"] {
        let body = json!({"hem": hem(1), "received_on": day});
        add(&app, &ann.key, pixel, body).await.expect(200);
    }
    let foreign = add(&app, &ben.key, pixel, json!({"hem": hem(1)})).await;
    foreign.refused(404, "pixel not found");
    let order = json!({"scope": "read"});
    let issued = app.call(Method::POST, "/v1/api-keys", &ann.key, order).await.expect(201);
    let read = issued["api_key"].as_str().unwrap().to_owned();
    let refused = add(&app, &read, pixel, json!({"hem": hem(2)})).await;
    refused.refused(403, "key scope does not allow this");
}

#[tokio::test]
async fn a_visitor_reads_a_refusal_with_its_reason_and_the_owner_finds_it_in_the_audit_log() {
    let (app, ann, site) = app_with_site().await;
    let (key, pixel) = (&*ann.key, &*site.pixel_id);
    assert_eq!(own(&app, pixel, "v1").await, json!([]));
    let id = asked(&app, key, &site, "v1").await;
    let open = own(&app, pixel, "v1").await;
    let expected = json!([{"requested_at": "2026-03-10T12:00:00.000Z",
        "due_at": "2026-04-09T12:00:00.000Z", "status": "open", "closed_at": null, "reason": null}]);
    assert_eq!(open, expected);
    app.clock.advance(Duration::days(1));
    let refuse = path(pixel, &format!("/{id}/refuse"));
    let body = json!({"reason": "We must keep the invoices."});
    for _ in 0..2 {
        app.call(Method::POST, &refuse, key, body.clone()).await.expect(200);
    }
    let refused = &own(&app, pixel, "v1").await[0];
    assert_eq!(refused["status"], "refused");
    assert_eq!(refused["closed_at"], "2026-03-11T12:00:00.000Z");
    assert_eq!(refused["reason"], "We must keep the invoices.");
    assert_eq!(own(&app, pixel, "v2").await, json!([]));
    for ids in [("nobody", "v1"), ("no id", "v1"), (pixel, "no id")] {
        assert_eq!(own(&app, ids.0, ids.1).await, json!([]), "{ids:?}");
    }
    let missing =
        app.post("/v1/consent/erasure-requests/history", json!({"pixel_id": pixel})).await;
    missing.invalid(&["body", "visitor_id"]);
    let events = app.read(key, "/v1/account/events").await.expect(200);
    let events = events["events"].as_array().unwrap();
    let refusals = events.iter().filter(|event| event["kind"] == "erasure_refused");
    assert_eq!(refusals.map(|event| &event["subject"]).collect::<Vec<_>>(), [pixel]);
}
