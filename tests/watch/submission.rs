//! Reports that are submitted to a service, made with a browser or without one.

use assent::proof::log::Log;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::runs::{VISITS, watch_with};
use crate::support::server::infra;
use crate::support::sites::https_site::Reply;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::public_log::PublicLog;
use crate::support::watch_reports::ReportMade;
use crate::support::webhooks::Hooks;
use crate::support::{Account, App, MailServer};
use crate::tagged_pages::Tagged;

#[tokio::test]
async fn the_command_submits_its_report() {
    let page = Tagged::with("<img src='http://leak.test:PORT/i.png' alt=''>").await;
    let (url, base) = (page.url(), page.app.base.clone());
    let arguments = [url.as_str(), "--service", &base];
    let run = watch_with(&[("ASSENT_API_KEY", &page.key)], &arguments).await;
    run.ends_with(1);
    let path = format!("/v1/pixels/{}/watch-reports", page.pixel);
    let list = page.app.call(Method::GET, &path, &page.key, Value::Null).await.expect(200);
    let report = &list["reports"][0];
    assert!(run.said.contains(report["report_id"].as_str().unwrap()), "{}", run.said);
    let text = std::fs::read(run.folder.join("report.json")).unwrap();
    assert_eq!(report["sha256"], hex::encode(Sha256::digest(&text)));
    assert_eq!((&report["verdict"], &report["by_service"]), (&json!("leaks"), &json!(false)));
    let path = format!("{path}/{}", report["report_id"].as_str().unwrap());
    let read = page.app.call(Method::GET, &path, &page.key, Value::Null).await.expect(200);
    assert_eq!(read["text"].as_str().unwrap().as_bytes(), text);
    assert_eq!(
        (&read["leaks"][0]["host"], &read["leaks"][0]["kind"]),
        (&json!("leak.test"), &json!("image"))
    );
}

#[tokio::test]
async fn what_the_owner_or_an_argument_allows_is_listed_separately_and_is_no_failure() {
    let (by_owner, by_argument) = ("cdn.owned.test", "cdn.named.test");
    let image = |host: &str| format!("<img src='http://{host}:PORT/i.png' alt=''>");
    let page = Tagged::with(&[image(by_owner), image(by_argument)].concat()).await;
    let watch = format!("/v1/pixels/{}/watch", page.pixel);
    let allowed = json!({"watch_allow": ["owned.test"]});
    page.app.call(Method::PATCH, &watch, &page.key, allowed).await.expect(200);
    let (url, base) = (page.url(), page.app.base.clone());
    let arguments =
        [url.as_str(), "--service", &base, "--pixel", &page.pixel, "--allow", "named.test"];
    let run = watch_with(&[("ASSENT_API_KEY", &page.key)], &arguments).await;
    run.ends_with(0);
    for host in [by_owner, by_argument] {
        assert_eq!(run.visits_with(0, "allowed", host), VISITS, "{host}");
    }
    assert_eq!(run.visits_that_are(0, Some(true)), VISITS);
    let sarif = std::fs::read_to_string(run.folder.join("report.sarif")).unwrap();
    let sarif = serde_json::from_str::<Value>(&sarif).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(0), "{sarif}");
    // With a key of another account the settings of the pixel cannot be read, and nothing is submitted.
    let other = page.app.account("eve@example.com").await.key;
    let run = watch_with(&[("ASSENT_API_KEY", &other)], &arguments).await;
    run.ends_with(1);
    assert_eq!(run.visits_with(0, "leaks", by_owner), VISITS);
    assert_eq!(run.visits_with(0, "allowed", by_argument), VISITS);
    for problem in ["the sites that the owner allows are unknown", "the report was not submitted"] {
        let reason = format!("{problem}: the service answered 404: pixel not found");
        assert!(run.said.contains(&reason), "{}", run.said);
    }
}

pub async fn shop(settings: &[(&str, &str)]) -> (App, Account, String) {
    let app = App::spawn_with(settings).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    (app, ann, pixel)
}

pub fn path(pixel: &str) -> String {
    format!("/v1/pixels/{pixel}/watch-reports")
}

#[tokio::test]
async fn the_hash_of_a_report_is_an_entry_of_the_log() {
    let (app, ann, pixel) = shop(&[LOG_KEY]).await;
    let report = ReportMade::of("www.shop.example");
    let stored = app.call(Method::POST, &path(&pixel), &ann.key, report.body()).await.expect(201);
    assert_eq!((&stored["verdict"], &stored["log_entry"]), (&json!("silent"), &Value::Null));
    // The same report again is the same one, which the service may have appended in the meantime.
    let mut again =
        app.call(Method::POST, &path(&pixel), &ann.key, report.body()).await.expect(201);
    again["log_entry"] = Value::Null;
    assert_eq!(again, stored);
    let log = Log::new(infra(&app.database, app.clock.clone(), &[LOG_KEY]));
    log.append_pending().await.unwrap();
    let list = app.call(Method::GET, &path(&pixel), &ann.key, Value::Null).await.expect(200);
    assert_eq!(list["reports"].as_array().unwrap().len(), 1);
    assert!(list["reports"][0]["log_entry"].is_i64(), "{list}");
    let public = PublicLog::read(&app.client, &app.base).await.expect("a log");
    assert!(public.has("watch", &report.sha256()));
}

#[tokio::test]
async fn a_report_must_be_signed_and_about_the_site() {
    let (app, ann, pixel) = shop(&[]).await;
    let made = || ReportMade::of("shop.example");
    let mut changed = made().body();
    changed["report"] = json!(made().leaking_to("t.example").text());
    let mut unnamed = made();
    unnamed.report["watcher"] = json!("nobody");
    let mut late = made();
    let note = late.note();
    late.report["time"] = json!("2026-03-02T00:00:00.000Z");
    let mut elsewhere = made();
    elsewhere.report["pages"][0]["url"] = json!("https://notshop.example/");
    let mut empty = made();
    empty.report["pages"] = json!([]);
    let mut two = made();
    let other = two.report["pages"][0].clone();
    two.report["pages"] = json!([other, ReportMade::of("other.example").report["pages"][0]]);
    let mut schema = made();
    schema.report["schema"] = json!("assent/watch/v2");
    let schema_text = "must be a report.json of schema assent/watch/v1";
    let pages = "must be about pages of shop.example";
    let cases = [
        (changed, "report", "was changed after the report was signed"),
        (unnamed.body(), "report", "must name its watcher"),
        (
            json!({"report": late.text(), "note": note}),
            "report",
            "was changed after the report was signed",
        ),
        (elsewhere.body(), "report", pages),
        (empty.body(), "report", pages),
        (two.body(), "report", pages),
        (schema.body(), "report", schema_text),
        (json!({"report": "{}", "note": made().note()}), "report", schema_text),
        (json!({"report": made().text(), "note": "x"}), "note", "this is not a signed note"),
        (
            json!({"report": made().text(), "note": made().note().replace("\u{2014} assent", "\u{2014} other")}),
            "note",
            "the note is not signed by this key",
        ),
    ];
    for (body, field, msg) in cases {
        let answer = app.call(Method::POST, &path(&pixel), &ann.key, body).await;
        answer.refused(400, "invalid request");
        let error = &answer.json()["errors"][0];
        assert_eq!(
            (&error["loc"][1], &error["msg"]),
            (&json!(field), &json!(msg)),
            "{}",
            answer.text
        );
    }
    let long = json!({"report": " ".repeat((1 << 20) + 1), "note": ""});
    let answer = app.call(Method::POST, &path(&pixel), &ann.key, long).await;
    answer.refused(413, "request body too large");
    let list = app.call(Method::GET, &path(&pixel), &ann.key, Value::Null).await.expect(200);
    assert_eq!(list["reports"], json!([]));
}

#[tokio::test]
async fn another_accounts_pixel_has_no_reports() {
    let (app, ann, pixel) = shop(&[]).await;
    let eve = app.account("eve@example.com").await;
    let body = ReportMade::of("shop.example").body();
    let stored = app.call(Method::POST, &path(&pixel), &ann.key, body.clone()).await.expect(201);
    let report = format!("{}/{}", path(&pixel), stored["report_id"].as_str().unwrap());
    for (method, path, body) in [
        (Method::POST, path(&pixel), body),
        (Method::GET, path(&pixel), Value::Null),
        (Method::GET, report.clone(), Value::Null),
    ] {
        app.call(method, &path, &eve.key, body).await.refused(404, "pixel not found");
    }
    let eves = app.pixel(&eve.key, "eve.example").await;
    let elsewhere = report.replace(&pixel, &eves);
    let answer = app.call(Method::GET, &elsewhere, &eve.key, Value::Null).await;
    answer.refused(404, "watch report not found");
    let unknown = format!("{}/unknown", path(&pixel));
    let answer = app.call(Method::GET, &unknown, &ann.key, Value::Null).await;
    answer.refused(404, "watch report not found");
}

#[tokio::test]
async fn a_hundred_reports_a_day_are_taken() {
    let (app, ann, pixel) = shop(&[]).await;
    let submit = async |second: i64| {
        let time = format!("2026-03-01T00:{:02}:{:02}.000Z", second / 60, second % 60);
        let body = ReportMade::of("shop.example").at(&time).body();
        app.call(Method::POST, &path(&pixel), &ann.key, body).await
    };
    for second in 0..100 {
        submit(second).await.expect(201);
    }
    submit(100).await.refused(429, "too many requests");
    app.clock.advance(chrono::Duration::days(1));
    submit(100).await.expect(201);
}

#[tokio::test]
async fn an_owner_is_notified_when_a_site_breaks_and_when_it_recovers() {
    let hooks = Hooks::start().await;
    let body = json!({"url": "https://hooks.example/a", "events": ["silence.*"]});
    hooks.site.answer("hooks.example/a", Reply::Whole(204, String::new(), Vec::new()));
    hooks.call(Method::POST, "/v1/webhooks", body).await.expect(201);
    let pixel = &hooks.shop.pixel_id;
    let submit = async |report: ReportMade, day: u32| {
        let body = report.at(&format!("2026-03-0{day}T00:00:00.000Z")).body();
        hooks.call(Method::POST, &path(pixel), body).await.expect(201)
    };
    let made = || ReportMade::of("shop.example");
    submit(made(), 1).await;
    let broken = submit(made().leaking_to("t.example"), 3).await;
    // The mail names the leaks of the newest report.
    MailServer::shared().wait_for(&hooks.ann.email, 2).await;
    submit(made().leaking_to("u.example"), 4).await;
    // An older report, and one that did not observe everything, change nothing.
    submit(made(), 2).await;
    submit(made().unobserved(), 5).await;
    let watch = format!("/v1/pixels/{pixel}/watch");
    let shown = hooks.call(Method::GET, &watch, Value::Null).await.expect(200);
    assert_eq!(shown["broken_since"], "2026-03-03T00:00:00.000Z", "{shown}");
    assert_eq!(shown["verdict"], "not_observed");
    hooks.arrived("hooks.example/a", 1).await;
    let restored = submit(made().excepting("cdn.example"), 6).await;
    hooks.arrived("hooks.example/a", 2).await;
    let events = hooks.sent("hooks.example/a");
    let events = events.iter().map(|seen| serde_json::from_str::<Value>(&seen.body).unwrap());
    let events = events.collect::<Vec<_>>();
    assert_eq!(
        (&events[0]["type"], &events[1]["type"]),
        (&json!("silence.broken"), &json!("silence.restored"))
    );
    assert_eq!(events[0]["data"]["report"]["report_id"], broken["report_id"]);
    assert_eq!(events[1]["data"]["report"]["report_id"], restored["report_id"]);
    let mails = MailServer::shared().wait_for(&hooks.ann.email, 3).await;
    let subjects = mails.iter().map(|mail| mail.subject().to_owned()).collect::<Vec<_>>();
    assert!(
        subjects.contains(&"shop.example loads something without consent".to_owned()),
        "{subjects:?}"
    );
    assert!(
        subjects.contains(&"shop.example no longer loads anything without consent".to_owned()),
        "{subjects:?}"
    );
    let recovered = mails.iter().find(|mail| mail.subject().contains("no longer")).unwrap();
    let excluded = "Listed separately in the report and not counted: cdn.example.";
    assert!(recovered.text().contains(excluded), "{}", recovered.text());
    let broke = mails.iter().find(|mail| mail.subject().contains("without consent")).unwrap();
    assert!(broke.text().contains("t.example (script)"), "{}", broke.text());
}

#[tokio::test]
async fn settings_are_changed_and_only_the_services_own_verdict_is_public() {
    let (app, ann, pixel) = shop(&[]).await;
    let watch = format!("/v1/pixels/{pixel}/watch");
    let shown = app.call(Method::GET, &watch, &ann.key, Value::Null).await.expect(200);
    assert_eq!((&shown["watch_allow"], &shown["public_page"]), (&json!([]), &Value::Null));
    let page = format!("/watch/{pixel}");
    assert_eq!(app.get(&page).await.status, 404);
    let sites = json!({"watch_allow": ["https://CDN.example/x", "*.a.example", "cdn.example"]});
    let changed = app.call(Method::PATCH, &watch, &ann.key, sites).await.expect(200);
    assert_eq!(changed["watch_allow"], json!(["a.example", "cdn.example"]));
    let public = json!({"public_page": true});
    let changed = app.call(Method::PATCH, &watch, &ann.key, public).await.expect(200);
    assert_eq!(changed["watch_allow"], json!(["a.example", "cdn.example"]));
    assert_eq!(changed["public_page"], app.url(&page));
    for sites in [json!(["a b"]), json!(vec!["cdn.example"; 51])] {
        let answer = app.call(Method::PATCH, &watch, &ann.key, json!({"watch_allow": sites})).await;
        answer.refused(400, "invalid request");
    }
    // What the owner submits is not published as a verdict of the service.
    let body = ReportMade::of("shop.example").excepting("t.example").body();
    app.call(Method::POST, &path(&pixel), &ann.key, body).await.expect(201);
    let shown = app.get(&page).await;
    assert!(shown.text.contains("has not been visited yet"), "{}", shown.text);
    assert!(!shown.text.contains("t.example"), "{}", shown.text);
    let text = app.get(&format!("{page}.md")).await;
    assert_eq!(text.header("content-type"), Some("text/markdown; charset=utf-8"));
    assert!(text.text.starts_with("# shop.example\n"), "{}", text.text);
    for own in [
        "UPDATE watch_sites SET own_verdict = 'silent', own_at = $1",
        "UPDATE watch_reports SET by_service = true, made_at = $1",
    ] {
        sqlx::query(own).bind(app.clock.now()).execute(&app.pool).await.unwrap();
    }
    // What the report did not count is named, whatever the settings are now.
    app.call(Method::PATCH, &watch, &ann.key, json!({"watch_allow": []})).await.expect(200);
    let shown = app.get(&page).await;
    assert!(shown.text.contains("stored nothing without consent"), "{}", shown.text);
    assert!(shown.text.contains("10 March 2026"), "{}", shown.text);
    assert!(shown.text.contains("excludes these hosts: t.example."), "{}", shown.text);
}
