//! Endpoints of webhooks in the console.

use reqwest::Method;
use serde_json::Value;

use crate::support::App;
use crate::support::console::{Browser, leads_to};
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::waiting::wait_until;

const LIST: &str = "/console/account/deliveries";
const URL: &str = "https://hooks.example/assent";

/// A service that finds `hooks.example` on a site of the test.
async fn app() -> (App, HttpsSite) {
    let site = HttpsSite::start(&["hooks.example"]).await;
    let resolve = site.resolve(&["hooks.example"]);
    let settings = [("WEBHOOK_RESOLVE", resolve.as_str()), ("WEBHOOK_CA_FILE", ca_file())];
    (App::spawn_with(&settings).await, site)
}

/// Adds an address, and gives its page.
async fn add(browser: &mut Browser<'_>, more: &[(&str, &str)]) -> String {
    let fields = [&[("url", URL)], more].concat();
    let made = browser.submit(LIST, LIST, &fields).await;
    if let Some(page) = made.header("location") {
        let (page, done) = page.split_once('?').expect("a notice");
        assert_eq!(done, "done=added", "a chat has no use for the secret");
        return page.to_owned();
    }
    assert_eq!(made.status, 201, "{}", made.text);
    assert!(made.text.contains(">whsec_"), "{}", made.text);
    let (_, rest) = made.text.split_once(&format!("href=\"{LIST}/")).expect("a way on");
    format!("{LIST}/{}", rest.split('"').next().unwrap())
}

#[tokio::test]
async fn an_endpoint_is_added_tested_changed_and_deleted() {
    let (app, site) = app().await;
    let (ann, pixel) = app.shop().await;
    let mut browser = app.browser_of(&ann.key).await;
    assert!(browser.page(LIST).await.contains("No endpoints yet"));
    let refused = browser.submit(LIST, LIST, &[("url", "http://hooks.example/")]).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("Must be an https address"), "{}", refused.text);

    let ticked = format!("site-{pixel}");
    let fields = [("event-contact.created", "on"), (&*ticked, "on"), ("format", "slack")];
    let page = add(&mut browser, &fields).await;
    let shown = browser.page(&page).await;
    assert!(!shown.contains("whsec_"), "the secret is shown once");
    assert!(shown.contains("Slack message"), "{shown}");
    assert!(shown.contains("name=\"event-contact.created\" checked"), "{shown}");
    assert!(shown.contains(&format!("name=\"{ticked}\" checked")), "{shown}");

    let failed = browser.submit(&page, &format!("{page}/test"), &[]).await;
    assert!(failed.text.contains("The test event was not delivered: the endpoint answered 404."));
    site.answer("hooks.example/assent", Reply::page("ok <b>"));
    let tested = browser.submit(&page, &format!("{page}/test"), &[]).await;
    leads_to(&tested, &format!("{page}?done=arrived"));
    let shown = browser.page(&page).await;
    assert!(shown.contains("ok &lt;b&gt;") && shown.contains("Delivered"), "{shown}");

    let changed = browser.submit(&page, &page, &[("url", URL), ("format", "standard")]).await;
    leads_to(&changed, &format!("{page}?done=changed"));
    let shown = browser.page(&page).await;
    assert!(shown.contains("JSON (signed)"), "{shown}");
    for (step, done) in [("pause", "paused"), ("resume", "resumed")] {
        let answer = browser.submit(&page, &format!("{page}/{step}"), &[]).await;
        leads_to(&answer, &format!("{page}?done={done}"));
        assert_eq!(browser.page(LIST).await.contains(">paused<"), step == "pause");
    }
    let rotated = browser.submit(&page, &format!("{page}/rotate"), &[]).await;
    assert!(
        rotated.text.contains(">whsec_") && rotated.text.contains("The previous secret also signs")
    );

    let delete = format!("{page}/delete");
    assert!(browser.page(&delete).await.contains("Events are no longer sent to"));
    let gone = browser.submit(&delete, &delete, &[]).await;
    leads_to(&gone, &format!("{LIST}?done=deleted"));
    assert_eq!(browser.get(&page).await.status, 404);
}

#[tokio::test]
async fn deliveries_are_listed_and_can_be_repeated() {
    let (app, site) = app().await;
    let (ann, pixel) = app.shop().await;
    site.answer("hooks.example/assent", Reply::page("thanks"));
    let mut browser = app.browser_of(&ann.key).await;
    let page = add(&mut browser, &[]).await;
    app.store_people(&ann.key, &pixel, 1..3).await.expect(200);
    let sent = async |count: usize| {
        let found = async || site.seen().len() >= count;
        wait_until("deliveries", found).await;
    };
    sent(2).await;
    let path = format!("/v1{}/deliveries", page.replace(LIST, "/webhooks"));
    let settled = async || {
        let list = app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
        list["waiting"] == 0
    };
    wait_until("nothing waits", &settled).await;
    let shown = browser.page(&page).await;
    assert_eq!(shown.matches("<code>contact.created</code><br>").count(), 2, "{shown}");
    let (_, rest) = shown.split_once(&format!("{page}/replay/")).expect("one to send again");
    let one = format!("{page}/replay/{}", rest.split('"').next().unwrap());
    leads_to(&browser.submit(&page, &one, &[]).await, &format!("{page}?done=replayed"));
    sent(3).await;
    let all = format!("{page}/replay");
    let wrong = browser.submit(&page, &all, &[("since", "soon")]).await;
    assert!(wrong.text.contains("Enter the day and time to start from."), "{}", wrong.text);
    let since = [("since", "2026-03-10T00:00")];
    leads_to(&browser.submit(&page, &all, &since).await, &format!("{page}?done=replayed"));
    sent(5).await;
    wait_until("nothing waits", &settled).await;

    // One of both has failed.
    sqlx::query(
        "UPDATE webhook_deliveries SET delivered_at = NULL, status = 500 WHERE event_id = (
             SELECT event_id FROM webhook_deliveries ORDER BY seq LIMIT 1)",
    )
    .execute(&app.pool)
    .await
    .unwrap();
    let failed = browser.page(&format!("{page}?state=failed&type=contact.created")).await;
    assert_eq!(failed.matches("<tr id=\"event-").count(), 1, "{failed}");
    assert!(failed.contains("Resend failed (1)"), "{failed}");
    let (_, rest) = failed.split_once("payload=").expect("a payload");
    let event = rest.split('#').next().unwrap();
    let opened = browser.page(&format!("{page}?state=failed&payload={event}")).await;
    assert!(opened.contains("&quot;type&quot;: &quot;contact.created&quot;"), "{opened}");
    let none = browser.page(&format!("{page}?state=waiting")).await;
    assert!(none.contains("No deliveries match this filter."), "{none}");
    let again = format!("{page}/replay-failed");
    leads_to(&browser.submit(&page, &again, &[]).await, &format!("{page}?done=replayed"));
    sent(6).await;
    wait_until("nothing waits", &settled).await;
    leads_to(&browser.submit(&page, &again, &[]).await, &format!("{page}?done=none-failed"));
}

#[tokio::test]
async fn endpoints_of_other_accounts_are_not_listed() {
    let (app, _site) = app().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let page = add(&mut browser, &[]).await;
    let mut other = app.browser_of(&bob.key).await;
    assert!(!other.page(LIST).await.contains("hooks.example/assent"));
    for path in [page.clone(), format!("{page}/delete")] {
        assert_eq!(other.get(&path).await.status, 404, "{path}");
    }
    let steps =
        ["", "/test", "/pause", "/resume", "/rotate", "/delete", "/replay", "/replay-failed"];
    for step in steps {
        let fields = [("url", URL), ("host", "hooks.example"), ("since", "2026-03-10T00:00")];
        let answer = other.submit(LIST, &format!("{page}{step}"), &fields).await;
        assert_eq!(answer.status, 404, "{step}: {}", answer.text);
    }
    assert_eq!(browser.get(&page).await.status, 200);
}
