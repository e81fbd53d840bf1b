//! The payment provider's events: one test per row and per refusal, and the promise that order,
//! repetition and loss make no difference.

use assent::ids::random_text;
use chrono::{Duration, Months};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::shop::{Standing, WEBHOOK_SECRET, digest, signature};
use crate::support::stripe::{Bought, Fault};
use crate::support::{Account, Answer, App, Shop};

const COMPLETED: &str = "checkout.session.completed";
const PAID: &str = "invoice.paid";
const DELETED: &str = "customer.subscription.deleted";

fn received(answer: &Answer) {
    assert_eq!(answer.expect(200), json!({"received": true}));
}

#[tokio::test]
async fn a_completed_checkout_subscribes_its_account() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.report(COMPLETED, &bought.session).await;
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(shop.now() + Months::new(1)));
    assert_eq!(shop.standing(&bob).await, Standing::trial());
}

#[tokio::test]
async fn other_types_are_acknowledged_and_ignored() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let before = (shop.standing(&ann).await, shop.provider.received().len());
    for kind in [
        "checkout.session.expired",
        "customer.subscription.updated",
        "invoice.payment_failed",
        "charge.refunded",
        "a.type.of.the.future",
    ] {
        shop.report(kind, &bought.subscription).await;
    }
    let unknown = json!({"type": "ping", "data": {"object": [1, 2]}});
    received(&shop.deliver(&unknown).await);
    assert_eq!((shop.standing(&ann).await, shop.provider.received().len()), before);
}

// Signatures

#[tokio::test]
async fn the_signature_travels_in_either_header() {
    let shop = Shop::open().await;
    let body = json!({"type": "ping", "data": {"object": {}}}).to_string();
    let signature = signature(&body, WEBHOOK_SECRET, shop.now().timestamp());
    for header in ["Stripe-Signature", "payment-signature"] {
        received(&Answer::of(shop.unsigned_delivery(&body).header(header, &signature)).await);
    }
}

#[tokio::test]
async fn a_signature_made_by_the_providers_own_library_is_valid() {
    // stripe 23.1.0 for Node, webhooks.generateTestHeaderString, at the start of the tests' time.
    let body = r#"{"id":"evt_1","object":"event","type":"ping","data":{"object":{}}}"#;
    let header = "t=1773144000,v1=0c01d677edada7863bfbcafcbe525c73e28001eda811a6e85d4d350d01f84574";
    let shop = Shop::open_with(&[("STRIPE_WEBHOOK_SECRET", "whsec_known_vector")]).await;
    received(&Answer::of(shop.unsigned_delivery(body).header("Stripe-Signature", header)).await);
}

#[tokio::test]
async fn one_valid_signature_of_several_is_enough() {
    let shop = Shop::open().await;
    let body = json!({"type": "ping", "data": {"object": {}}}).to_string();
    let now = shop.now().timestamp();
    let (valid, other) = (digest(&body, WEBHOOK_SECRET, now), digest(&body, "whsec_old", now));
    for header in [
        format!("t={now},v1={valid},v1={other}"),
        format!("t={now},v1={other},v1={valid},v0={other}"),
    ] {
        let request = shop.unsigned_delivery(&body).header("Stripe-Signature", header);
        received(&Answer::of(request).await);
    }
}

#[tokio::test]
async fn a_delivery_without_a_valid_signature_changes_nothing() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let requests = shop.provider.received().len();
    let body = shop.provider.event(COMPLETED, &bought.session).to_string();
    let now = shop.now().timestamp();
    let valid = digest(&body, WEBHOOK_SECRET, now);
    let delivery = |header: &str| shop.unsigned_delivery(&body).header("Stripe-Signature", header);
    let mut requests_to_refuse = vec![
        shop.unsigned_delivery(&body),
        shop.unsigned_delivery(&body).header("payment-signature", "nonsense"),
        // Signed, but with another body: one blank more.
        shop.unsigned_delivery(&format!("{body} "))
            .header("Stripe-Signature", signature(&body, WEBHOOK_SECRET, now)),
    ];
    for header in [
        String::new(),
        "t,v1".to_owned(),
        format!("t={now}"),
        format!("v1={valid}"),
        format!("t={now},v1="),
        format!("t={now},v0={valid}"),
        format!("t={now},v1={}", &valid[..62]),
        format!("t={now},v1={valid}00"),
        format!("t={},v1={valid}", now + 1),
        format!("t=soon,v1={valid}"),
        signature(&body, "whsec_wrong", now),
        signature(&body, "", now),
    ] {
        requests_to_refuse.push(delivery(&header));
    }
    for request in requests_to_refuse {
        Answer::of(request).await.refused(400, "invalid signature");
    }
    assert_eq!(shop.provider.received().len(), requests);
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_signature_is_valid_for_300_seconds() {
    let shop = Shop::open().await;
    let body = json!({"type": "ping", "data": {"object": {}}}).to_string();
    let signature = signature(&body, WEBHOOK_SECRET, shop.now().timestamp());
    let delivery = || shop.unsigned_delivery(&body).header("Stripe-Signature", &signature);
    shop.app.clock.advance(Duration::seconds(300));
    received(&Answer::of(delivery()).await);
    shop.app.clock.advance(Duration::seconds(1));
    Answer::of(delivery()).await.refused(400, "invalid signature");
    shop.app.clock.advance(Duration::seconds(-602));
    Answer::of(delivery()).await.refused(400, "invalid signature");
    shop.app.clock.advance(Duration::seconds(1));
    received(&Answer::of(delivery()).await);
}

#[tokio::test]
async fn without_a_webhook_secret_no_signature_is_valid() {
    let app = App::spawn().await;
    let body = json!({"type": "ping", "data": {"object": {}}}).to_string();
    let header = signature(&body, "", app.clock.now().timestamp());
    let request = app.request(reqwest::Method::POST, "/v1/stripe/webhook");
    Answer::of(request.header("Stripe-Signature", header).body(body))
        .await
        .refused(400, "invalid signature");
}

#[tokio::test]
async fn a_signed_body_of_the_wrong_shape_is_422() {
    let shop = Shop::open().await;
    for (body, loc) in [
        ("", &["body"][..]),
        ("{", &["body"]),
        ("[]", &["body"]),
        ("\u{fffd}", &["body"]),
        ("{}", &["body"]),
        (r#"{"type":1,"data":{"object":{}}}"#, &["body", "type"]),
        (r#"{"type":"invoice.paid"}"#, &["body"]),
        (
            r#"{"type":"invoice.paid","data":{"object":{"subscription":7}}}"#,
            &["body", "data", "object", "subscription"],
        ),
        (
            r#"{"type":"checkout.session.completed","data":{"object":{"id":"a/b"}}}"#,
            &["body", "data", "object", "id"],
        ),
        (
            r#"{"type":"customer.subscription.deleted","data":{"object":{}}}"#,
            &["body", "data", "object"],
        ),
    ] {
        let answer = Answer::of(shop.delivery(body)).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.text);
        let found = answer.json()["detail"][0]["loc"].clone();
        assert_eq!(found, json!(loc), "{body}");
    }
}

#[tokio::test]
async fn a_delivery_that_is_too_large_is_413() {
    let shop = Shop::open().await;
    let body = json!({"type": "ping", "data": {"object": "x".repeat(2 << 20)}}).to_string();
    assert_eq!(Answer::of(shop.delivery(&body)).await.status, 413);
    let body = json!({"type": "ping", "data": {"object": "x".repeat(900 << 10)}}).to_string();
    received(&Answer::of(shop.delivery(&body)).await);
}

// Whose event it is

#[tokio::test]
async fn an_event_that_names_no_account_is_refused() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let nobody = format!("acc_{}", random_text(20));
    let requests = shop.provider.received().len();
    for (reference, metadata) in [
        (Value::Null, Value::Null),
        (Value::Null, json!({})),
        (json!(""), json!({"account_id": ""})),
        (json!(""), json!({"account_id": "not an id"})),
    ] {
        let mut event = shop.provider.event(COMPLETED, &bought.session);
        event["data"]["object"]["client_reference_id"] = reference;
        event["data"]["object"]["metadata"] = metadata;
        shop.deliver(&event).await.refused(400, "event missing account");
    }
    assert_eq!(shop.provider.received().len(), requests);
    shop.provider.change(&bought.session, "client_reference_id", json!(nobody));
    let event = shop.provider.event(COMPLETED, &bought.session);
    shop.deliver(&event).await.refused(400, "event missing account");
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn the_account_is_the_reference_else_the_metadata() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.change(&bought.session, "metadata", json!({"account_id": bob.account_id}));
    shop.report(COMPLETED, &bought.session).await;
    assert_eq!(shop.standing(&ann).await.plan, "paid");
    assert_eq!(shop.standing(&bob).await, Standing::trial());
    let bought = shop.buy(&bob).await;
    shop.provider.change(&bought.session, "client_reference_id", Value::Null);
    shop.report(COMPLETED, &bought.session).await;
    assert_eq!(shop.standing(&bob).await.plan, "paid");
}

#[tokio::test]
async fn what_the_event_claims_counts_for_nothing_against_what_the_provider_says() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let session = shop.session(&ann).await;
    let mut event = shop.provider.event(COMPLETED, &session);
    event["data"]["object"]["payment_status"] = json!("paid");
    event["data"]["object"]["status"] = json!("complete");
    received(&shop.deliver(&event).await);
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_checkout_of_another_kind_is_ignored() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.change(&bought.session, "mode", json!("payment"));
    shop.report(COMPLETED, &bought.session).await;
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

// A provider that cannot be read

#[tokio::test]
async fn an_event_is_taken_later_when_the_provider_cannot_be_read_now() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let completed = shop.provider.event(COMPLETED, &bought.session);
    let paid = shop.provider.event(PAID, &bought.invoice);
    for (fault, reason) in [
        (Fault::Status(500), "payment provider failed"),
        (Fault::Status(401), "payment provider refused the request"),
        (Fault::Status(429), "payment provider is busy"),
        (Fault::Garbage, "payment provider gave an unreadable answer"),
        (Fault::Huge, "payment provider gave an unreadable answer"),
        (Fault::Redirect(shop.provider.base.clone()), "payment provider failed"),
        (Fault::Lost, "payment provider unreachable"),
    ] {
        shop.provider.fail(Some(fault));
        for event in [&completed, &paid] {
            let answer = shop.deliver(event).await;
            answer.refused(502, reason);
            assert!(!answer.text.contains("sk_test") && !answer.text.contains("whsec"));
        }
    }
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    shop.provider.fail(None);
    received(&shop.deliver(&completed).await);
    assert_eq!(shop.standing(&ann).await.plan, "paid");
}

#[tokio::test]
async fn a_completed_checkout_that_the_provider_does_not_know_is_502() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let event = shop.provider.event(COMPLETED, &bought.session);
    shop.provider.forget(&bought.session);
    shop.deliver(&event).await.refused(502, "payment provider refused the request");
}

#[tokio::test]
async fn without_a_secret_key_a_completed_checkout_cannot_be_read() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let event = shop.provider.event(COMPLETED, &bought.session).to_string();
    let app = App::spawn_with(&[("STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET)]).await;
    let header = signature(&event, WEBHOOK_SECRET, app.clock.now().timestamp());
    let request = app.request(reqwest::Method::POST, "/v1/stripe/webhook");
    Answer::of(request.header("Stripe-Signature", header).body(event))
        .await
        .refused(502, "stripe checkout is not configured");
}

// Renewal and end

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
    assert_eq!(shop.come_back(&bought.session).await.status, 200);
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

// Order, repetition, loss

/// How the service hears of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    SuccessPage,
    Completed,
    FirstInvoice,
    Renewal,
    Deleted,
}

/// Every way to hear some of the news, each at most once, in every order; never none.
fn every_order(news: &[News]) -> Vec<Vec<News>> {
    let mut orders = Vec::new();
    let mut begun = vec![Vec::new()];
    while let Some(order) = begun.pop() {
        for &next in news.iter().filter(|next| !order.contains(*next)) {
            begun.push([order.as_slice(), &[next]].concat());
        }
        orders.push(order);
    }
    orders.retain(|order| !order.is_empty());
    orders
}

/// An account that has paid once and been renewed, the news of it not yet told.
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

    async fn tell(&self, shop: &Shop, news: News) {
        let event = match news {
            News::SuccessPage => {
                assert_eq!(shop.come_back(&self.bought.session).await.status, 200);
                return;
            }
            News::Completed => &self.completed,
            News::FirstInvoice => &self.first_invoice,
            News::Renewal => &self.renewal,
            News::Deleted => &self.deleted,
        };
        received(&shop.deliver(event).await);
    }
}

#[tokio::test]
async fn whatever_is_heard_in_whatever_order_and_however_often_the_account_ends_the_same() {
    let shop = Shop::open().await;
    let end = Standing::paid_until(shop.now() + Months::new(2));
    let news = [News::SuccessPage, News::Completed, News::FirstInvoice, News::Renewal];
    for (number, order) in every_order(&news).into_iter().enumerate() {
        let case = Case::new(&shop, number, false).await;
        for &news in &order {
            case.tell(&shop, news).await;
            if number % 2 == 0 {
                case.tell(&shop, news).await;
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
    let news = [News::SuccessPage, News::Completed, News::Renewal, News::Deleted];
    let orders = every_order(&news).into_iter().filter(|order| *order != [News::Deleted]);
    for (number, order) in orders.enumerate() {
        let case = Case::new(&shop, number, true).await;
        for &news in &order {
            case.tell(&shop, news).await;
        }
        assert_eq!(shop.standing(&case.account).await, end, "{order:?}");
        let again = shop.session(&case.account).await;
        assert_ne!(again, case.bought.session, "{order:?}");
    }
}

#[tokio::test]
async fn all_news_at_the_same_moment_end_the_same() {
    let shop = Shop::open().await;
    let end = Standing::paid_until(shop.now() + Months::new(2));
    for number in 0..4 {
        let case = Case::new(&shop, number, false).await;
        let news = [News::SuccessPage, News::Completed, News::FirstInvoice, News::Renewal];
        let all = (0..24).map(|turn| case.tell(&shop, news[(turn + number) % news.len()]));
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
async fn the_plan_outlives_a_restart_of_the_news_a_month_later() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let completed = shop.provider.event(COMPLETED, &bought.session);
    let end = shop.now() + Months::new(1);
    shop.app.clock.advance(Duration::days(60));
    received(&shop.deliver(&completed).await);
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
}
