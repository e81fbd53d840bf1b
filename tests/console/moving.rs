//! Moving a site to another domain in the console.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::setup::{set_install_status, shown};
use crate::support::{App, fresh_address};

#[tokio::test]
async fn a_move_is_reviewed_made_and_ended() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    set_install_status(&app, &site.pixel_id, "installed").await;
    let mut browser = app.browser_of(&ann.key).await;
    let install = format!("/console/sites/{}/install", site.pixel_id);
    let address = format!("/console/sites/{}/move", site.pixel_id);
    assert!(browser.page(&install).await.contains(&format!("href=\"{address}\"")));
    let typed = [("domain", "https://www.new.example/start"), ("step", "review")];
    let review = browser.submit(&address, &address, &typed).await;
    assert_eq!(review.status, 200, "{}", review.text);
    for part in
        ["<bdi>new.example</bdi>", "snippet stays the same", "Until 9 April 2026", "Not verified"]
    {
        assert!(review.text.contains(part), "{part}: {}", review.text);
    }
    assert_eq!(shown(&app, &ann.key, &site.pixel_id).await["domain"], "shop.example");
    let fields = [("domain", "new.example"), ("step", "move")];
    let moved = browser.submit(&address, &address, &fields).await;
    leads_to(&moved, &format!("{install}?done=moved"));
    let page = browser.page(&format!("{install}?done=moved")).await;
    for part in ["The site has moved", "<bdi>shop.example</bdi>", "Not verified"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let events = browser.page("/console/account/events").await;
    assert!(events.contains("Moved a site to another domain:"), "{events}");

    let end = format!("{address}/end");
    let wrong = browser.submit(&address, &end, &[("host", "new.example")]).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("Type shop.example"), "{}", wrong.text);
    let ended = browser.submit(&address, &end, &[("host", "Shop.example")]).await;
    leads_to(&ended, &format!("{address}?done=ended"));
    assert_eq!(shown(&app, &ann.key, &site.pixel_id).await["domain"], "new.example");
    browser.submit(&address, &address, &[("domain", "third.example"), ("step", "move")]).await;
    let cancelled = browser.submit(&address, &format!("{address}/cancel"), &[]).await;
    leads_to(&cancelled, &format!("{address}?done=cancelled"));
    assert_eq!(shown(&app, &ann.key, &site.pixel_id).await["domain"], "new.example");
}

#[tokio::test]
async fn a_domain_that_cannot_be_had_is_explained_beside_the_field() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let site = app.consent_site(&ann.key, "shop.example").await;
    app.pixel(&eve.key, "taken.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/move", site.pixel_id);
    for (domain, step, status, sentence) in [
        ("", "review", 400, "Enter the domain of your site"),
        ("shop", "review", 400, "This is not the host of a site"),
        ("www.shop.example", "review", 409, "The site is already in your account"),
        ("taken.example", "move", 409, "Claim this domain"),
    ] {
        let fields = [("domain", domain), ("step", step)];
        let again = browser.submit(&address, &address, &fields).await;
        assert_eq!(again.status, status, "{domain}: {}", again.text);
        assert!(again.text.contains(sentence), "{domain}: {}", again.text);
        assert!(again.text.contains(&format!("value=\"{domain}\"")), "{}", again.text);
    }
    let mut other = app.browser_of(&eve.key).await;
    assert_eq!(other.get(&address).await.status, 404);
    let fields = [("domain", "new.example"), ("step", "move")];
    assert_eq!(other.submit("/console", &address, &fields).await.status, 404);
    assert_eq!(shown(&app, &ann.key, &site.pixel_id).await["domain"], "shop.example");
}

#[tokio::test]
async fn members_with_a_lesser_role_see_the_move_and_no_form() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let address = format!("/console/sites/{}/move", site.pixel_id);
    let path = format!("/v1/pixels/{}/move", site.pixel_id);
    app.call(Method::POST, &path, &ann.key, json!({"domain": "new.example"})).await.expect(201);
    for role in ["read", "operate"] {
        let email = fresh_address(role);
        app.member_of(&ann, &email, role).await;
        let mut browser = Browser::new(&app);
        browser.sign_in(&email).await;
        let page = browser.page(&address).await;
        assert!(page.contains("Until 9 April 2026"), "{role}: {page}");
        assert!(!page.contains(&format!("action=\"{address}")), "{role}: {page}");
        for form in ["/end", "/cancel"] {
            let fields = [("host", "shop.example")];
            let sent = browser.submit(&address, &format!("{address}{form}"), &fields).await;
            assert_eq!(sent.status, 403, "{role}: {}", sent.text);
        }
    }
    app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
}
