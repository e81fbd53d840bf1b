//! Events of a subscription that runs: paid invoices, its end, money that takes its time.

use assent::types::ids::random_text;
use chrono::{Duration, Months};
use serde_json::{Value, json};

use crate::support::Shop;
use crate::support::shop::{COMPLETED, DELETED, PAID, Standing, received};

#[tokio::test]
async fn a_paid_invoice_moves_the_end_of_the_period_on() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let (bob, _) = shop.subscriber("bob@example.com").await;
    let first_end = shop.now() + Months::new(1);
    shop.app.clock.set(first_end);
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.pay_invoice(&invoice);
    for _ in 0..3 {
        shop.report(PAID, &invoice).await;
        let end = first_end + Months::new(1);
        assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
    }
    assert_eq!(shop.standing(&bob).await, Standing::paid_until(first_end));
}

#[tokio::test]
async fn a_period_that_has_begun_but_is_not_paid_gives_nothing_away() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let first_end = shop.now() + Months::new(1);
    shop.app.clock.set(first_end);
    shop.provider.renew(&bought.subscription);
    // Old news again, and the old page reloaded, while the new invoice is open.
    shop.report(PAID, &bought.invoice).await;
    shop.report(COMPLETED, &bought.session).await;
    assert_eq!(shop.complete_checkout(&bought.session).await.status, 200);
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(first_end));
}

#[tokio::test]
async fn the_invoice_names_its_subscription_where_older_versions_have_it_too() {
    let shop = Shop::open().await;
    shop.provider.use_older_shape();
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.pay_invoice(&invoice);
    shop.report(PAID, &invoice).await;
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(shop.now() + Months::new(2)));
}

#[tokio::test]
async fn an_invoice_of_a_subscription_that_the_provider_has_forgotten_says_itself_what_was_paid() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.pay_invoice(&invoice);
    shop.provider.forget(&bought.subscription);
    shop.report(PAID, &invoice).await;
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(shop.now() + Months::new(2)));
}

#[tokio::test]
async fn invoices_of_other_products_are_ignored_without_asking_the_provider() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let requests = shop.provider.received().len();
    for parent in [
        Value::Null,
        json!({"type": "quote_details", "subscription_details": null}),
        json!({"subscription_details": {"subscription": "sub_other", "metadata": {}}}),
        json!({"subscription_details": {"subscription": "sub_other", "metadata": null}}),
    ] {
        shop.provider.change(&bought.invoice, "parent", parent);
        shop.report(PAID, &bought.invoice).await;
    }
    assert_eq!(shop.provider.received().len(), requests);
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn an_invoice_of_an_unknown_account_is_acknowledged() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let nobody = format!("acc_{}", random_text(20));
    let details = json!({"subscription": bought.subscription, "metadata": {"account_id": nobody}});
    shop.provider.change(&bought.invoice, "parent", json!({"subscription_details": details}));
    shop.report(PAID, &bought.invoice).await;
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn the_end_of_a_subscription_leaves_what_was_paid() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let before = shop.standing(&ann).await;
    shop.provider.cancel(&bought.subscription);
    for _ in 0..2 {
        shop.report(DELETED, &bought.subscription).await;
        assert_eq!(shop.standing(&ann).await, before);
    }
    shop.checkout(&ann).await.expect(200);
}

#[tokio::test]
async fn the_end_of_an_unknown_subscription_is_acknowledged() {
    let shop = Shop::open().await;
    let event =
        json!({"type": DELETED, "data": {"object": {"id": "sub_unknown", "status": "canceled"}}});
    received(&shop.deliver(&event).await);
}

#[tokio::test]
async fn slow_money_subscribes_the_account_when_it_arrives() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let session = shop.session(&ann).await;
    let bought = shop.provider.complete(&session, shop.now());
    shop.report(COMPLETED, &session).await;
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    let end = shop.now() + Months::new(1);
    shop.app.clock.advance(Duration::days(5));
    shop.provider.receive_money(&bought);
    shop.report(PAID, &bought.invoice).await;
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
}
