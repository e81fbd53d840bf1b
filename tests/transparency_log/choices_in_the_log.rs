//! Choices in the public log: each that was acknowledged, once, and nothing about how many there are.

use std::collections::BTreeSet;

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use sqlx::query_scalar;

use super::proofs::{verdict_on, whole_log};
use crate::support::App;
use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::with;

#[tokio::test]
async fn a_proof_and_the_log_reveal_nothing_of_how_many_choices_there_are() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("lonely")).await;
    let lonely = app.proof(&site, "lonely").await;
    let held = app.hold_the_log().await;
    let many = (0..100).map(|number| site.acceptance(&format!("v-{number}")));
    join_all(many.map(async |choice| app.recorded(&choice).await)).await;
    drop(held);
    let crowded = app.proof(&site, "v-7").await;
    assert_eq!((lonely.size(), crowded.size()), (256, 256));
    let log = whole_log(&app).await;
    let choices = log.entries.iter().filter(|entry| entry.starts_with("assent/choices/v1\n"));
    for entry in choices {
        let lines = entry.lines().collect::<Vec<_>>();
        assert!(
            matches!(lines[..], ["assent/choices/v1", root, at]
            if root.len() == 49 && at.len() == 27),
            "{entry}"
        );
    }
    let positions = [&lonely, &crowded].map(|proof| proof.position(&log));
    assert_ne!(positions[0].0, positions[1].0);
}

#[tokio::test]
async fn without_choices_nothing_is_added_and_a_repeated_choice_has_one_position() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    let choice_id = json!("0190b5a0-0000-7000-8000-000000000001");
    let choice = with(&site.acceptance("v-1"), "choice_id", choice_id);
    let first = app.recorded(&choice).await;
    let proof = app.proof(&site, "v-1").await;
    assert_eq!(app.recorded(&choice).await["receipt_id"], first["receipt_id"]);
    app.some_rounds().await;
    let again = app.proof(&site, "v-1").await;
    let before = whole_log(&app).await;
    assert_eq!(again.position(&before), proof.position(&before));
    app.some_rounds().await;
    assert_eq!(whole_log(&app).await.note, before.note);
}

#[tokio::test]
async fn a_choice_recorded_without_a_log_is_added_when_its_proof_is_requested_and_is_marked() {
    let before = App::spawn().await;
    let (_, site) = shop(&before).await;
    before.recorded(&site.acceptance("early")).await;
    before.recorded(&site.acceptance("never-asked")).await;
    let salted = "SELECT count(*) FROM consent_receipts WHERE salt IS NOT NULL";
    let salted = async || query_scalar::<_, i64>(salted).fetch_one(&before.pool).await.unwrap();
    assert_eq!(salted().await, 0);
    before.clock.advance(Duration::days(3));
    let app = before.another_node(&[LOG_KEY]).await;
    let held = app.hold_the_log().await;
    let asked = join_all((0..4).map(|_| app.ask_for_proof(&site, "early"))).await;
    asked.iter().for_each(|answer| answer.refused(409, "not sealed yet"));
    drop(held);
    let proof = app.proof(&site, "early").await;
    assert_eq!(salted().await, 1);
    proof.position(&whole_log(&app).await);
    let verdict = verdict_on(&app, &proof.json).await;
    assert_eq!(verdict["valid"], true);
    assert!(verdict["sentences"][1].as_str().unwrap().contains("the service's word alone"));
    app.recorded(&site.acceptance("on-time")).await;
    let verdict = verdict_on(&app, &app.proof(&site, "on-time").await.json).await;
    assert!(!verdict.to_string().contains("the service's word alone"), "{verdict}");
}

#[tokio::test]
async fn endpoints_are_notified_of_choices_that_come_into_the_log() {
    let app = App::spawn_with(&[LOG_KEY, ("WEBHOOK_RESOLVE", "hooks.example=127.0.0.1:1")]).await;
    let (key, site) = shop(&app).await;
    let body = json!({"url": "https://hooks.example/a", "events": ["choice.recorded"]});
    app.call(Method::POST, "/v1/webhooks", &key, body).await.expect(201);
    app.recorded(&site.acceptance("v-1")).await;
    let deliveries = "SELECT count(*) FROM webhook_deliveries WHERE kind = 'choice.recorded'";
    assert_eq!(query_scalar::<_, i64>(deliveries).fetch_one(&app.pool).await.unwrap(), 1);
    let proof = app.proof(&site, "v-1").await;
    proof.position(&whole_log(&app).await);
}

/// Records for a while on a node, and gives the visitors whose choices were acknowledged.
async fn visitors_of(
    node: &App,
    site: &Site,
    name: &str,
    until: &tokio::sync::Notify,
) -> Vec<String> {
    let (mut visitors, mut number) = (Vec::new(), 0);
    let stop = until.notified();
    tokio::pin!(stop);
    loop {
        let round = (0..4).map(|index| format!("{name}-{number}-{index}")).collect::<Vec<_>>();
        let answers = join_all(round.iter().map(async |visitor| {
            (visitor.clone(), node.record(&site.acceptance(visitor)).await.status)
        }));
        let acknowledged = answers.await.into_iter().filter(|(_, status)| *status == 202);
        visitors.extend(acknowledged.map(|(visitor, _)| visitor));
        number += 1;
        if futures_util::FutureExt::now_or_never(stop.as_mut()).is_some() || number == 40 {
            return visitors;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_choice_that_is_acknowledged_by_any_node_has_exactly_one_position_in_the_log() {
    let here = App::spawn_with(&[LOG_KEY]).await;
    let there = here.another_node(&[LOG_KEY]).await;
    let key = here.account("shop@example.com").await.key;
    let one = here.consent_site(&key, "one.example").await;
    let two = here.consent_site(&key, "two.example").await;
    let stop = tokio::sync::Notify::new();
    let passing = async {
        for _ in 0..12 {
            here.clock.advance(Duration::seconds(10));
            tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        }
        stop.notify_waiters();
    };
    let (of_here, of_there, of_both, ()) = tokio::join!(
        visitors_of(&here, &one, "here", &stop),
        visitors_of(&there, &one, "there", &stop),
        visitors_of(&there, &two, "both", &stop),
        passing,
    );
    assert!(of_here.len() > 8 && of_there.len() > 8, "{} {}", of_here.len(), of_there.len());
    let all = of_here.iter().chain(&of_there).map(|visitor| (&one, visitor));
    let all = all.chain(of_both.iter().map(|visitor| (&two, visitor))).collect::<Vec<_>>();
    // The last ones come into the log now.
    for (site, visitor) in [all[0], all[of_here.len()], all[all.len() - 1]] {
        here.proof(site, visitor).await;
    }
    here.some_rounds().await;
    let mut proofs = Vec::new();
    for (site, visitor) in &all {
        proofs.push(there.proof(site, visitor).await);
    }
    let log = whole_log(&there).await;
    let positions = proofs.iter().map(|proof| proof.position(&log)).collect::<BTreeSet<_>>();
    assert_eq!(positions.len(), all.len());
    let entries = positions.iter().map(|(number, _)| number).collect::<BTreeSet<_>>();
    assert!(entries.len() > 1, "they came into the log at several times");
}
