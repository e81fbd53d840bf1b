//! Accounts whose trial or subscription has ended: the banner, the list of sites, and subscribing again.

use chrono::Duration;

use crate::support::console::Browser;
use crate::support::setup::{create_host, set_plan};
use crate::support::shop::Shop;
use crate::support::{Account, App, fresh_address};

const SUBSCRIBE: &str = "action=\"/console/account/subscribe\"";

async fn addresses(shop: &Shop, ann: &Account) -> Vec<String> {
    let pixel = create_host(&shop.app, &ann.key, "shop.example").await.expect(201);
    let site = format!("/console/sites/{}", pixel["pixel_id"].as_str().unwrap());
    let of_site = [
        "overview", "choices", "popup", "contacts", "requests", "install", "test", "watch",
        "remove",
    ];
    let of_account = ["", "/members", "/events", "/deliveries", "/mails", "/suppressed", "/leave"];
    let site = of_site.map(|screen| format!("{site}/{screen}"));
    let account = of_account.map(|screen| format!("/console/account{screen}"));
    let rest = ["/console", "/console/sites/new", "/console/accounts"].map(str::to_owned);
    [site.to_vec(), account.to_vec(), rest.to_vec()].concat()
}

#[tokio::test]
async fn every_screen_of_a_lapsed_account_says_so_and_lets_the_owner_subscribe() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let addresses = addresses(&shop, &ann).await;
    let mut browser = shop.app.browser_of(&ann.key).await;
    for address in &addresses {
        let page = browser.page(address).await;
        assert!(!page.contains("Identification is paused"), "{address}: {page}");
    }
    shop.app.clock.advance(Duration::days(29));
    let mut browser = shop.app.browser_of(&ann.key).await;
    shop.app.clock.advance(Duration::days(1));
    for address in &addresses {
        let page = browser.page(address).await;
        assert!(page.contains("Identification is paused"), "{address}: {page}");
        assert!(page.contains("the trial ended on 9 April 2026"), "{address}: {page}");
        assert_eq!(page.matches(SUBSCRIBE).count(), 1, "{address}: {page}");
    }
    let sites = browser.page("/console").await;
    assert!(sites.contains("<span class=\"state late\">Identification paused</span>"), "{sites}");
    let opened = browser.submit("/console/account/mails", "/console/account/subscribe", &[]).await;
    assert_eq!(opened.status, 200, "{}", opened.text);
    assert!(opened.text.contains("Pay there"), "{}", opened.text);
}

#[tokio::test]
async fn a_subscription_that_has_ended_can_be_started_anew() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let mut browser = shop.app.browser_of(&ann.key).await;
    let page = browser.page("/console/account").await;
    assert!(page.contains("Paid until") && !page.contains(SUBSCRIBE), "{page}");
    shop.provider.cancel(&bought.subscription);
    shop.report("customer.subscription.deleted", &bought.subscription).await;
    shop.alter(&ann, "paid_until = trial_ends_at").await;
    shop.app.clock.advance(Duration::days(40));
    let mut browser = shop.app.browser_of(&ann.key).await;
    let page = browser.page("/console/account").await;
    assert!(page.contains("The subscription ended on 9 April 2026."), "{page}");
    assert!(!page.contains("Paid until"), "{page}");
    assert_eq!(page.matches(SUBSCRIBE).count(), 1, "{page}");
    let opened = browser.submit("/console", "/console/account/subscribe", &[]).await;
    assert!(opened.status == 200 && opened.text.contains("Pay there"), "{}", opened.text);
}

#[tokio::test]
async fn where_a_subscription_still_runs_unpaid_its_own_page_opens() {
    let shop = Shop::open().await;
    let (ann, _bought) = shop.subscriber("ann@example.com").await;
    shop.alter(&ann, "paid_until = trial_ends_at").await;
    shop.app.clock.advance(Duration::days(40));
    let mut browser = shop.app.browser_of(&ann.key).await;
    let opened = browser.submit("/console", "/console/account/subscribe", &[]).await;
    assert_eq!(opened.status, 200, "{}", opened.text);
    assert!(opened.text.contains("See invoices"), "{}", opened.text);
}

#[tokio::test]
async fn who_cannot_subscribe_sees_no_button_and_another_account_no_banner() {
    let app = App::spawn_with_mail().await;
    let [ann, ben] = ["ann", "ben"].map(fresh_address);
    let ann = app.mailed_account(&ann).await;
    let ben = app.mailed_account(&ben).await;
    set_plan(&app, &ben.account_id, "unlimited").await;
    let reader = fresh_address("reader");
    sqlx::query(
        "INSERT INTO members (member_id, account_id, email, role, created_at)
         VALUES (gen_random_uuid(), $1, $2, 'read', now())",
    )
    .bind(&ann.account_id)
    .bind(&reader)
    .execute(&app.pool)
    .await
    .unwrap();
    app.clock.advance(Duration::days(31));
    for (email, says) in [
        (&reader, Some("A member with the role Admin can subscribe.")),
        (&ann.email, Some("write to the operator of this service")),
        (&ben.email, None),
    ] {
        let mut browser = Browser::new(&app);
        browser.sign_in(email).await;
        let page = browser.page("/console").await;
        assert_eq!(page.contains("Identification is paused"), says.is_some(), "{page}");
        assert!(says.is_none_or(|says| page.contains(says)), "{page}");
        assert!(!page.contains(SUBSCRIBE), "{page}");
    }
}
