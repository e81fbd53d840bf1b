//! The evidence of a choice, as a file that the console offers.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use super::choices::{address, receipt_id, says, signed_in};
use crate::support::consent::{app_with_site, app_with_site_and};
use crate::support::contacts::hem;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::with;
use crate::support::waiting::wait_until;
use crate::support::watch_reports::ReportMade;

/// The files of a ZIP by name.
pub fn unzipped(bytes: Vec<u8>) -> HashMap<String, String> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).expect("a ZIP");
    let names = zip.file_names().map(|name| name.unwrap().into_owned()).collect::<Vec<_>>();
    let read = |name: String| {
        let mut text = String::new();
        zip.by_name(&name).unwrap().read_to_string(&mut text).unwrap();
        (name, text)
    };
    names.into_iter().map(read).collect()
}

#[tokio::test]
async fn evidence_is_one_file_with_everything_that_a_stranger_needs() {
    let (app, ann, site) = app_with_site_and(&[LOG_KEY, ("OPERATOR_NAME", "Assent Ltd")]).await;
    let shown =
        json!({"language": "de", "act": "keyboard", "seen": "under_5s", "automated": false});
    let saved = app.recorded(&with(&site.acceptance("v-1"), "shown", shown)).await;
    let person =
        json!([{"hem": hem(1), "contact": {"email": "<b>@x.example"}, "visitor_id": "v-1"}]);
    app.store(&ann.key, &site.pixel_id, person).await.expect(200);
    app.proof(&site, "v-1").await;
    let browser = signed_in(&app, &ann).await;
    let path = address(&site, &format!("/{}/evidence.zip", receipt_id(&saved)));
    let answer = browser.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert_eq!(answer.headers()["content-type"], "application/zip");
    let files = unzipped(answer.bytes().await.unwrap().to_vec());
    let key = app.get("/log/policy").await.text;
    let key = key.split(' ').nth(1).unwrap();
    assert_eq!(files["log-key.txt"].trim(), key);
    let receipt = serde_json::from_str::<Value>(&files["receipt.json"]).unwrap();
    assert_eq!(receipt["receipt"], saved["receipt"]);
    let proof = serde_json::from_str::<Value>(&files["proof.json"]).unwrap();
    assert_eq!(proof["statement"]["receipt"], saved["receipt"]);
    assert_eq!(files["verify.html"], app.get("/verify").await.text);
    let page = &files["evidence.html"];
    let host = &site.domain;
    for text in [
        "Assent Ltd",
        &format!("Evidence of a choice on {host}"),
        "the visitor v-1 of",
        "made with the keyboard, less than five seconds after the popup had opened.",
        "can forge this report",
        &hem(1),
        "&lt;b&gt;@x.example",
        "Dauer Ihrer Erlaubnis in Tagen: 182.",
        "It does not show which person used the browser.",
        key,
    ] {
        says(page, text);
        assert!(!page.contains("<b>@x"), "{page}");
    }
    says(&files["README.txt"], "Compare it with");
    assert_eq!(files.len(), 6);
}

#[tokio::test]
async fn evidence_contains_the_watch_reports_of_its_day() {
    let (app, ann, site) = app_with_site_and(&[LOG_KEY]).await;
    let reports = format!("/v1/pixels/{}/watch-reports", site.pixel_id);
    let submit = async |report: &ReportMade| {
        app.call(Method::POST, &reports, &ann.key, report.body()).await.expect(201)
    };
    let made =
        |second: u32| ReportMade::of(&site.domain).at(&format!("2026-03-01T00:00:0{second}.000Z"));
    submit(&made(0)).await;
    app.clock.advance(Duration::days(1));
    let saved = app.recorded(&site.acceptance("v-1")).await;
    submit(&made(1).leaking_to("t.example")).await;
    app.clock.advance(Duration::seconds(1));
    submit(&made(2)).await;
    app.proof(&site, "v-1").await;
    let logged = async || {
        let list = app.call(Method::GET, &reports, &ann.key, Value::Null).await.expect(200);
        list["reports"].as_array().unwrap().iter().all(|report| report["log_entry"].is_i64())
    };
    wait_until("the reports are in the log", logged).await;
    app.clock.advance(Duration::days(1));
    submit(&made(3)).await;
    let browser = signed_in(&app, &ann).await;
    let path = address(&site, &format!("/{}/evidence.zip", receipt_id(&saved)));
    let answer = browser.request(Method::GET, &path).send().await.unwrap();
    let files = unzipped(answer.bytes().await.unwrap().to_vec());
    let proof = serde_json::from_str::<Value>(&files["proof.json"]).unwrap();
    let included = proof["watch_reports"].as_array().unwrap();
    let texts = included.iter().map(|one| one["report"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(texts, [made(2).text(), made(1).leaking_to("t.example").text()]);
    says(&files["evidence.html"], "watch reports of that day (2)");
    says(&files["README.txt"], "watch reports");
    let verdict = app.post("/v1/consent/proof/verify", json!({"proof": proof})).await.expect(200);
    assert_eq!(verdict["valid"], true, "{verdict}");
    for words in ["(leaks: 2)", "It found nothing that was loaded"] {
        says(&verdict.to_string(), words);
    }
    // A visitor who asks for the proof does not get what only the owner may read.
    assert!(app.proof(&site, "v-1").await.json.get("watch_reports").is_none());
}

#[tokio::test]
async fn without_a_log_evidence_has_the_page_and_the_receipt() {
    let (app, ann, site) = app_with_site().await;
    let saved = app.recorded(&site.refusal("v-1", "declined")).await;
    let browser = signed_in(&app, &ann).await;
    let path = address(&site, &format!("/{}/evidence.zip", receipt_id(&saved)));
    let answer = browser.request(Method::GET, &path).send().await.unwrap();
    let files = unzipped(answer.bytes().await.unwrap().to_vec());
    let mut names = files.keys().map(String::as_str).collect::<Vec<_>>();
    names.sort_unstable();
    assert_eq!(names, ["README.txt", "evidence.html", "receipt.json"]);
    says(&files["evidence.html"], "This service keeps no public log.");
    says(&files["evidence.html"], "The evidence names a browser, not a person.");
    assert!(!files["evidence.html"].contains("can forge this report"));
}
