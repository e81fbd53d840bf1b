//! Order, repetition and loss of events make no difference.

use chrono::{Duration, Months};
use futures_util::future::join_all;
use serde_json::Value;

use crate::support::shop::{COMPLETED, DELETED, PAID, Standing, received};
use crate::support::stripe::Bought;
use crate::support::{Account, Shop};

/// The ways in which the service learns of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BillingEvent {
    SuccessPage,
    Completed,
    FirstInvoice,
    Renewal,
    Deleted,
}

/// Every way to hear some of the events, each at most once, in every order; never none.
fn every_order(events: &[BillingEvent]) -> Vec<Vec<BillingEvent>> {
    let mut orders = Vec::new();
    let mut begun = vec![Vec::new()];
    while let Some(order) = begun.pop() {
        for &next in events.iter().filter(|next| !order.contains(*next)) {
            begun.push([order.as_slice(), &[next]].concat());
        }
        orders.push(order);
    }
    orders.retain(|order| !order.is_empty());
    orders
}

/// An account that has paid once and been renewed, before the service learns of it.
struct Case {
    account: Account,
    bought: Bought,
    completed: Value,
    first_invoice: Value,
    renewal: Value,
    deleted: Value,
}

impl Case {
    async fn new(shop: &Shop, number: usize, cancel: bool) -> Self {
        let account = shop.app.account(&format!("ann{number}@example.com")).await;
        let bought = shop.buy(&account).await;
        let completed = shop.provider.event(COMPLETED, &bought.session);
        let first_invoice = shop.provider.event(PAID, &bought.invoice);
        let invoice = shop.provider.renew(&bought.subscription);
        shop.provider.pay_invoice(&invoice);
        let renewal = shop.provider.event(PAID, &invoice);
        if cancel {
            shop.provider.cancel(&bought.subscription);
        }
        let deleted = shop.provider.event(DELETED, &bought.subscription);
        Self { account, bought, completed, first_invoice, renewal, deleted }
    }

    async fn deliver(&self, shop: &Shop, event: BillingEvent) {
        let body = match event {
            BillingEvent::SuccessPage => {
                assert_eq!(shop.complete_checkout(&self.bought.session).await.status, 200);
                return;
            }
            BillingEvent::Completed => &self.completed,
            BillingEvent::FirstInvoice => &self.first_invoice,
            BillingEvent::Renewal => &self.renewal,
            BillingEvent::Deleted => &self.deleted,
        };
        received(&shop.deliver(body).await);
    }
}

#[tokio::test]
async fn lost_repeated_and_reordered_events_lead_to_the_same_account() {
    let shop = Shop::open().await;
    let end = Standing::paid_until(shop.now() + Months::new(2));
    let events = [
        BillingEvent::SuccessPage,
        BillingEvent::Completed,
        BillingEvent::FirstInvoice,
        BillingEvent::Renewal,
    ];
    for (number, order) in every_order(&events).into_iter().enumerate() {
        let case = Case::new(&shop, number, false).await;
        for &event in &order {
            case.deliver(&shop, event).await;
            if number % 2 == 0 {
                case.deliver(&shop, event).await;
            }
        }
        assert_eq!(shop.standing(&case.account).await, end, "{order:?}");
        shop.checkout(&case.account).await.refused(409, "already subscribed");
    }
}

#[tokio::test]
async fn the_end_of_the_subscription_may_be_heard_at_any_time() {
    let shop = Shop::open().await;
    let end = Standing::paid_until(shop.now() + Months::new(2));
    let events = [
        BillingEvent::SuccessPage,
        BillingEvent::Completed,
        BillingEvent::Renewal,
        BillingEvent::Deleted,
    ];
    let orders = every_order(&events).into_iter().filter(|order| *order != [BillingEvent::Deleted]);
    for (number, order) in orders.enumerate() {
        let case = Case::new(&shop, number, true).await;
        for &event in &order {
            case.deliver(&shop, event).await;
        }
        assert_eq!(shop.standing(&case.account).await, end, "{order:?}");
        let again = shop.session(&case.account).await;
        assert_ne!(again, case.bought.session, "{order:?}");
    }
}

#[tokio::test]
async fn all_events_at_the_same_moment_end_the_same() {
    let shop = Shop::open().await;
    let end = Standing::paid_until(shop.now() + Months::new(2));
    for number in 0..4 {
        let case = Case::new(&shop, number, false).await;
        let events = [
            BillingEvent::SuccessPage,
            BillingEvent::Completed,
            BillingEvent::FirstInvoice,
            BillingEvent::Renewal,
        ];
        let all = (0..24).map(|turn| case.deliver(&shop, events[(turn + number) % events.len()]));
        join_all(all).await;
        assert_eq!(shop.standing(&case.account).await, end);
        let rows: i64 =
            sqlx::query_scalar("SELECT count(*) FROM subscriptions WHERE account_id = $1")
                .bind(&case.account.account_id)
                .fetch_one(&shop.app.pool)
                .await
                .unwrap();
        assert_eq!(rows, 1);
    }
}

#[tokio::test]
async fn an_event_delivered_60_days_late_pays_only_for_its_own_month() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let completed = shop.provider.event(COMPLETED, &bought.session);
    let end = shop.now() + Months::new(1);
    shop.app.clock.advance(Duration::days(60));
    received(&shop.deliver(&completed).await);
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
}
