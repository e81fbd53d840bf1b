//! An export with proofs: each line can be taken out and be believed without us.

use serde_json::{Value, json};

use crate::support::App;
use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;

async fn proved_export(app: &App, key: &str, site: &Site) -> Vec<Value> {
    let answer = app.read(key, &site.path("/export?proofs=true")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[tokio::test]
async fn each_receipt_of_an_export_can_come_with_its_proof() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = shop(&app).await;
    // More than one page of them.
    for number in 0..60 {
        app.recorded(&site.acceptance(&format!("v-{number}"))).await;
    }
    app.recorded(&site.refusal("v-0", "withdrawn")).await;
    app.proof(&site, "v-0").await;
    let held = app.hold_the_log().await;
    app.recorded(&site.acceptance("too-late")).await;
    let lines = proved_export(&app, &key, &site).await;
    drop(held);
    let (policy, receipts) = lines.split_first().unwrap();
    assert!(policy.get("proof").is_none());
    let (waiting, receipts) = receipts.split_last().unwrap();
    assert_eq!(
        (&waiting["receipt"]["visitor_id"], &waiting["proof"]),
        (&json!("too-late"), &Value::Null)
    );
    assert_eq!(receipts.len(), 61);
    for line in receipts {
        assert_eq!(line["proof"]["statement"]["receipt"], line["receipt"]);
        let body = json!({"proof": line["proof"]});
        let verdict = app.post("/v1/consent/proof/verify", body).await.expect(200);
        assert_eq!(verdict["valid"], true, "{verdict}");
    }
}

#[tokio::test]
async fn an_export_puts_into_the_log_what_was_recorded_without_one() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = shop(&app).await;
    app.recorded(&site.acceptance("early")).await;
    let forgotten = "UPDATE consent_receipts SET salt = NULL, log_batch = NULL";
    sqlx::query(forgotten).execute(&app.pool).await.unwrap();
    let lines = proved_export(&app, &key, &site).await;
    assert_eq!(lines[1]["proof"], Value::Null);
    app.proof(&site, "early").await;
    let lines = proved_export(&app, &key, &site).await;
    assert_eq!(lines[1]["proof"]["statement"]["receipt"]["visitor_id"], "early");
}

#[tokio::test]
async fn proofs_are_only_exported_when_that_is_wished_and_there_is_a_log() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = shop(&app).await;
    app.recorded(&site.acceptance("v-1")).await;
    for query in ["", "?proofs=false"] {
        let answer = app.read(&key, &site.path(&format!("/export{query}"))).await;
        assert!(!answer.text.contains("\"proof\""), "{}", answer.text);
    }
    let wrong = app.read(&key, &site.path("/export?proofs=yes")).await;
    wrong.invalid(&["query", "proofs"]);
    let bob = app.account("bob@example.com").await;
    let foreign = app.read(&bob.key, &site.path("/export?proofs=true")).await;
    foreign.refused(404, "pixel not found");

    let without = App::spawn().await;
    let (key, site) = shop(&without).await;
    let answer = without.read(&key, &site.path("/export?proofs=true")).await;
    answer.refused(404, "no log is kept here");
}
