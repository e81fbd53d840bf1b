//! The list of sites in the console, and adding one.

use chrono::Duration;
use reqwest::Method;
use serde_json::json;

use crate::support::App;
use crate::support::console::{Browser, leads_to};
use crate::support::setup::set_install_status;

#[tokio::test]
async fn a_new_account_sees_three_steps_and_then_its_site() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    let page = browser.page("/console").await;
    assert!(page.contains("Get started"), "{page}");
    assert!(page.contains("0 of 500 new contacts this month, 0 of 3 sites"), "{page}");
    let added =
        browser.submit("/console/sites/new", "/console/sites", &[("domain", "Shop.Example.")]);
    assert_eq!(added.await.status, 303);
    let page = browser.page("/console").await;
    assert!(page.contains("shop.example") && page.contains("Not verified"), "{page}");
    assert!(page.contains("1 of 3 sites"), "{page}");
}

#[tokio::test]
async fn a_site_is_shown_with_its_install_its_popup_and_its_answers() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    for visitor in ["a", "b"] {
        app.recorded(&site.acceptance(visitor)).await;
    }
    app.recorded(&site.refusal("c", "declined")).await;
    set_install_status(&app, &site.pixel_id, "installed").await;
    let mut browser = Browser::new(&app);
    leads_to(&browser.post("/console/sign-in/key", &[("api_key", &ann.key)]).await, "/console");
    app.store_people(&ann.key, &site.pixel_id, 0..4).await.expect(200);
    let page = browser.page("/console").await;
    assert!(page.contains("/contacts\">4</a>"), "{page}");
    assert!(page.contains("<strong>67%</strong>") && page.contains("of 3"), "{page}");
    assert!(page.contains("Responses by day: 3 at most, 3 today."), "{page}");
    assert!(page.contains(">Live<") && !page.contains("Get started"), "{page}");
}

#[tokio::test]
async fn a_site_made_here_stores_only_who_consents_and_one_made_by_a_program_stores_all() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let by_program = app.pixel(&ann.key, "program.example").await;
    let mut browser = Browser::new(&app);
    leads_to(&browser.post("/console/sign-in/key", &[("api_key", &ann.key)]).await, "/console");
    let fields = [("domain", "person.example")];
    let made = browser.submit("/console/sites/new", "/console/sites", &fields).await;
    let by_person = made.header("location").unwrap().split('/').nth(3).unwrap().to_owned();
    // Nobody has seen the form of the popup yet.
    for (pixel, need) in [(&by_program, false), (&by_person, true)] {
        let path = format!("/v1/pixels/{pixel}/consent/configuration");
        assert_eq!(app.read(&ann.key, &path).await.expect(200)["contacts_need_consent"], need);
        let stored = app.store_people(&ann.key, pixel, 0..1).await.expect(200);
        assert_eq!(stored["stored"], i32::from(!need), "{stored}");
        let form = browser.page(&format!("/console/sites/{pixel}/popup")).await;
        let tick = form.split("name=\"contacts_need_consent\"").nth(1).unwrap();
        let tick = tick.split('>').next().unwrap();
        assert_eq!(tick.contains("checked"), need, "{tick}");
    }
    // Asking for it again by program changes nothing.
    let body = json!({"domain": "person.example"});
    app.call(Method::POST, "/v1/pixels", &ann.key, body).await.expect(201);
    let path = format!("/v1/pixels/{by_person}/consent/configuration");
    assert_eq!(app.read(&ann.key, &path).await.expect(200)["contacts_need_consent"], true);
}

#[tokio::test]
async fn an_invalid_host_is_explained_in_the_form() {
    let app = App::spawn().await;
    let other = app.account("other@example.com").await;
    app.pixel(&other.key, "taken.example").await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    for (domain, status, sentence) in [
        ("", 400, "Enter the domain of your site"),
        ("ftp://shop.example/page", 400, "This is not the address of a site"),
        ("https://", 400, "This is not the host of a site"),
        ("<b>shop", 400, "This is not the host of a site"),
        ("taken.example", 409, "is already in another account"),
    ] {
        let fields = [("domain", domain)];
        let again = browser.submit("/console/sites/new", "/console/sites", &fields).await;
        assert_eq!(again.status, status, "{domain}: {}", again.text);
        assert!(again.text.contains(sentence), "{}", again.text);
        assert!(again.text.contains("aria-invalid=\"true\"") && !again.text.contains("<b>"));
    }
}

#[tokio::test]
async fn the_host_is_taken_out_of_an_address_and_it_is_said_which() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    for (typed, host) in [
        ("https://www.shop.example/path?a=b#c", "shop.example"),
        ("www.other.example/", "other.example"),
        ("third.example", "third.example"),
    ] {
        let fields = [("domain", typed)];
        let added = browser.submit("/console/sites/new", "/console/sites", &fields).await;
        assert_eq!(added.status, 303, "{typed}: {}", added.text);
        let page = browser.page(added.header("location").unwrap()).await;
        let is_shown =
            page.contains(&format!("Your site is {host}: the domain of what you typed."));
        assert_eq!(is_shown, typed != host, "{page}");
        assert!(page.contains(&format!("<bdi>{host}</bdi>")), "{page}");
    }
}

#[tokio::test]
async fn visits_of_late_show_that_the_tag_works_wherever_it_lies() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let install = format!("/console/sites/{}/install", site.pixel_id);
    assert!(browser.page("/console").await.contains("Get started"));
    app.post("/v1/consent/shown", site.refusal("a", "declined")).await.expect(204);
    for path in ["/console", &install] {
        let page = browser.page(path).await;
        assert!(page.contains("Works: last shown today"), "{path}: {page}");
        assert!(!page.contains("Get started"), "{page}");
    }
    app.recorded(&site.acceptance("a")).await;
    // As a look at a page finds it whose tag comes from a tag manager.
    set_install_status(&app, &site.pixel_id, "not_installed").await;
    for (day, words) in [(0, "Works: last response today"), (1, "Works: last response yesterday")] {
        for path in ["/console", &install] {
            let page = browser.page(path).await;
            assert!(page.contains(words), "day {day}, {path}: {page}");
        }
        app.clock.advance(Duration::days(1));
    }
    for path in ["/console", &install] {
        assert!(!browser.page(path).await.contains("Works:"), "{path}");
    }
}

#[tokio::test]
async fn nobody_sees_the_sites_of_others() {
    let app = App::spawn().await;
    let other = app.account("other@example.com").await;
    app.pixel(&other.key, "other.example").await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    assert!(!browser.page("/console").await.contains("other.example"));
}

#[tokio::test]
async fn many_sites_come_in_pages() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    for number in 0..21 {
        let body = json!({"domain": format!("site{number:02}.example")});
        app.call(Method::POST, "/v1/pixels", &operator.key, body).await.expect(201);
        app.clock.advance(Duration::seconds(1));
    }
    let mut browser = Browser::new(&app);
    let signed_in = browser.post("/console/sign-in/key", &[("api_key", &operator.key)]).await;
    leads_to(&signed_in, "/console");
    let first = browser.page("/console").await;
    assert!(first.contains("site19.example") && !first.contains("site20.example"));
    assert!(first.contains("href=\"/console?page=2\""), "{first}");
    let second = browser.page("/console?page=2").await;
    assert!(second.contains("site20.example") && !second.contains("site19.example"));
    assert!(second.contains("href=\"/console?page=1\"") && second.contains("Without limits"));
    let found = browser.page("/console?search=SITE1").await;
    assert!(found.contains("site10.example") && !found.contains("site20.example"), "{found}");
    let newest = browser.page("/console?sort=newest").await;
    assert!(newest.contains("site20.example") && !newest.contains("site00.example"), "{newest}");
    assert!(newest.contains("href=\"/console?sort=newest&amp;page=2\""), "{newest}");
    assert!(browser.page("/console?search=nothing").await.contains("No sites match"));
    for odd in ["0", "-1", "x", "99999999999999999999999", "3"] {
        browser.page(&format!("/console?page={odd}")).await;
    }
}

#[tokio::test]
async fn at_the_fourth_site_another_account_is_offered_with_its_price() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for name in ["one", "two", "three"] {
        app.pixel(&ann.key, &format!("{name}.example")).await;
    }
    let mut browser = Browser::new(&app);
    leads_to(&browser.post("/console/sign-in/key", &[("api_key", &ann.key)]).await, "/console");
    let fields = [("domain", "four.example")];
    let refused = browser.submit("/console/sites/new", "/console/sites", &fields).await;
    assert_eq!(refused.status, 403);
    let price = "One more needs another account: 1 USD a month after a 30-day trial.";
    for words in ["Remove one that you do not use", price] {
        assert!(refused.text.contains(words), "{words}: {}", refused.text);
    }
    let link = "/console/sign-up?another=yes&amp;domain=four.example";
    assert!(refused.text.contains(link), "{}", refused.text);
    let form = browser.page(&link.replace("&amp;", "&")).await;
    assert!(form.contains("name=\"email\"") && form.contains("four.example"), "{form}");
}

#[tokio::test]
async fn a_webhook_that_fails_stands_above_the_sites_and_a_paused_one_does_not() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    app.pixel(&ann.key, "one.example").await;
    for host in ["failing.example", "resting.example"] {
        let new = json!({"url": format!("https://{host}/hook")});
        app.call(Method::POST, "/v1/webhooks", &ann.key, new).await.expect(201);
    }
    let mut browser = Browser::new(&app);
    leads_to(&browser.post("/console/sign-in/key", &[("api_key", &ann.key)]).await, "/console");
    assert!(!browser.page("/console").await.contains("The webhook to"));
    for statement in [
        "UPDATE webhook_endpoints SET failing_since = now() WHERE url LIKE '%failing%'",
        "UPDATE webhook_endpoints SET paused_at = now(), paused_because = 'owner' WHERE url LIKE '%resting%'",
    ] {
        sqlx::query(statement).execute(&app.pool).await.unwrap();
    }
    let page = browser.page("/console").await;
    assert!(page.contains("failing.example") && !page.contains("resting.example"), "{page}");
}
