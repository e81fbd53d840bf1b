//! Opening checkout, and why it cannot be opened.

use std::time::{Duration as Wait, Instant};

use assent::types::ids::random_text;
use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::billing::quote_and_portal::revoke_keys;
use crate::support::ports::free_port;
use crate::support::shop::{Standing, is_page};
use crate::support::stripe::{API_VERSION, Fault, Provider, SECRET_KEY};
use crate::support::{Answer, App, Shop};

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
    assert_eq!(shop.complete_checkout(session).await.status, 200);
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
async fn a_configured_price_replaces_the_inline_one() {
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
    let base = format!("http://127.0.0.1:{}", free_port());
    let shop = Shop::open_with(&[("STRIPE_API_BASE", &base)]).await;
    let ann = shop.app.account("ann@example.com").await;
    shop.checkout(&ann).await.refused(502, "payment provider unreachable");
    is_page(&shop.complete_checkout("cs_test_1").await, 502, "could not be finished");
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
    let pages = join_all((0..25).map(|_| shop.complete_checkout(&session)));
    let deliveries = join_all((0..5).map(|_| shop.deliver(&event)));
    let bystander = async {
        // By then all calls wait for the provider.
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
async fn a_provider_whose_certificate_nobody_vouches_for_never_receives_the_key() {
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
