//! An account has one open checkout at a time, so that nobody pays twice.

use std::time::Duration as Wait;

use chrono::{Duration, Months};
use futures_util::future::join_all;
use serde_json::json;

use crate::support::Shop;
use crate::support::shop::{Standing, is_page};
use crate::support::stripe::Fault;

#[tokio::test]
async fn as_long_as_nobody_has_paid_checkout_is_the_same_page_again() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let first = shop.session(&ann).await;
    assert_eq!(shop.session(&ann).await, first);
    assert_ne!(shop.session(&bob).await, first);
    assert_eq!(shop.provider.sessions(), 2);
}

#[tokio::test]
async fn checkout_can_be_opened_again_after_it_was_cancelled_or_has_expired() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let first = shop.session(&ann).await;
    is_page(&shop.app.get("/v1/checkout/cancelled").await, 200, "");
    shop.checkout(&ann).await.expect(200);
    shop.provider.expire(&first);
    let second = shop.session(&ann).await;
    assert_ne!(second, first);
    shop.provider.forget(&second);
    assert_ne!(shop.session(&ann).await, second);
}

#[tokio::test]
async fn an_answer_that_was_lost_leads_to_the_session_that_it_was_about() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.provider.fail_next(&[Fault::AnswerLost, Fault::AnswerLost]);
    shop.checkout(&ann).await.refused(502, "payment provider unreachable");
    assert_eq!(shop.provider.sessions(), 1);
    while shop.checkout(&ann).await.status != 200 {}
    assert_eq!(shop.provider.sessions(), 1);
}

#[tokio::test]
async fn a_lost_answer_is_not_asked_for_after_the_provider_has_forgotten_the_key() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let key = || shop.provider.received().pop().unwrap().headers["idempotency-key"].clone();
    shop.provider.fail(Some(Fault::AnswerLost));
    shop.checkout(&ann).await.refused(502, "payment provider unreachable");
    let first = key();
    shop.app.clock.advance(Duration::hours(22));
    shop.checkout(&ann).await.refused(502, "payment provider unreachable");
    assert_eq!(key(), first);
    shop.app.clock.advance(Duration::hours(2));
    shop.checkout(&ann).await.refused(502, "payment provider unreachable");
    assert_ne!(key(), first);
}

#[tokio::test]
async fn a_refusal_is_not_repeated_by_an_old_key() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.provider.fail_next(&[Fault::Status(500)]);
    shop.checkout(&ann).await.refused(502, "payment provider failed");
    shop.checkout(&ann).await.expect(200);
    let keys = shop.provider.received();
    assert_ne!(keys[0].headers["idempotency-key"], keys[1].headers["idempotency-key"]);
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_with_the_same_key() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.provider.fail_next(&[Fault::Status(409), Fault::Status(429)]);
    shop.checkout(&ann).await.expect(200);
    let received = shop.provider.received();
    let keys = received.iter().map(|request| &request.headers["idempotency-key"]);
    let keys = keys.collect::<Vec<_>>();
    assert!(keys.len() == 3 && keys.iter().all(|key| key == &keys[0]), "{keys:?}");
}

#[tokio::test]
async fn many_checkouts_of_one_account_at_once_open_one_session() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    shop.provider.fail(Some(Fault::Slow(Wait::from_millis(50))));
    let (of_ann, of_bob) = futures_util::join!(
        join_all((0..16).map(|_| shop.session(&ann))),
        join_all((0..16).map(|_| shop.session(&bob)))
    );
    assert!(of_ann.iter().all(|session| *session == of_ann[0]));
    assert!(of_bob.iter().all(|session| *session == of_bob[0]));
    assert_eq!(shop.provider.sessions(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn checkouts_at_once_that_the_provider_refuses_are_all_refused() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    // Each refused attempt is given up while others are about to go on with it.
    shop.provider.fail(Some(Fault::Status(500)));
    let answers = join_all((0..96).map(|_| shop.checkout(&ann))).await;
    answers.iter().for_each(|answer| answer.refused(502, "payment provider failed"));
}

#[tokio::test]
async fn an_account_whose_subscription_runs_is_already_subscribed() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    for status in ["active", "past_due", "unpaid", "trialing", "incomplete", "paused"] {
        shop.provider.change(&bought.subscription, "status", json!(status));
        shop.checkout(&ann).await.refused(409, "already subscribed");
    }
    // Somebody else's subscription stands in nobody's way.
    let bob = shop.app.account("bob@example.com").await;
    shop.checkout(&bob).await.expect(200);
}

#[tokio::test]
async fn checkout_opens_again_after_the_subscription_has_ended_even_if_its_event_was_lost() {
    let shop = Shop::open().await;
    let (ann, first) = shop.subscriber("ann@example.com").await;
    shop.provider.cancel(&first.subscription);
    let second = shop.buy(&ann).await;
    assert_ne!(second.session, first.session);
    assert_eq!(shop.complete_checkout(&second.session).await.status, 200);
    shop.checkout(&ann).await.refused(409, "already subscribed");
}

#[tokio::test]
async fn a_payment_that_nobody_reported_is_found_when_checkout_is_opened_again() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.buy(&ann).await;
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    shop.checkout(&ann).await.refused(409, "already subscribed");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(shop.now() + Months::new(1)));
}

#[tokio::test]
async fn money_that_is_on_its_way_is_not_asked_for_again() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let session = shop.session(&ann).await;
    shop.provider.complete(&session, shop.now());
    shop.checkout(&ann).await.refused(409, "already subscribed");
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_subscription_that_the_provider_has_forgotten_counts_while_it_is_paid() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    shop.provider.forget(&bought.subscription);
    shop.provider.forget(&bought.session);
    shop.checkout(&ann).await.refused(409, "already subscribed");
    shop.app.clock.advance(Duration::days(32));
    shop.checkout(&ann).await.expect(200);
}
