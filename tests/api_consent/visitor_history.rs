//! The history of a visitor: all choices at one site, and nothing else.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::{app_with_site, shop};
use crate::support::story::Site;
use crate::support::visitors::fields;
use crate::support::{Answer, App};

async fn asked(app: &App, pixel: &str, visitor: &str) -> Answer {
    let body = json!({"pixel_id": pixel, "visitor_id": visitor});
    app.post("/v1/consent/history", body).await
}

async fn history(app: &App, site: &Site, visitor: &str) -> Value {
    asked(app, &site.pixel_id, visitor).await.expect(200)
}

fn states(history: &Value) -> Vec<&str> {
    let receipts = history["receipts"].as_array().expect("receipts is an array").iter();
    receipts.map(|it| it["receipt"]["consent_state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_choice_is_there_newest_first_and_signed() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let accepted = app.recorded(&site.acceptance("ann")).await;
    app.clock.advance(Duration::minutes(1));
    let withdrawn = app.recorded(&site.refusal("ann", "withdrawn")).await;
    app.recorded(&site.acceptance("bob")).await;

    let history = history(&app, &site, "ann").await;
    assert_eq!(states(&history), ["withdrawn", "accepted"]);
    assert_eq!(history["site"], "shop.example");
    assert_eq!((&history["permitted"], &history["has_more"]), (&json!(false), &json!(false)));
    assert_eq!(history["reason"], "declined_or_withdrawn");
    for (found, recorded) in [withdrawn, accepted].iter().enumerate() {
        let found = &history["receipts"][found];
        for field in ["receipt", "signature", "signature_alg"] {
            assert_eq!(found[field], recorded[field]);
        }
        assert!(app.verifies(&found["receipt"], found["signature"].as_str().unwrap()).await);
    }
}

#[tokio::test]
async fn the_history_agrees_with_a_check_and_follows_the_policy() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("visitor")).await;
    let now = history(&app, &site, "visitor").await;
    assert_eq!((&now["permitted"], &now["reason"]), (&json!(true), &json!("ok")));
    app.reconfigured(&ann.key, &site, "Another Ltd").await;
    assert_eq!(history(&app, &site, "visitor").await["reason"], "policy_version_stale");
    app.turn_off(&ann.key, &site).await.expect(204);
    assert_eq!(history(&app, &site, "visitor").await["reason"], "consent_off");
}

#[tokio::test]
async fn the_history_tells_when_an_acceptance_ends_and_that_it_has_ended() {
    let (app, _, site) = app_with_site().await;
    app.recorded(&site.acceptance("visitor")).await;
    let check = app.check(&site.pixel_id, "visitor").await;
    let now = history(&app, &site, "visitor").await;
    assert!(now["expires_at"].is_string());
    assert_eq!((&now["expires_at"], &now["expired"]), (&check["expires_at"], &json!(false)));
    app.clock.advance(Duration::days(183));
    let later = history(&app, &site, "visitor").await;
    assert_eq!((&later["expired"], &later["permitted"]), (&json!(true), &json!(false)));
    app.recorded(&site.refusal("visitor", "withdrawn")).await;
    let refused = history(&app, &site, "visitor").await;
    assert_eq!((&refused["expired"], &refused["expires_at"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn the_history_names_the_shown_language_and_links_the_notice_in_it() {
    let (app, _, site) = app_with_site().await;
    app.recorded(&site.refusal("visitor", "declined")).await;
    let unknown = history(&app, &site, "visitor").await["receipts"][0].take();
    let url = unknown["policy_url"].as_str().unwrap();
    assert!(unknown["shown"].is_null() && !url.contains("lang="));
    let shown = "UPDATE consent_receipts SET shown_language = 'ar',
        shown_notice = decode(repeat('ab', 32), 'hex')";
    sqlx::query(shown).execute(&app.pool).await.unwrap();
    let known = history(&app, &site, "visitor").await["receipts"][0].take();
    let said = json!({"language": "ar", "notice": "ab".repeat(32), "script": null,
        "act": null, "seen": null, "automated": null});
    assert_eq!(known["shown"], said);
    assert_eq!(known["policy_url"], format!("{url}&lang=ar"));
}

#[tokio::test]
async fn each_choice_leads_to_the_notice_that_was_answered() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("visitor")).await;
    app.reconfigured(&ann.key, &site, "Another Ltd").await;
    app.recorded(&site.refusal("visitor", "declined")).await;
    let history = history(&app, &site, "visitor").await;
    for (choice, name) in [(0, "Another Ltd"), (1, "Shop Ltd")] {
        let url = history["receipts"][choice]["policy_url"].as_str().unwrap();
        let notice = app.get(url.strip_prefix(&app.base).expect("an address of ours")).await;
        assert_eq!(notice.status, 200);
        assert!(notice.text.contains(name), "{url}");
    }
}

#[tokio::test]
async fn an_unknown_visitor_has_an_empty_history_at_known_and_unknown_pixels() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("ann")).await;
    let none = json!({"site": null, "permitted": false, "reason": "no_consent_record",
        "expires_at": null, "expired": false, "receipts": [], "has_more": false, "next": null, "next_before": null});
    let unknown = [
        (site.pixel_id.as_str(), "nobody"),
        ("no-such-pixel", "ann"),
        (&site.pixel_id, "no id"),
        ("<script>", "ann"),
        ("", ""),
    ];
    for (pixel, visitor) in unknown {
        let answer = asked(&app, pixel, visitor).await;
        assert_eq!(answer.expect(200), none, "{pixel} {visitor}");
    }
}

#[tokio::test]
async fn a_visitor_of_two_sites_has_a_history_at_each() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    app.recorded(&site.acceptance("visitor")).await;
    app.recorded(&other.refusal("visitor", "declined")).await;
    assert_eq!(states(&history(&app, &site, "visitor").await), ["accepted"]);
    assert_eq!(states(&history(&app, &other, "visitor").await), ["declined"]);
}

#[tokio::test]
async fn an_alias_serves_as_well_and_a_deleted_pixels_choices_stay() {
    let (app, ann, site) = app_with_site().await;
    app.add_alias(&site.pixel_id, "alias00001").await;
    app.recorded(&site.acceptance("visitor")).await;
    let by_alias = asked(&app, "alias00001", "visitor").await.expect(200);
    assert_eq!(by_alias, history(&app, &site, "visitor").await);
    let path = format!("/v1/pixels/{}", site.pixel_id);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    let left = history(&app, &site, "visitor").await;
    assert_eq!((states(&left).len(), &left["site"]), (1, &json!("ann.example")));
    assert_eq!(left["reason"], "consent_off");
}

#[tokio::test]
async fn a_long_history_has_pages() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let choices = (0..200).map(|_| site.refusal("visitor", "declined")).collect::<Vec<_>>();
    join_all(choices.iter().map(|choice| app.recorded(choice))).await;
    let full = history(&app, &site, "visitor").await;
    assert_eq!((states(&full).len(), &full["has_more"]), (200, &json!(false)));
    app.recorded(&site.acceptance("visitor")).await;
    let more = history(&app, &site, "visitor").await;
    assert_eq!((states(&more).len(), &more["has_more"]), (200, &json!(true)));
    assert_eq!(states(&more)[0], "accepted");
    // The oldest one is on the next page, whatever is recorded in the meantime.
    app.recorded(&site.refusal("visitor", "withdrawn")).await;
    let page = async |before: &Value| {
        let ids = json!({"pixel_id": site.pixel_id, "visitor_id": "visitor", "before": before});
        app.post("/v1/consent/history", ids).await
    };
    let rest = page(&more["next_before"]).await.expect(200);
    assert_eq!((states(&rest), &rest["has_more"]), (vec!["declined"], &json!(false)));
    assert_eq!(
        (&rest["next_before"], &rest["reason"]),
        (&Value::Null, &json!("declined_or_withdrawn"))
    );
    let seen = |page: &Value, receipt_id: &Value| {
        page["receipts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|choice| choice["receipt"]["receipt_id"] == *receipt_id)
    };
    assert!(!seen(&more, &rest["receipts"][0]["receipt"]["receipt_id"]));
    assert!(seen(&more, &more["next_before"]), "it names the last one of the page");
    // A receipt of another visitor is no position in this history.
    let other = app.recorded(&site.refusal("other", "declined")).await;
    assert_eq!(states(&page(&other["receipt_id"]).await.expect(200)), [""; 0]);
    assert_eq!(states(&page(&json!("")).await.expect(200)).len(), 200);
    page(&json!("x")).await.invalid(&["body", "before"]);
}

#[tokio::test]
async fn the_history_contains_nothing_of_the_account_or_its_contacts() {
    let (app, ann, site) = app_with_site().await;
    app.store_people(&ann.key, &site.pixel_id, 0..3).await.expect(200);
    app.recorded(&site.acceptance("visitor")).await;
    let history = history(&app, &site, "visitor").await;
    let mut listed = fields(&history);
    listed.extend(fields(&history["receipts"][0]));
    let known = [
        "expired",
        "expires_at",
        "has_more",
        "next",
        "next_before",
        "permitted",
        "reason",
        "receipts",
        "site",
        "policy_url",
        "receipt",
        "shown",
        "signature",
        "signature_alg",
    ];
    assert_eq!(listed, known);
    assert!(!history.to_string().contains(&ann.account_id));
}

#[tokio::test]
async fn the_history_is_not_cached_and_not_readable_by_other_origins() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let answer = asked(&app, &site.pixel_id, "ann").await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
}

#[tokio::test]
async fn both_ids_are_needed() {
    let app = App::spawn().await;
    for body in [json!({"pixel_id": "a"}), json!({"visitor_id": "a"}), json!([]), json!({})] {
        assert_eq!(app.post("/v1/consent/history", body).await.status, 422);
    }
}
