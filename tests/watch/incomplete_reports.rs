//! Submitted reports that lack visits: they never say that a site is silent.

use reqwest::Method;
use serde_json::{Value, json};

use crate::submission::{path, shop};
use crate::support::watch_reports::ReportMade;

#[tokio::test]
async fn a_report_that_lacks_visits_is_not_silent() {
    let (app, ann, pixel) = shop(&[]).await;
    let submit = async |report: ReportMade, day: usize| {
        let body = report.at(&format!("2026-03-0{day}T00:00:00.000Z")).body();
        app.call(Method::POST, &path(&pixel), &ann.key, body).await.expect(201)
    };
    let made = || ReportMade::of("shop.example");
    let with_visits = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut made = made();
        change(made.report["pages"][0]["visits"].as_array_mut().unwrap());
        made
    };
    let mut two_pages = made();
    let mut other = two_pages.report["pages"][0].clone();
    other["visits"] = json!([]);
    two_pages.report["pages"].as_array_mut().unwrap().push(other);
    submit(made().leaking_to("t.example"), 1).await;
    let incomplete = [
        with_visits(&|visits| visits.clear()),
        with_visits(&|visits| visits.truncate(1)),
        with_visits(&|visits| drop(visits.pop())),
        with_visits(&|visits| visits[1] = visits[0].clone()),
        with_visits(&|visits| visits[0]["silent"] = json!(false)),
        two_pages,
    ];
    for (number, report) in incomplete.into_iter().enumerate() {
        let stored = submit(report, number + 2).await;
        assert_eq!(stored["verdict"], "not_observed", "report {number}");
    }
    let watch = format!("/v1/pixels/{pixel}/watch");
    let shown = app.call(Method::GET, &watch, &ann.key, Value::Null).await.expect(200);
    assert_eq!(shown["broken_since"], "2026-03-01T00:00:00.000Z", "{shown}");
    // A leak counts, whatever is missing.
    let mut leaking = made().leaking_to("t.example");
    leaking.report["pages"][0]["visits"].as_array_mut().unwrap().truncate(1);
    assert_eq!(submit(leaking, 8).await["verdict"], "leaks");
    assert_eq!(submit(made(), 9).await["verdict"], "silent");
}
