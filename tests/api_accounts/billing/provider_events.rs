//! The payment provider's events: their signatures, whose they are, and what cannot be read.

use assent::types::ids::random_text;
use chrono::{Duration, Months};
use serde_json::{Value, json};

use crate::support::shop::{
    COMPLETED, PAID, Standing, WEBHOOK_SECRET, digest, received, signature,
};
use crate::support::stripe::Fault;
use crate::support::{Answer, App, Shop};

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

#[tokio::test]
async fn other_types_are_acknowledged_whatever_their_shape() {
    let shop = Shop::open().await;
    for body in [
        r#"{"id":"evt_1","object":"v2.core.event","type":"v2.core.account.updated","related_object":{"id":"a"}}"#,
        r#"{"id":"evt_2","object":"event","type":"customer.created"}"#,
        r#"{"type":"customer.created","data":null}"#,
        r#"{"type":"customer.created","data":[]}"#,
        r#"{"data":"x","type":"a.type.of.the.future"}"#,
        r#"{"type":"charge.updated","data":{"object":{"amount":1e400,"a":1,"a":2,"b":"\u0000"}}}"#,
    ] {
        received(&Answer::of(shop.delivery(body)).await);
        let unsigned = shop.unsigned_delivery(body).header("Stripe-Signature", "t=1,v1=00");
        Answer::of(unsigned).await.refused(400, "invalid signature");
    }
}

#[tokio::test]
async fn events_without_a_type_and_handled_events_must_be_well_formed() {
    let shop = Shop::open().await;
    for (body, location) in [
        (r#"{"id":"evt_1","object":"event"}"#, &["body", "type"][..]),
        (r#"{"type":7}"#, &["body", "type"]),
        (r#"{"type":"checkout.session.completed"}"#, &["body", "data"]),
        (r#"{"type":"invoice.paid","data":{}}"#, &["body", "data", "object"]),
        (r#"{"type":"ping","type":"invoice.paid"}"#, &["body"]),
        (r#"["ping"]"#, &["body"]),
        ("ping", &["body"]),
    ] {
        Answer::of(shop.delivery(body)).await.invalid(location);
    }
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
        ("{}", &["body", "type"]),
        (r#"{"type":1,"data":{"object":{}}}"#, &["body", "type"]),
        (r#"{"type":"invoice.paid"}"#, &["body", "data"]),
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
            &["body", "data", "object", "id"],
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

// The account of an event

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
async fn the_providers_answer_takes_precedence_over_the_event() {
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
