//! Testing a site on a developer's own machine, in the console.

use assent::web::console;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::console::{Browser, leads_to};
use crate::support::story::Site;
use crate::support::{App, fresh_address};

fn address_of(site: &Site) -> String {
    format!("/console/sites/{}/test", site.pixel_id)
}

/// Chooses under the site's test id, on a page of the developer's machine.
async fn choose_on_localhost(app: &App, site: &Site) -> Value {
    let mut choice = site.acceptance("visitor-1");
    choice["pixel_id"] = format!("test_{}", site.pixel_id).into();
    // Servers of tests have higher ports, which do not begin with this one.
    choice["url"] = "http://localhost:3000/".into();
    app.recorded(&choice).await
}

#[tokio::test]
async fn a_tab_after_install_shows_the_test_snippet_and_the_latest_test_choices() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = address_of(&site);
    let page = browser.page(&address).await;
    let install = format!("/console/sites/{}/install", site.pixel_id);
    let tab = format!("<a href=\"{address}\" aria-current=\"page\">Test</a>");
    let [before, here] = [&*install, &*tab].map(|text| page.find(text));
    assert!(before.is_some() && before < here, "{page}");
    assert!(page.contains(&format!("px&#x2F;test_{}.js", site.pixel_id)), "{page}");
    assert!(page.contains("No test choices yet. Put the test snippet on a page"), "{page}");
    assert!(!page.contains("The popup is off"), "{page}");
    choose_on_localhost(&app, &site).await;
    let page = browser.page(&address).await;
    for fact in ["10 March 2026, 12:00:00", "http:&#x2F;&#x2F;localhost:3000", "Accepted"] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    assert!(!page.contains("No test choices yet"), "{page}");
    let choices = browser.page(&format!("/console/sites/{}/choices", site.pixel_id)).await;
    assert!(choices.contains("No choices yet"), "{choices}");
    // Install only leads there.
    let page = browser.page(&install).await;
    let link = format!("Try it on your own machine first: <a href=\"{address}\">Test</a>");
    assert!(page.contains(&link), "{page}");
    assert!(!page.contains("test_hosts") && !page.contains("localhost:3000"), "{page}");
}

#[tokio::test]
async fn no_other_screen_of_the_site_shows_a_test_choice() {
    let (app, ann, site) = app_with_site().await;
    let tested = choose_on_localhost(&app, &site).await;
    let receipt_id = tested["receipt_id"].as_str().unwrap();
    let mut browser = app.browser_of(&ann.key).await;
    let shows = |text: &str| text.contains("localhost:3000") || text.contains("visitor-1");
    assert!(shows(&browser.page(&address_of(&site)).await));
    let mut opened = 0;
    for route in console::routes() {
        let path = route.uri.path();
        let is_read = route.method == rocket::http::Method::Get;
        if !is_read || !path.starts_with("/console/sites/<pixel_id>/") || path.ends_with("/test") {
            continue;
        }
        let address =
            path.replace("<pixel_id>", &site.pixel_id).replace("<receipt_id>", receipt_id);
        let answer = browser.get(&address).await;
        assert!(!shows(&answer.text), "{address}: {}", answer.text);
        if path.contains("<receipt_id>") {
            assert_eq!(answer.status, 404, "{address}");
        }
        opened += 1;
    }
    assert!(opened > 15, "{opened} screens");
}

#[tokio::test]
async fn test_hosts_are_saved_or_refused_beside_their_field() {
    let (app, ann, site) = app_with_site().await;
    let eve = app.account("eve@example.com").await;
    app.consent_site(&eve.key, "eve.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = address_of(&site);
    // Blank lines do not count; what is refused stays in the form.
    let typed = "staging.shop.dev\r\n\r\n preview.example \r\n";
    let saved = browser.submit(&address, &address, &[("test_hosts", typed)]).await;
    leads_to(&saved, &format!("{address}?done=saved"));
    let page = browser.page(&format!("{address}?done=saved")).await;
    assert!(page.contains("The test hosts have been saved."), "{page}");
    assert!(page.contains(">preview.example\nstaging.shop.dev</textarea>"), "{page}");
    for (typed, sentence) in [
        ("not a host", "Must be a host, such as staging.shop.example."),
        ("eve.example", "Must not be a host of another account&#x27;s pixel: eve.example."),
    ] {
        let refused = browser.submit(&address, &address, &[("test_hosts", typed)]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text.contains(sentence), "{}", refused.text);
        assert!(refused.text.contains(&format!(">{typed}</textarea>")), "{}", refused.text);
    }
    let configuration = site.path("/configuration");
    let now = app.read(&ann.key, &configuration).await.expect(200);
    assert_eq!(now["test_hosts"], json!(["preview.example", "staging.shop.dev"]));
    // The screen of the popup does not have them, and keeps them.
    let popup = format!("/console/sites/{}/popup", site.pixel_id);
    let fields = [
        ("controller_name", "Other Ltd"),
        ("purpose_analytics", "on"),
        ("incomplete", "on"),
        ("step", "publish"),
    ];
    browser.submit(&popup, &popup, &fields).await;
    let now = app.read(&ann.key, &configuration).await.expect(200);
    assert_eq!(now["test_hosts"].as_array().unwrap().len(), 2);
    assert_eq!(now["versions"].as_array().unwrap().len(), 2, "it was published");
    let emptied = browser.submit(&address, &address, &[("test_hosts", "")]).await;
    leads_to(&emptied, &format!("{address}?done=saved"));
    let now = app.read(&ann.key, &configuration).await.expect(200);
    assert_eq!(now["test_hosts"], json!([]));
}

#[tokio::test]
async fn the_test_screen_of_anothers_site_is_not_there() {
    let (app, ann, site) = app_with_site().await;
    choose_on_localhost(&app, &site).await;
    let eve = app.account("eve@example.com").await;
    let own = app.consent_site(&eve.key, "eve.example").await;
    let mut browser = app.browser_of(&eve.key).await;
    let own_page = address_of(&own);
    assert!(!browser.page(&own_page).await.contains("localhost:3000"));
    let fields = [("test_hosts", "x.example")];
    for foreign in [address_of(&site), "/console/sites/unknown/test".to_owned()] {
        let refused = browser.get(&foreign).await;
        assert_eq!(refused.status, 404, "{foreign}");
        assert!(!refused.text.contains("localhost:3000"), "{}", refused.text);
        assert_eq!(browser.submit(&own_page, &foreign, &fields).await.status, 404, "{foreign}");
    }
    let now = app.read(&ann.key, &site.path("/configuration")).await.expect(200);
    assert_eq!(now["test_hosts"], json!([]));
}

#[tokio::test]
async fn a_read_only_member_sees_hosts_and_choices_and_no_form() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let settings = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"],
                          "test_hosts": ["preview.example", "staging.shop.dev"]});
    app.call(Method::POST, &site.path(""), &ann.key, settings).await.expect(200);
    choose_on_localhost(&app, &site).await;
    let address = address_of(&site);
    for (role, has_form) in [("read", false), ("operate", true)] {
        let email = fresh_address(role);
        sqlx::query(
            "INSERT INTO members (member_id, account_id, email, role, created_at)
             VALUES (gen_random_uuid(), $1, $2, $3, now())",
        )
        .bind(&ann.account_id)
        .bind(&email)
        .bind(role)
        .execute(&app.pool)
        .await
        .unwrap();
        let mut browser = Browser::new(&app);
        browser.sign_in(&email).await;
        let page = browser.page(&address).await;
        assert!(page.contains("localhost:3000"), "{role}: {page}");
        let form = format!("action=\"{address}\"");
        assert_eq!(page.contains(&form), has_form, "{role}: {page}");
        assert_eq!(page.contains("preview.example, staging.shop.dev"), !has_form, "{role}: {page}");
        assert_eq!(page.contains("Read-only, does not include this"), !has_form, "{role}: {page}");
        let sent = browser.submit(&address, &address, &[("test_hosts", "not a host")]).await;
        assert_eq!(sent.status, if has_form { 400 } else { 403 }, "{role}: {}", sent.text);
    }
    let now = app.read(&ann.key, &site.path("/configuration")).await.expect(200);
    assert_eq!(now["test_hosts"].as_array().unwrap().len(), 2);
}
