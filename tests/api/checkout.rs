//! Checkout and the pages that it leads back to: one test per row and per refusal.

use std::time::{Duration as Wait, Instant};

use assent::ids::random_text;
use chrono::{DateTime, Duration, Months, TimeZone, Utc};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::billing::revoke_keys;
use crate::support::shop::Standing;
use crate::support::stripe::{API_VERSION, Fault, Provider, SECRET_KEY};
use crate::support::{Answer, App, Shop};

/// The headers under which an answer must be a page.
#[track_caller]
fn is_page(answer: &Answer, status: u16, text: &str) {
    assert_eq!(answer.status, status, "{}", answer.text);
    let kind = answer.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/html"), "{kind}");
    assert!(answer.text.contains(text), "{}", answer.text);
}

// Opening checkout

#[tokio::test]
async fn checkout_opens_with_a_key() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let answer = shop.checkout(&ann).await.expect(200);
    assert!(answer["url"].as_str().unwrap().starts_with("https://checkout.example/c/pay/cs_test_"));
    let expected = json!({
        "url": answer["url"],
        "monthly_cents": 100,
        "setup_fee_cents": 0,
        "resolved_contact_cents": 0,
    });
    assert_eq!(answer, expected);
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn checkout_opens_with_a_signup_token_before_the_address_is_confirmed() {
    let shop = Shop::open().await;
    let opened = shop.app.sign_up("ann@example.com").await;
    let (account_id, token) =
        (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str().unwrap());
    let path = format!("/v1/accounts/{account_id}/checkout");
    let request = || shop.app.request(Method::POST, &path).header("x-signup-token", token);
    let url = Answer::of(request()).await.expect(200)["url"].as_str().unwrap().to_owned();
    let session = url.rsplit('/').next().unwrap();
    shop.provider.pay(session, shop.now());
    assert_eq!(shop.come_back(session).await.status, 200);
    let path = format!("/v1/accounts/{account_id}");
    let shown = Answer::of(shop.app.request(Method::GET, &path).header("x-signup-token", token));
    let shown = shown.await.expect(200);
    assert_eq!((&shown["status"], &shown["plan"]), (&json!("active"), &json!("paid")));
    assert_eq!(shown["email_verified"], json!(false));
}

#[tokio::test]
async fn checkout_opens_with_the_key_in_its_own_header() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let path = format!("/v1/accounts/{}/checkout", ann.account_id);
    Answer::of(shop.app.request(Method::POST, &path).header("X-API-Key", &ann.key))
        .await
        .expect(200);
}

#[tokio::test]
async fn the_provider_is_asked_in_its_own_wire_format() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.checkout(&ann).await.expect(200);
    let received = shop.provider.received();
    assert_eq!(received.len(), 1);
    let request = &received[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/checkout/sessions"));
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {SECRET_KEY}")));
    assert_eq!(request.header("stripe-version"), Some(API_VERSION));
    assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert!(request.header("idempotency-key").is_some_and(|key| (16..=255).contains(&key.len())));
    let mut fields = request
        .form
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect::<Vec<_>>();
    fields.sort_unstable();
    let back = shop.app.url("/v1/checkout/success?session_id={CHECKOUT_SESSION_ID}");
    let cancelled = shop.app.url("/v1/checkout/cancelled");
    let mut expected = vec![
        ("mode", "subscription"),
        ("client_reference_id", ann.account_id.as_str()),
        ("metadata[account_id]", ann.account_id.as_str()),
        ("subscription_data[metadata][account_id]", ann.account_id.as_str()),
        ("success_url", back.as_str()),
        ("cancel_url", cancelled.as_str()),
        ("line_items[0][quantity]", "1"),
        ("line_items[0][price_data][currency]", "usd"),
        ("line_items[0][price_data][unit_amount]", "100"),
        ("line_items[0][price_data][recurring][interval]", "month"),
        ("line_items[0][price_data][product_data][name]", "Assent subscription"),
    ];
    expected.sort_unstable();
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn a_configured_price_takes_the_place_of_the_inline_one() {
    let shop = Shop::open_with(&[("STRIPE_PRICE_ID", "price_1Monthly")]).await;
    let ann = shop.app.account("ann@example.com").await;
    shop.checkout(&ann).await.expect(200);
    let request = shop.provider.received().pop().unwrap();
    assert_eq!(request.field("line_items[0][price]"), Some("price_1Monthly"));
    assert!(!request.form.iter().any(|(name, _)| name.contains("price_data")));
}

#[tokio::test]
async fn checkout_of_an_unknown_account_is_not_found_whatever_the_credentials() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    for account in [format!("acc_{}", random_text(20)), "a%20b".to_owned(), "x".repeat(200)] {
        let path = format!("/v1/accounts/{account}/checkout");
        shop.app.post(&path, Value::Null).await.refused(404, "account not found");
        let answer = shop.app.call(Method::POST, &path, &ann.key, Value::Null).await;
        answer.refused(404, "account not found");
    }
}

#[tokio::test]
async fn checkout_wants_the_accounts_own_signup_token() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let path = format!("/v1/accounts/{}/checkout", ann.account_id);
    let request = || shop.app.request(Method::POST, &path);
    for request in [
        request(),
        request().header("x-signup-token", ""),
        request().header("x-signup-token", "st_nonsense"),
        request().header("x-signup-token", &bob.signup_token),
        request().header("Authorization", ""),
        request().basic_auth(&ann.key, Some("")),
    ] {
        Answer::of(request).await.refused(401, "signup token required");
    }
    assert!(shop.provider.received().is_empty());
}

#[tokio::test]
async fn checkout_refuses_a_signup_token_after_its_hour() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let path = format!("/v1/accounts/{}/checkout", ann.account_id);
    let request =
        || shop.app.request(Method::POST, &path).header("x-signup-token", &ann.signup_token);
    shop.app.clock.advance(Duration::hours(1) - Duration::seconds(1));
    Answer::of(request()).await.expect(200);
    shop.app.clock.advance(Duration::seconds(1));
    Answer::of(request()).await.refused(401, "signup token expired");
}

#[tokio::test]
async fn checkout_refuses_an_unknown_key() {
    let shop = Shop::open().await;
    let mut ann = shop.app.account("ann@example.com").await;
    ann.key = "px_nobody".to_owned();
    shop.checkout(&ann).await.refused(401, "invalid api key");
}

#[tokio::test]
async fn checkout_refuses_a_revoked_key() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    revoke_keys(&shop.app, &ann).await;
    shop.checkout(&ann).await.refused(401, "api key revoked");
}

#[tokio::test]
async fn another_accounts_key_finds_no_account() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let operator = shop.app.unlimited_account("operator@example.com").await;
    let path = format!("/v1/accounts/{}/checkout", ann.account_id);
    for key in [&bob.key, &operator.key] {
        let answer = shop.app.call(Method::POST, &path, key, Value::Null).await;
        answer.refused(404, "account not found");
    }
    assert!(shop.provider.received().is_empty());
}

// Checkout that cannot be opened

#[tokio::test]
async fn checkout_without_a_secret_key_is_not_configured() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let path = format!("/v1/accounts/{}/checkout", ann.account_id);
    let answer = app.call(Method::POST, &path, &ann.key, Value::Null).await;
    answer.refused(502, "stripe checkout is not configured");
}

#[tokio::test]
async fn every_fault_of_the_provider_has_its_reason_and_tells_no_secret() {
    let elsewhere = Provider::start().await;
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    for (fault, reason) in [
        (Fault::Status(500), "payment provider failed"),
        (Fault::Status(503), "payment provider failed"),
        (Fault::Status(400), "payment provider refused the request"),
        (Fault::Status(401), "payment provider refused the request"),
        (Fault::Status(404), "payment provider refused the request"),
        (Fault::Status(409), "payment provider is busy"),
        (Fault::Status(429), "payment provider is busy"),
        (Fault::Garbage, "payment provider gave an unreadable answer"),
        (Fault::Huge, "payment provider gave an unreadable answer"),
        (Fault::Redirect(elsewhere.base.clone()), "payment provider failed"),
        (Fault::Lost, "payment provider unreachable"),
    ] {
        shop.provider.fail(Some(fault));
        let answer = shop.checkout(&ann).await;
        answer.refused(502, reason);
        assert!(!answer.text.contains("sk_test") && !answer.text.contains("127.0.0.1"));
    }
    assert!(elsewhere.received().is_empty(), "the key went to another address");
    shop.provider.fail(None);
    shop.checkout(&ann).await.expect(200);
}

#[tokio::test]
async fn a_wrong_secret_key_is_a_refused_request() {
    let shop = Shop::open_with(&[("STRIPE_SECRET_KEY", "sk_test_wrong")]).await;
    let ann = shop.app.account("ann@example.com").await;
    shop.checkout(&ann).await.refused(502, "payment provider refused the request");
}

#[tokio::test]
async fn a_provider_that_is_down_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let shop = Shop::open_with(&[("STRIPE_API_BASE", &base)]).await;
    let ann = shop.app.account("ann@example.com").await;
    shop.checkout(&ann).await.refused(502, "payment provider unreachable");
    is_page(&shop.come_back("cs_test_1").await, 502, "could not be finished");
}

#[tokio::test]
async fn a_provider_that_stalls_is_given_up_after_ten_seconds_and_holds_no_connection() {
    futures_util::join!(stall(Fault::Silent), stall(Fault::Dripping));
}

async fn stall(fault: Fault) {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let session = shop.session(&bob).await;
    let event = shop.provider.event("checkout.session.completed", &session);
    shop.provider.fail(Some(fault));
    let started = Instant::now();
    // More of them than the service has connections to its database.
    let checkouts = join_all((0..25).map(|_| shop.checkout(&ann)));
    let pages = join_all((0..25).map(|_| shop.come_back(&session)));
    let deliveries = join_all((0..5).map(|_| shop.deliver(&event)));
    let bystander = async {
        tokio::time::sleep(Wait::from_secs(2)).await;
        assert_eq!(shop.standing(&bob).await, Standing::trial());
        // The one that listens for changes is never idle; others are back in a moment.
        while shop.app.pool.size() as usize - shop.app.pool.num_idle() > 1 {
            tokio::time::sleep(Wait::from_millis(20)).await;
        }
        assert!(started.elapsed() < Wait::from_secs(9), "the service was blocked");
    };
    let (checkouts, pages, deliveries, ()) =
        futures_util::join!(checkouts, pages, deliveries, bystander);
    assert!((9..20).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    for answer in checkouts.iter().chain(&deliveries) {
        answer.refused(502, "payment provider unreachable");
    }
    pages.iter().for_each(|page| is_page(page, 502, "could not be finished"));
}

#[tokio::test]
async fn a_provider_whose_certificate_nobody_vouches_for_is_never_told_the_key() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let handshake = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(tls));
        acceptor.accept(stream).await.map(|_| ()).map_err(|error| error.to_string())
    });
    let shop = Shop::open_with(&[("STRIPE_API_BASE", &base)]).await;
    let ann = shop.app.account("ann@example.com").await;
    shop.checkout(&ann).await.refused(502, "payment provider unreachable");
    assert!(handshake.await.unwrap().unwrap_err().contains("UnknownCA"));
}

// One checkout at a time, so that nobody pays twice

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
async fn checkout_opens_again_after_the_subscription_has_ended_even_if_the_news_were_lost() {
    let shop = Shop::open().await;
    let (ann, first) = shop.subscriber("ann@example.com").await;
    shop.provider.cancel(&first.subscription);
    let second = shop.buy(&ann).await;
    assert_ne!(second.session, first.session);
    assert_eq!(shop.come_back(&second.session).await.status, 200);
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

// Coming back

#[tokio::test]
async fn the_success_page_subscribes_the_account_until_the_end_of_the_period() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let bought = shop.buy(&ann).await;
    let end = shop.now() + Months::new(1);
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
    assert_eq!(shop.standing(&bob).await, Standing::trial());
    shop.app.clock.advance(Duration::days(3));
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
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
    is_page(&shop.come_back(&session).await, 402, "Payment not received");
    let bought = shop.provider.complete(&session, shop.now());
    is_page(&shop.come_back(&session).await, 402, "Payment not received");
    shop.provider.change(&session, "payment_status", json!("no_payment_required"));
    is_page(&shop.come_back(&session).await, 402, "Payment not received");
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    shop.provider.receive_money(&bought);
    is_page(&shop.come_back(&session).await, 200, "Setup payment received");
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
        let answer = shop.come_back(&bought.session).await;
        is_page(&answer, 502, "could not be finished");
        assert!(!answer.text.contains("sk_test"));
    }
    assert_eq!(shop.standing(&ann).await, Standing::trial());
    shop.provider.fail(None);
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
}

#[tokio::test]
async fn a_session_whose_subscription_cannot_be_read_is_not_half_finished() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.fail_next(&[Fault::Slow(Wait::ZERO), Fault::Status(500)]);
    is_page(&shop.come_back(&bought.session).await, 502, "could not be finished");
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn a_session_that_is_not_ours_cannot_be_finished() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    is_page(&shop.come_back("cs_test_unknown").await, 502, "could not be finished");
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
        is_page(&shop.come_back(&bought.session).await, 502, "could not be finished");
        shop.provider.change(&bought.session, field, before);
    }
    assert_eq!(shop.standing(&ann).await, Standing::trial());
}

#[tokio::test]
async fn what_is_no_session_id_never_reaches_the_provider() {
    let shop = Shop::open().await;
    for id in ["..%2Fsubscriptions%2Fsub_1", "cs%2F1", "cs%3Fexpand", "cs%201", "%00", "c%C3%A9"] {
        is_page(&shop.come_back(id).await, 502, "could not be finished");
    }
    is_page(&shop.come_back(&"x".repeat(5000)).await, 502, "could not be finished");
    assert!(shop.provider.received().is_empty());
}

#[tokio::test]
async fn a_session_pays_for_the_account_that_it_names_and_no_other() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    let bought = shop.buy(&ann).await;
    assert_eq!(shop.come_back(&bought.session).await.status, 200);
    // The same subscription under another name stays with the account that had it first.
    shop.provider.change(&bought.session, "client_reference_id", json!(bob.account_id));
    shop.come_back(&bought.session).await;
    let path = format!("/v1/accounts/{}/portal", bob.account_id);
    shop.app
        .call(Method::POST, &path, &bob.key, Value::Null)
        .await
        .refused(409, "no subscription yet");
}

#[tokio::test]
async fn the_account_may_stand_in_the_metadata_alone() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    for reference in [json!(""), Value::Null] {
        shop.provider.change(&bought.session, "client_reference_id", reference);
        is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
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

// What a payment changes

#[tokio::test]
async fn a_payment_never_lifts_a_suspension_and_is_there_when_it_ends() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.alter(&ann, "status = 'suspended', suspended_from = 'pending_email'").await;
    let bought = shop.buy(&ann).await;
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
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
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&operator).await.plan, "unlimited");
}

#[tokio::test]
async fn the_end_of_the_paid_period_never_moves_backwards() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    let later = shop.now() + Duration::days(400);
    shop.alter(&ann, &format!("paid_until = '{}'", later.to_rfc3339())).await;
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
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
        is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
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
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(end));
}

#[tokio::test]
async fn a_session_without_a_subscription_lasts_one_month_too() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let bought = shop.buy(&ann).await;
    shop.provider.change(&bought.session, "subscription", Value::Null);
    is_page(&shop.come_back(&bought.session).await, 200, "Setup payment received");
    assert_eq!(shop.standing(&ann).await, Standing::paid_until(shop.now() + Months::new(1)));
    shop.checkout(&ann).await.refused(409, "already subscribed");
}

fn time(year: i32, month: u32, day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(year, month, day, 9, 30, 0).unwrap()
}
