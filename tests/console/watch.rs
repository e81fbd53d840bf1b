//! The watch of a site in the console.

use chrono::Duration;
use reqwest::Method;

use crate::support::consent::app_with_site;
use crate::support::console::leads_to;
use crate::support::watch_reports::ReportMade;

#[tokio::test]
async fn a_screen_names_the_leaks_and_the_list_of_sites_marks_the_site() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/watch", site.pixel_id);
    let empty = browser.page(&address).await;
    assert!(empty.contains("No report yet") && empty.contains("assent watch --service"), "{empty}");
    let submit = async |report: ReportMade| {
        let path = format!("/v1/pixels/{}/watch-reports", site.pixel_id);
        app.call(Method::POST, &path, &ann.key, report.body()).await.expect(201);
        app.clock.advance(Duration::seconds(1));
    };
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
