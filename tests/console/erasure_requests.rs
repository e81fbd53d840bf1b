//! Visitors' erasure requests in the console.

use chrono::Duration;
use serde_json::json;

use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::console::leads_to;
use crate::support::story::Site;

async fn asked(app: &App, site: &Site, visitor: &str) {
    app.recorded(&site.acceptance(visitor)).await;
    let body = json!({"pixel_id": site.pixel_id, "visitor_id": visitor});
    app.post("/v1/consent/erasure-requests", body).await.expect(202);
}

/// The address of the only open request.
fn answer_of(page: &str) -> String {
    let link = page.split("href=\"").find(|part| part.contains("/requests/")).expect("a request");
    link.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_request_has_a_clock_and_is_met_by_the_name_of_the_site() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/requests", site.pixel_id);
    assert!(browser.page(&address).await.contains("No open requests"));
    asked(&app, &site, "visitor-1").await;
    let waits = "1<span class=\"visually-hidden\"> open</span>";
    let install = format!("/console/sites/{}/install", site.pixel_id);
    assert!(browser.page(&install).await.contains(waits), "on the tab of every screen");
    assert!(browser.page("/console").await.contains("1 erasure request"));
    let page = browser.page(&address).await;
    assert!(page.contains("visitor-1") && page.contains("30 days left"), "{page}");
    app.clock.advance(Duration::days(24));
    let late = browser.page(&address).await;
    assert!(late.contains("state late") && late.contains("6 days left"), "{late}");
    let answer = answer_of(&late);
    assert!(browser.page(&answer).await.contains("of this visitor: one receipt."));
    let complete = format!("{answer}/complete");
    let refused = browser.submit(&answer, &complete, &[("host", "x")]).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("Type ann.example"), "{}", refused.text);
    let met = browser.submit(&answer, &complete, &[("host", "ann.example")]).await;
    leads_to(&met, &format!("{address}?status=completed&done=erased"));
    assert!(!browser.page("/console").await.contains("erasure request"));
    assert!(!browser.page(&install).await.contains(waits));
    let closed = browser.page(&format!("{address}?status=completed")).await;
    assert!(closed.contains("Erased on 3 April 2026: one receipt"), "{closed}");
    assert!(closed.contains("9 April 2026") && !closed.contains("visitor-1"), "{closed}");
    let closed = browser.page(&answer).await;
    assert!(closed.contains("one receipt") && !closed.contains("Erase the visitor"), "{closed}");
    let path = site.path("");
    let log = app.read(&ann.key, &path).await.expect(200);
    assert_eq!(log["events"], json!([]));
}

#[tokio::test]
async fn a_request_is_refused_with_a_reason_only() {
    let (app, ann, site) = app_with_site().await;
    asked(&app, &site, "visitor-1").await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/requests", site.pixel_id);
    let answer = answer_of(&browser.page(&address).await);
    let refuse = format!("{answer}/refuse");
    let again = browser.submit(&answer, &refuse, &[("reason", " ")]).await;
    assert_eq!(again.status, 400);
    assert!(again.text.contains("Reason is required"), "{}", again.text);
    let reason = "A court asked us to keep it <now>";
    let done = browser.submit(&answer, &refuse, &[("reason", reason)]).await;
    leads_to(&done, &format!("{address}?status=refused&done=refused"));
    let page = browser.page(&format!("{address}?status=refused")).await;
    assert!(page.contains("A court asked us to keep it &lt;now&gt;"), "{page}");
    assert_eq!(browser.get(&format!("{address}?status=odd")).await.status, 422);
}

#[tokio::test]
async fn the_requests_of_anothers_site_are_not_there() {
    let (app, ann, site) = app_with_site().await;
    asked(&app, &site, "visitor-1").await;
    let mut own = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/requests", site.pixel_id);
    let answer = answer_of(&own.page(&address).await);
    let eve = app.account("eve@example.com").await;
    let eves = app.consent_site(&eve.key, "eve.example").await;
    let mut browser = app.browser_of(&eve.key).await;
    let id = answer.rsplit('/').next().unwrap();
    let moved = format!("/console/sites/{}/requests/{id}", eves.pixel_id);
    for path in [&address, &answer, &moved] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
    for form in ["complete", "refuse"] {
        for request in [&answer, &moved] {
            let fields = [("host", "ann.example"), ("reason", "mine")];
            let path = format!("{request}/{form}");
            let refused = browser.submit("/console/sites/new", &path, &fields).await;
            assert!([400, 404].contains(&refused.status) && refused.status != 303, "{path}");
        }
    }
    assert!(own.page(&address).await.contains("visitor-1"));
}
