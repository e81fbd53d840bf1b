//! The watch of a site in the console.

use chrono::Duration;
use reqwest::Method;
use serde_json::json;

use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::console::leads_to;
use crate::support::setup::set_install_status;
use crate::support::story::Site;
use crate::support::watch_reports::ReportMade;

/// Submits a report about a site, and returns its id.
async fn submitted(app: &App, key: &str, site: &Site, report: ReportMade) -> String {
    let path = format!("/v1/pixels/{}/watch-reports", site.pixel_id);
    let stored = app.call(Method::POST, &path, key, report.body()).await.expect(201);
    app.clock.advance(Duration::seconds(1));
    stored["report_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_screen_names_the_leaks_and_the_list_of_sites_marks_the_site() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/watch", site.pixel_id);
    let empty = browser.page(&address).await;
    assert!(empty.contains("No report yet") && empty.contains("assent watch --service"), "{empty}");
    let submit = async |report| submitted(&app, &ann.key, &site, report).await;
    submit(ReportMade::of("ann.example").leaking_to("tracker.example")).await;
    let page = browser.page(&address).await;
    let facts = ["Loads something without consent", "tracker.example", "line 7", "untouched, gpc"];
    for fact in facts.iter().chain(&["data-assent=&quot;analytics&quot;", "Since "]) {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    assert!(browser.page("/console").await.contains("Loads without consent"));
    let silent = ReportMade::of("ann.example").at("2026-03-02T00:00:00.000Z");
    submit(silent.unobserved()).await;
    assert!(browser.page(&address).await.contains("declined: nothing could be declined"));
    submit(ReportMade::of("ann.example").at("2026-03-03T00:00:00.000Z")).await;
    let page = browser.page(&address).await;
    assert!(page.contains("<strong>Silent</strong>") && page.contains("No leaks."), "{page}");
    // The worst verdict of the day on which they arrived.
    let history = page.split("id=\"history\"").nth(1).unwrap();
    assert!(history.contains("Loads something without consent"), "{history}");
    assert!(!browser.page("/console").await.contains("Loads without consent"));
}

#[tokio::test]
async fn the_history_leads_to_every_report_of_the_site_and_to_no_other_one() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    let submit = async |site, report| submitted(&app, &ann.key, site, report).await;
    let leaking = ReportMade::of("ann.example").leaking_to("tracker.example");
    let leaking = submit(&site, leaking).await;
    let unobserved = ReportMade::of("ann.example").at("2026-03-02T00:00:00.000Z").unobserved();
    let unobserved = submit(&site, unobserved).await;
    app.clock.advance(Duration::days(1));
    let silent = ReportMade::of("ann.example").at("2026-03-03T00:00:00.000Z");
    let silent = submit(&site, silent).await;
    let foreign = submit(&other, ReportMade::of("other.example")).await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/watch", site.pixel_id);
    let link = |report_id: &str| format!("<a href=\"{address}/{report_id}\">");
    let page = browser.page(&address).await;
    let history = page.split("id=\"history\"").nth(1).unwrap();
    // A day leads to its worst report.
    assert!(history.contains(&link(&silent)) && history.contains(&link(&leaking)), "{history}");
    assert!(!history.contains(&link(&unobserved)), "{history}");

    let page = browser.page(&format!("{address}/{leaking}")).await;
    let facts = ["<h1>Report of 1 March 2026, 00:00 UTC", "tracker.example", "line 7"];
    for fact in facts.iter().chain(&["data-assent=&quot;analytics&quot;", "untouched, gpc"]) {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    let newest = format!("<a href=\"{address}\">Newest report</a>");
    assert!(page.contains(&newest) && page.contains(&link(&unobserved)), "{page}");
    assert!(!page.contains(&link(&leaking)) && !page.contains(&link(&silent)), "{page}");
    let page = browser.page(&format!("{address}/{unobserved}")).await;
    assert!(page.contains("declined: nothing could be declined"), "{page}");
    assert!(page.contains("<strong>Not observed</strong>") && page.contains("No leaks."), "{page}");
    let page = browser.page(&format!("{address}/{silent}")).await;
    assert!(page.contains("<strong>Silent</strong>"), "{page}");
    assert!(!page.contains("Reports of this day"), "{page}");

    let unknown = "019cd7a4-1f40-7b1d-8c53-2e9f4a7d6b10";
    for odd in [foreign.as_str(), unknown, "x"] {
        assert_eq!(browser.get(&format!("{address}/{odd}")).await.status, 404, "{odd}");
    }
    let eve = app.account("eve@example.com").await;
    let mut stranger = app.browser_of(&eve.key).await;
    assert_eq!(stranger.get(&format!("{address}/{leaking}")).await.status, 404);
}

#[tokio::test]
async fn the_code_to_paste_has_the_purpose_and_the_attributes_of_the_report_but_no_markup_of_it() {
    let (app, ann, site) = app_with_site().await;
    let mut made = ReportMade::of("ann.example").leaking_to("tracker.example");
    made.report["pages"][0]["tag"] =
        json!({"url": "u", "pixel": "p", "sha256": null, "purposes": ["\"><b>", "newsletter"]});
    let attributes = json!({"async": "", "title": "\"><img src=x>", "x><img": "1", "nonce": "n"});
    made.report["pages"][0]["elements"] = json!([
        {"url": "https://tracker.example/t.js", "kind": "script", "attributes": attributes},
    ]);
    let path = format!("/v1/pixels/{}/watch-reports", site.pixel_id);
    app.call(Method::POST, &path, &ann.key, made.body()).await.expect(201);
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page(&format!("/console/sites/{}/watch", site.pixel_id)).await;
    assert!(page.contains("data-assent=&quot;newsletter&quot; src="), "{page}");
    let title = " async title=&quot;&amp;quot;&amp;gt;&amp;lt;img src=x&amp;gt;&quot;&gt;";
    assert!(page.contains(title) && !page.contains("<img src=x"), "{page}");
}

#[tokio::test]
async fn settings_are_saved_or_refused_beside_their_field() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/watch", site.pixel_id);
    let fields = [("watch_allow", "cdn.example\nfonts.example"), ("public_page", "yes")];
    let saved = browser.submit(&address, &address, &fields).await;
    leads_to(&saved, &format!("{address}?done=saved"));
    let page = browser.page(&address).await;
    assert!(page.contains("cdn.example\nfonts.example"), "{page}");
    assert!(page.contains(&format!("/watch/{}", site.pixel_id)), "{page}");
    assert_eq!(app.get(&format!("/watch/{}", site.pixel_id)).await.status, 200);
    let refused = browser.submit(&address, &address, &[("watch_allow", "http://")]).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("Must be a site"), "{}", refused.text);
    let off = browser.submit(&address, &address, &[("watch_allow", "")]).await;
    leads_to(&off, &format!("{address}?done=saved"));
    assert_eq!(app.get(&format!("/watch/{}", site.pixel_id)).await.status, 404);
}

#[tokio::test]
async fn what_a_report_lists_separately_is_named_beside_its_verdict() {
    let (app, ann, site) = app_with_site().await;
    let silent = ReportMade::of("ann.example").excepting("cdn.example");
    let report_id = submitted(&app, &ann.key, &site, silent).await;
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page(&format!("/console/sites/{}/watch", site.pixel_id)).await;
    assert!(page.contains("Listed separately and not counted: cdn.example."), "{page}");
    let path = format!("/v1/pixels/{}/watch-reports/{report_id}", site.pixel_id);
    let read = app.read(&ann.key, &path).await.expect(200);
    assert_eq!((&read["verdict"], &read["allowed"]), (&json!("silent"), &json!(["cdn.example"])));
}

#[tokio::test]
async fn a_report_about_an_earlier_host_is_in_the_history_only() {
    let (app, ann, site) = app_with_site().await;
    let leaking = ReportMade::of("ann.example").leaking_to("tracker.example");
    let report_id = submitted(&app, &ann.key, &site, leaking).await;
    let moved = "UPDATE pixels SET domain = 'moved.example' WHERE pixel_id = $1";
    sqlx::query(moved).bind(&site.pixel_id).execute(&app.pool).await.unwrap();
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/watch", site.pixel_id);
    let page = browser.page(&address).await;
    assert!(page.contains("No report yet") && !page.contains("tracker.example"), "{page}");
    assert!(page.contains(&format!("<a href=\"{address}/{report_id}\">")), "{page}");
    let page = browser.page(&format!("{address}/{report_id}")).await;
    assert!(page.contains("tracker.example") && page.contains("ann.example"), "{page}");
}

#[tokio::test]
async fn the_next_visit_is_named_where_the_service_visits_the_site() {
    let (app, ann, site) = app_with_site().await;
    let plan =
        "INSERT INTO watch_sites (pixel_id, host, next_watch_at) VALUES ($1, 'ann.example', $2)";
    let next = app.clock.now() + Duration::hours(3);
    sqlx::query(plan).bind(&site.pixel_id).bind(next).execute(&app.pool).await.unwrap();
    let is_named = async || {
        let read = app.read(&ann.key, &format!("/v1/pixels/{}/watch", site.pixel_id)).await;
        read.expect(200)["next_watch_at"].is_string()
    };
    set_install_status(&app, &site.pixel_id, "installed").await;
    assert!(!is_named().await, "no node has a browser");
    let lease = sqlx::query("UPDATE watch_turn SET taken_until = $1").bind(app.clock.now());
    lease.execute(&app.pool).await.unwrap();
    assert!(is_named().await);
    set_install_status(&app, &site.pixel_id, "not_installed").await;
    assert!(!is_named().await, "the tag is missing");
}

#[tokio::test]
async fn a_screen_of_any_node_says_whether_the_service_visits_sites() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/watch", site.pixel_id);
    let (visited, left) = ("we visit the site every day", "does not visit sites by itself");
    let now = browser.page(&address).await;
    assert!(now.contains(left) && !now.contains(visited), "{now}");
    // Another node with a browser takes the lease, also while nothing is due.
    let lease = sqlx::query("UPDATE watch_turn SET taken_until = $1").bind(app.clock.now());
    lease.execute(&app.pool).await.unwrap();
    let now = browser.page(&address).await;
    assert!(now.contains(visited) && !now.contains(left), "{now}");
    app.clock.advance(Duration::days(2));
    let now = browser.page(&address).await;
    assert!(now.contains(left) && !now.contains(visited), "no node has a browser any more: {now}");
}
