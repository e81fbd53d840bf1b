//! The reported user action of a choice: where it can be read, which values are accepted, and how it is counted.

use chrono::Duration;
use serde_json::{Value, json};

use crate::daily_counts::counted;
use crate::erasure_requests::erase;
use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::story::Site;
use crate::support::visitors::with;

const ACTS: [&str; 4] = ["pointer", "keyboard", "assistive", "page"];

fn shown(act: Value, seen: Value, automated: Value) -> Value {
    json!({"language": "en", "act": act, "seen": seen, "automated": automated})
}

fn action(shown: &Value) -> Value {
    json!([shown["act"], shown["seen"], shown["automated"]])
}

/// The user action of the visitor's latest choice, as every reader of the log receives it.
async fn stored(app: &App, key: &str, site: &Site, visitor: &str) -> Value {
    let event = app.log(key, &site.pixel_id).await.swap_remove(0);
    assert_eq!(event["visitor_id"], visitor);
    let whose = json!({"pixel_id": site.pixel_id, "visitor_id": visitor});
    let history = app.post("/v1/consent/history", whose).await.expect(200);
    let line = app.export(key, site).await.pop().unwrap();
    assert_eq!(history["receipts"][0]["shown"], event["shown"]);
    assert_eq!(line["shown"], event["shown"]);
    assert_eq!(event["receipt"].as_object().unwrap().len(), 8, "the receipt is as before");
    assert!(app.verifies(&event["receipt"], event["signature"].as_str().unwrap()).await);
    action(&event["shown"])
}

#[tokio::test]
async fn a_user_action_is_stored_with_the_receipt_and_read_with_it() {
    let (app, ann, site) = app_with_site().await;
    for (act, seen, automated) in [
        (json!("pointer"), json!("under_1s"), json!(false)),
        (json!("keyboard"), json!("under_5s"), json!(true)),
        (json!("assistive"), json!("longer"), json!(false)),
        (json!("page"), json!(null), json!(true)),
        (json!(null), json!(null), json!(null)),
    ] {
        let claim = shown(act.clone(), seen.clone(), automated.clone());
        app.recorded(&with(&site.acceptance("ann"), "shown", claim)).await;
        assert_eq!(stored(&app, &ann.key, &site, "ann").await, json!([act, seen, automated]));
    }
    // A program that records without the tag, and a tag of an earlier version.
    app.recorded(&with(&site.acceptance("ann"), "shown", json!({"language": "en"}))).await;
    assert_eq!(stored(&app, &ann.key, &site, "ann").await, json!([null, null, null]));
    app.recorded(&site.acceptance("ann")).await;
    assert_eq!(app.log(&ann.key, &site.pixel_id).await[0]["shown"], Value::Null);
}

#[tokio::test]
async fn a_repeated_choice_keeps_its_first_user_action() {
    let (app, ann, site) = app_with_site().await;
    let choice =
        with(&site.acceptance("ann"), "choice_id", json!("0f8fad5b-d9cb-469f-a165-70867728950e"));
    let by = |act: &str| with(&choice, "shown", shown(json!(act), json!("longer"), json!(false)));
    let first = app.recorded(&by("page")).await;
    assert_eq!(app.recorded(&by("pointer")).await, first);
    assert_eq!(stored(&app, &ann.key, &site, "ann").await[0], "page");
}

#[tokio::test]
async fn an_acceptance_with_an_unknown_value_is_refused_and_a_refusal_is_recorded_without_it() {
    let (app, ann, site) = app_with_site().await;
    let act = "must be pointer, keyboard, assistive or page";
    let seen = "must be under_1s, under_5s or longer";
    for (field, value, sentence) in [
        ("act", json!("human"), act),
        ("act", json!(""), act),
        ("act", json!("Pointer"), act),
        ("act", json!(["pointer"]), act),
        ("act", json!("x".repeat(10_000)), act),
        ("seen", json!("forever"), seen),
        ("seen", json!(7), seen),
        ("automated", json!("no"), "must be true or false"),
        ("automated", json!(0), "must be true or false"),
    ] {
        let claim = with(&shown(json!("page"), json!("longer"), json!(true)), field, value.clone());
        let refused = app.record(&with(&site.acceptance("ann"), "shown", claim.clone())).await;
        let problem = refused.expect(400);
        assert_eq!(problem["detail"], "invalid request", "{field} {value}");
        assert_eq!(problem["errors"][0]["loc"], json!(["body", "shown", field]), "{problem}");
        assert_eq!(problem["errors"][0]["msg"], sentence, "{problem}");
        assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 0, "{field} {value}");

        app.recorded(&with(&site.refusal("bob", "declined"), "shown", claim)).await;
        let event = app.log(&ann.key, &site.pixel_id).await.swap_remove(0);
        assert_eq!(event["shown"][field], Value::Null);
        assert_eq!(event["shown"]["language"], "en");
        erase(&app, &ann.key, &site.pixel_id, "bob").await.expect(200);
    }
}

#[tokio::test]
async fn choices_are_counted_by_user_action() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    let by = |site: &Site, visitor: &str, act: Option<&str>| {
        with(&site.acceptance(visitor), "shown", shown(json!(act), json!(null), json!(null)))
    };
    for act in ACTS {
        app.recorded(&by(&site, "ann", Some(act))).await;
    }
    app.recorded(&by(&site, "ann", Some("page"))).await;
    app.recorded(&by(&site, "bob", None)).await;
    app.recorded(&site.refusal("bob", "declined")).await;
    app.recorded(&by(&other, "ann", Some("page"))).await;
    app.clock.advance(Duration::days(1));
    app.recorded(&by(&site, "ann", Some("pointer"))).await;
    let expected = json!([
        {"act": "pointer", "accepted": 2, "declined": 0, "withdrawn": 0},
        {"act": "keyboard", "accepted": 1, "declined": 0, "withdrawn": 0},
        {"act": "assistive", "accepted": 1, "declined": 0, "withdrawn": 0},
        {"act": "page", "accepted": 2, "declined": 0, "withdrawn": 0},
        {"act": null, "accepted": 1, "declined": 1, "withdrawn": 0},
    ]);
    // First from the rows, then from the stored counts of the days.
    for _ in 0..2 {
        let path = site.path("/stats?from=2026-03-09&to=2026-03-11");
        let stats = app.read(&ann.key, &path).await.expect(200);
        let series = stats["by_act"].as_array().unwrap();
        let totals = series.iter().map(|line| {
            assert_eq!(line["days"]["accepted"].as_array().unwrap().len(), 3, "{line}");
            with(line, "days", Value::Null)
        });
        assert_eq!(json!(totals.collect::<Vec<_>>()), expected);
        assert_eq!(series[0]["days"]["accepted"], json!([0, 1, 1]));
        counted(&app).await;
    }
}

#[tokio::test]
async fn days_that_were_counted_before_user_actions_have_unknown_ones() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("ann")).await;
    counted(&app).await;
    sqlx::query("UPDATE consent_days SET choices = choices - 'acts'")
        .execute(&app.pool)
        .await
        .unwrap();
    let page =
        with(&site.acceptance("bob"), "shown", shown(json!("page"), json!(null), json!(null)));
    app.recorded(&page).await;
    for _ in 0..2 {
        let stats = app.read(&ann.key, &site.path("/stats")).await.expect(200);
        let acts = stats["by_act"].as_array().unwrap().iter();
        let acts = acts.map(|line| json!([line["act"], line["accepted"]])).collect::<Vec<_>>();
        assert_eq!(json!(acts), json!([["page", 1], [null, 1]]));
        counted(&app).await;
    }
}

#[tokio::test]
async fn the_consent_record_names_the_user_action() {
    let (app, ann, site) = app_with_site().await;
    for (act, automated, method) in [
        ("pointer", false, "With a pointer, in a browser, on https://ann.example"),
        (
            "page",
            true,
            "By a script of the page, in a browser that a program controlled, on https://ann.example",
        ),
    ] {
        let claim = shown(json!(act), json!(null), json!(automated));
        app.recorded(&with(&site.acceptance("ann"), "shown", claim)).await;
        let export = app.read(&ann.key, &site.path("/export?format=dpv")).await.expect(200);
        let record = export["@graph"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(record["dpv:hasConsentStatus"][0]["dpv:hasIndicationMethod"], method);
    }
}
