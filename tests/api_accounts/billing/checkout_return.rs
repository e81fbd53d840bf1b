//! The pages that checkout leads back to, and what a payment changes.

use std::time::Duration as Wait;

use assent::types::ids::random_text;
use chrono::{DateTime, Duration, Months, TimeZone, Utc};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::shop::{COMPLETED, Standing, is_page};
use crate::support::stripe::Fault;
use crate::support::{Answer, App, Shop};

#[tokio::test]
async fn the_success_page_subscribes_the_account_until_the_end_of_the_period() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let bought = shop.buy(&ann).await;
    let end = shop.now() + Months::new(1);
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
    assert_eq!(shop.standing(&bob).await, Standing::trial());
    shop.app.clock.advance(Duration::days(3));
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
}

#[tokio::test]
async fn looking_at_the_success_page_without_opening_it_has_no_effect() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let path = format!("/v1/checkout/success?session_id={}", bought.session);
    let answer = Answer::of(shop.app.request(Method::HEAD, &path)).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    let answer = Answer::of(shop.app.request(Method::HEAD, "/v1/checkout/success")).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn the_success_page_wants_a_session() {
    let shop = Shop::open().await;
    for query in ["", "?session_id=", "?session_id=%20", "?other=1"] {
        let answer = shop.app.get(&format!("/v1/checkout/success{query}")).await;
        answer.refused(400, "session_id is required");
    }
}

#[tokio::test]
async fn the_success_page_without_a_secret_key_is_not_configured() {
    let app = App::spawn().await;
    let answer = app.get("/v1/checkout/success?session_id=cs_test_1").await;
    answer.refused(400, "stripe checkout is not configured");
    app.get("/v1/checkout/success").await.refused(400, "session_id is required");
}

#[tokio::test]
async fn a_session_that_is_not_paid_is_402_and_changes_nothing() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let session = shop.session(&ann).await;
    is_page(&shop.complete_checkout(&session).await, 402, "Payment not received");
    let bought = shop.provider.complete(&session, shop.now());
    is_page(&shop.complete_checkout(&session).await, 402, "Payment not received");
    shop.provider.change(&session, "payment_status", json!("no_payment_required"));
    is_page(&shop.complete_checkout(&session).await, 402, "Payment not received");
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    shop.provider.receive_money(&bought);
    is_page(&shop.complete_checkout(&session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await.plan, "paid");
}

#[tokio::test]
async fn a_session_that_cannot_be_finished_is_502_and_can_be_finished_later() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    for fault in [
        Fault::Status(500),
        Fault::Status(401),
        Fault::Status(429),
        Fault::Garbage,
        Fault::Huge,
        Fault::Redirect(shop.provider.base.clone()),
        Fault::Lost,
    ] {
        shop.provider.fail(Some(fault));
        let answer = shop.complete_checkout(&bought.session).await;
        is_page(&answer, 502, "could not be finished");
        assert!(!answer.text.contains("sk_test"));
    }
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    shop.provider.fail(None);
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
}

#[tokio::test]
async fn a_session_whose_subscription_cannot_be_read_is_not_half_finished() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.fail_next(&[Fault::Slow(Wait::ZERO), Fault::Status(500)]);
    is_page(&shop.complete_checkout(&bought.session).await, 502, "could not be finished");
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_session_that_is_not_ours_cannot_be_finished() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    is_page(&shop.complete_checkout("cs_test_unknown").await, 502, "could not be finished");
    let bought = shop.buy(&ann).await;
    let nobody = json!(format!("acc_{}", random_text(20)));
    for (field, value) in [
        ("mode", json!("payment")),
        ("mode", json!("setup")),
        ("client_reference_id", nobody),
        ("client_reference_id", json!("a customer of another product")),
    ] {
        let before = shop.provider.object(&bought.session)[field].clone();
        shop.provider.change(&bought.session, field, value);
        is_page(&shop.complete_checkout(&bought.session).await, 502, "could not be finished");
        shop.provider.change(&bought.session, field, before);
    }
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_malformed_session_id_never_reaches_the_provider() {
    let shop = Shop::open().await;
    for id in ["..%2Fsubscriptions%2Fsub_1", "cs%2F1", "cs%3Fexpand", "cs%201", "%00", "c%C3%A9"] {
        is_page(&shop.complete_checkout(id).await, 502, "could not be finished");
    }
    is_page(&shop.complete_checkout(&"x".repeat(5000)).await, 502, "could not be finished");
    assert!(shop.provider.received().is_empty());
}

#[tokio::test]
async fn a_session_pays_for_the_account_that_it_names_and_no_other() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let bought = shop.buy(&ann).await;
    assert_eq!(shop.complete_checkout(&bought.session).await.status, 200);
    // The same subscription under another name stays with the account that had it first.
    shop.provider.change(&bought.session, "client_reference_id", json!(bob.account_id));
    shop.complete_checkout(&bought.session).await;
    let path = format!("/v1/accounts/{}/portal", bob.account_id);
    shop.app
        .call(Method::POST, &path, &bob.key, Value::Null)
        .await
        .refused(409, "no subscription yet");
}

#[tokio::test]
async fn a_session_of_another_product_pays_for_nobody() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.sell(&bought.session, &foreign_price());
    for metadata in
        [json!({}), Value::Null, json!({"account_id": bob.account_id}), json!({"order": "7"})]
    {
        shop.provider.change(&bought.session, "metadata", metadata);
        is_page(&shop.complete_checkout(&bought.session).await, 502, "could not be finished");
        shop.report(COMPLETED, &bought.session).await;
    }
    for account in [&ann, &bob] {
        assert_eq!(shop.standing(account).await, Standing::trial());
    }
    // A dollar, but not every month.
    shop.provider.change(&bought.session, "metadata", json!({}));
    for foreign in [
        json!({"id": "price_1Other", "currency": "usd", "unit_amount": 100, "recurring": null}),
        json!({"id": "price_1Other", "currency": "usd", "unit_amount": 100,
               "recurring": {"interval": "year", "interval_count": 1}}),
        json!({"id": "price_1Other", "currency": "usd", "unit_amount": 100,
               "recurring": {"interval": "month", "interval_count": 12}}),
    ] {
        shop.provider.sell(&bought.session, &foreign);
        is_page(&shop.complete_checkout(&bought.session).await, 502, "could not be finished");
    }
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_session_without_our_mark_pays_when_it_sells_our_price() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.change(&bought.session, "metadata", json!({}));
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await.plan, "paid");

    let shop = Shop::open_with(&[("STRIPE_PRICE_ID", "price_1Ours")]).await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let sold = shop.provider.sold(&bought.session);
    shop.provider.change(&bought.session, "metadata", json!({}));
    // This session would count without a configured price; with one, its own price must be equal.
    shop.provider.sell(&bought.session, &monthly_dollar());
    shop.report(COMPLETED, &bought.session).await;
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    shop.provider.sell(&bought.session, &sold);
    shop.report(COMPLETED, &bought.session).await;
    assert_eq!(shop.standing(&ann).await.plan, "paid");
}

fn foreign_price() -> Value {
    json!({"id": "price_1Other", "object": "price", "currency": "jpy", "unit_amount": 1,
           "recurring": {"interval": "month", "interval_count": 1}})
}

fn monthly_dollar() -> Value {
    json!({"id": "price_1Other", "object": "price", "currency": "usd", "unit_amount": 100,
           "recurring": {"interval": "month", "interval_count": 1}})
}

#[tokio::test]
async fn the_account_may_stand_in_the_metadata_alone() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    for reference in [json!(""), Value::Null] {
        shop.provider.change(&bought.session, "client_reference_id", reference);
        is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    }
    assert_eq!(shop.standing(&ann).await.plan, "paid");
}

#[tokio::test]
async fn the_cancelled_page_asks_nobody_and_changes_nothing() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.session(&ann).await;
    let requests = shop.provider.received().len();
    is_page(&shop.app.get("/v1/checkout/cancelled").await, 200, "no subscription was started");
    assert_eq!(shop.provider.received().len(), requests);
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_payment_never_lifts_a_suspension_and_is_there_when_it_ends() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.alter(&ann, "status = 'suspended', suspended_from = 'pending_email'").await;
    let bought = shop.buy(&ann).await;
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    let standing = shop.standing(&ann).await;
    assert_eq!((standing.status.as_str(), standing.plan.as_str()), ("suspended", "paid"));
    shop.alter(&ann, "status = suspended_from, suspended_from = NULL").await;
    assert_eq!(shop.standing(&ann).await.status, "active");
}

#[tokio::test]
async fn an_unlimited_account_keeps_its_plan() {
    let shop = Shop::open().await;
    let operator = shop.app.unlimited_account("operator@example.com").await;
    let bought = shop.buy(&operator).await;
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&operator).await.plan, "unlimited");
}

#[tokio::test]
async fn the_end_of_the_paid_period_never_moves_backwards() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let later = shop.now() + Duration::days(400);
    shop.alter(&ann, &format!("paid_until = '{}'", later.to_rfc3339())).await;
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(later));
}

#[tokio::test]
async fn the_period_is_found_where_older_versions_of_the_provider_have_it() {
    let shop = Shop::open().await;
    shop.provider.use_older_shape();
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let subscription = shop.provider.object(&bought.subscription);
    assert!(subscription["current_period_end"].is_i64());
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(shop.now() + Months::new(1)));
}

#[tokio::test]
async fn without_a_reported_period_a_payment_lasts_one_calendar_month() {
    let shop = Shop::open().await;
    shop.app.clock.set(time(2027, 1, 31));
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.forget(&bought.subscription);
    let end = Standing::paid_until(time(2027, 2, 28));
    for days in [0, 10, 40] {
        shop.app.clock.set(time(2027, 1, 31) + Duration::days(days));
        is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
        shop.report("checkout.session.completed", &bought.session).await;
        assert_eq!(shop.standing(&ann).await, end, "after {days} days");
    }
}

#[tokio::test]
async fn a_subscription_that_the_session_shows_whole_counts_even_if_it_is_gone_by_itself() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let mut whole = shop.provider.object(&bought.subscription);
    let end = shop.now() + Duration::days(7);
    whole["items"]["data"][0]["current_period_end"] = json!(end.timestamp());
    shop.provider.change(&bought.session, "subscription", whole);
    shop.provider.forget(&bought.subscription);
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
}

#[tokio::test]
async fn a_session_without_a_subscription_lasts_one_month_too() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.change(&bought.session, "subscription", Value::Null);
    is_page(&shop.complete_checkout(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(shop.now() + Months::new(1)));
    shop.checkout(&ann).await.refused(409, "already subscribed");
}

fn time(year: i32, month: u32, day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(year, month, day, 9, 30, 0).unwrap()
}
