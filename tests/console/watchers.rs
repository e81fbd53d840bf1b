//! Watchers with keys of their own, about one site.

use reqwest::Method;
use serde_json::{Value, json};

use super::choices::{address, receipt_id, says, signed_in};
use super::evidence::unzipped;
use crate::support::consent::app_with_site_and;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::public_log::PublicLog;
use crate::support::waiting::wait_until;
use crate::support::watch_reports::ReportMade;

#[tokio::test]
async fn reports_of_two_watchers_are_in_the_list_the_log_and_the_evidence() {
    let (app, ann, site) = app_with_site_and(&[LOG_KEY]).await;
    let path = format!("/v1/pixels/{}/watch-reports", site.pixel_id);
    let agency = ReportMade::by(1, &site.domain);
    let neighbour = ReportMade::by(2, &site.domain).leaking_to("t.example");
    assert_ne!(agency.watcher(), neighbour.watcher());
    // A watcher signs neither for another one, nor another one's report.
    let text = format!("assent/watch/v1\n{}\n{} report.json\n", agency.time(), agency.sha256());
    let swapped = [
        (&agency, neighbour.note()),
        (&neighbour, agency.note()),
        (&agency, neighbour.signed(&text)),
    ];
    for (report, note) in swapped {
        let body = json!({"report": report.text(), "note": note});
        let answer = app.call(Method::POST, &path, &ann.key, body).await;
        answer.refused(400, "invalid request");
        let error = &answer.json()["errors"][0];
        assert_eq!(
            (&error["loc"][1], &error["msg"]),
            (&json!("note"), &json!("the note is not signed by this key")),
            "{}",
            answer.text
        );
    }

    let watchers = [&agency, &neighbour];
    for report in watchers {
        let stored = app.call(Method::POST, &path, &ann.key, report.body()).await.expect(201);
        assert_eq!(stored["watcher"], report.watcher());
    }
    let saved = app.recorded(&site.acceptance("v-1")).await;
    app.proof(&site, "v-1").await;
    let listed = async || app.read(&ann.key, &path).await.expect(200)["reports"].clone();
    let logged = async || {
        listed().await.as_array().unwrap().iter().all(|report| report["log_entry"].is_i64())
    };
    wait_until("both reports are in the log", logged).await;
    let (listed, log) = (listed().await, PublicLog::read(&app.client, &app.base).await.unwrap());
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), watchers.len());
    assert_ne!(listed[0]["log_entry"], listed[1]["log_entry"]);
    for report in watchers {
        let shown = listed.iter().find(|shown| shown["sha256"] == report.sha256()).unwrap();
        assert_eq!(shown["watcher"], report.watcher());
        assert_eq!(shown["by_service"], false);
        assert!(log.has("watch", &report.sha256()));
    }

    let browser = signed_in(&app, &ann).await;
    let path = address(&site, &format!("/{}/evidence.zip", receipt_id(&saved)));
    let answer = browser.request(Method::GET, &path).send().await.unwrap();
    let files = unzipped(answer.bytes().await.unwrap().to_vec());
    let proof = serde_json::from_str::<Value>(&files["proof.json"]).unwrap();
    let included = proof["watch_reports"].as_array().unwrap();
    assert_eq!(included.len(), watchers.len());
    let body = json!({"proof": proof});
    let verdict = app.post("/v1/consent/proof/verify", body).await.expect(200);
    assert_eq!(verdict["valid"], true, "{verdict}");
    for report in watchers {
        let is_whole = |one: &Value| one["report"] == report.text() && one["note"] == report.note();
        assert!(included.iter().any(is_whole), "{}", report.watcher());
        says(&verdict.to_string(), report.watcher());
    }
    let mut swapped = proof.clone();
    for (one, other) in [(0, 1), (1, 0)] {
        swapped["watch_reports"][one]["note"] = included[other]["note"].clone();
    }
    let body = json!({"proof": swapped});
    let verdict = app.post("/v1/consent/proof/verify", body).await.expect(200);
    assert_eq!(verdict["valid"], false, "{verdict}");
    says(&verdict.to_string(), "was not signed by the watcher that it names");
}
