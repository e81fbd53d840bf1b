//! The quote and the billing portal: one test per row and per refusal.

use assent::types::ids::random_text;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::stripe::{Fault, SECRET_KEY};
use crate::support::{Account, Answer, App, Shop};

async fn quote(app: &App, key: &str) -> Answer {
    app.call(Method::GET, "/v1/billing/quote", key, Value::Null).await
}

fn quoted(plan: &str, total_cents: i64) -> Value {
    json!({
        "plan": plan,
        "contact_count": 0,
        "setup_cents": 0,
        "contact_cents": 0,
        "usage_cents": 0,
        "total_cents": total_cents,
    })
}

/// Whether the answer has these fields; others may be there as well.
fn has(answer: &Value, fields: &Value) -> bool {
    fields.as_object().unwrap().iter().all(|(name, value)| answer[name] == *value)
}

#[tokio::test]
async fn the_trial_and_the_unlimited_plan_cost_nothing() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let answer = quote(&app, &ann.key).await.expect(200);
    assert!(has(&answer, &quoted("free", 0)), "{answer}");
    let operator = app.unlimited_account("operator@example.com").await;
    let answer = quote(&app, &operator.key).await.expect(200);
    assert!(has(&answer, &quoted("unlimited", 0)), "{answer}");
}

#[tokio::test]
async fn the_paid_plan_costs_100_cents_and_asking_charges_nothing() {
    let shop = Shop::open().await;
    let (ann, _) = shop.subscriber("ann@example.com").await;
    let requests = shop.provider.received().len();
    let answer = quote(&shop.app, &ann.key).await.expect(200);
    assert!(has(&answer, &quoted("paid", 100)), "{answer}");
    assert_eq!(shop.provider.received().len(), requests);
}

#[tokio::test]
async fn the_quote_wants_a_key() {
    let app = App::spawn().await;
    app.get("/v1/billing/quote").await.refused(401, "api key required");
}

#[tokio::test]
async fn the_quote_refuses_an_unknown_key() {
    let app = App::spawn().await;
    quote(&app, "px_nobody").await.refused(403, "invalid api key");
}

#[tokio::test]
async fn the_quote_refuses_a_revoked_key() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    revoke_keys(&app, &ann).await;
    quote(&app, &ann.key).await.refused(403, "api key revoked");
}

#[tokio::test]
async fn the_quote_refuses_an_account_that_is_not_in_good_standing() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    shop.alter(&ann, "status = 'suspended', suspended_from = 'active'").await;
    quote(&shop.app, &ann.key).await.refused(403, "account is not in good standing");
}

pub async fn revoke_keys(app: &App, account: &Account) {
    sqlx::query("UPDATE api_keys SET revoked_at = created_at WHERE account_id = $1")
        .bind(&account.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
}

async fn portal(app: &App, account: &Account, key: &str) -> Answer {
    let path = format!("/v1/accounts/{}/portal", account.account_id);
    app.call(Method::POST, &path, key, Value::Null).await
}

#[tokio::test]
async fn the_portal_is_the_providers_page_for_the_accounts_customer() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let (bob, other) = shop.subscriber("bob@example.com").await;
    for (account, customer, another) in
        [(&ann, &bought.customer, &other.customer), (&bob, &other.customer, &bought.customer)]
    {
        let answer = portal(&shop.app, account, &account.key).await.expect(200);
        let url = answer["url"].as_str().unwrap();
        assert!(url.starts_with("https://billing.example/p/session/"), "{url}");
        assert!(url.contains(customer.as_str()) && !url.contains(another.as_str()), "{url}");
    }
    let request = shop.provider.received().pop().unwrap();
    assert_eq!(request.path, "/v1/billing_portal/sessions");
    assert_eq!(request.field("return_url"), Some(shop.app.url("/console/account").as_str()));
}

#[tokio::test]
async fn the_portal_opens_with_a_signup_token_too() {
    let shop = Shop::open().await;
    let (ann, _) = shop.subscriber("ann@example.com").await;
    let path = format!("/v1/accounts/{}/portal", ann.account_id);
    let request = shop.app.request(Method::POST, &path).header("x-signup-token", &ann.signup_token);
    assert!(Answer::of(request).await.expect(200)["url"].is_string());
}

#[tokio::test]
async fn the_portal_stays_open_after_the_subscription_has_ended() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    shop.provider.cancel(&bought.subscription);
    shop.report("customer.subscription.deleted", &bought.subscription).await;
    portal(&shop.app, &ann, &ann.key).await.expect(200);
}

#[tokio::test]
async fn without_a_subscription_there_is_no_portal() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    portal(&shop.app, &ann, &ann.key).await.refused(409, "no subscription yet");
}

#[tokio::test]
async fn the_portal_has_the_refusals_of_checkout() {
    let shop = Shop::open().await;
    let (ann, _) = shop.subscriber("ann@example.com").await;
    let bob = shop.app.account("bob@example.com").await;
    portal(&shop.app, &ann, &bob.key).await.refused(404, "account not found");
    portal(&shop.app, &ann, "px_nobody").await.refused(401, "invalid api key");
    let path = format!("/v1/accounts/{}/portal", ann.account_id);
    shop.app.post(&path, Value::Null).await.refused(401, "signup token required");
    let nobody = format!("/v1/accounts/acc_{}/portal", random_text(20));
    shop.app.post(&nobody, Value::Null).await.refused(404, "account not found");
    let with_token =
        || shop.app.request(Method::POST, &path).header("x-signup-token", &ann.signup_token);
    shop.app.clock.advance(chrono::Duration::hours(1));
    Answer::of(with_token()).await.refused(401, "signup token expired");
    revoke_keys(&shop.app, &ann).await;
    portal(&shop.app, &ann, &ann.key).await.refused(401, "api key revoked");
}

#[tokio::test]
async fn a_portal_that_cannot_be_opened_gives_the_reason_and_no_secret() {
    let shop = Shop::open().await;
    let (ann, _) = shop.subscriber("ann@example.com").await;
    for (fault, reason) in [
        (Fault::Status(500), "payment provider failed"),
        (Fault::Status(400), "payment provider refused the request"),
        (Fault::Status(404), "payment provider refused the request"),
        (Fault::Garbage, "payment provider gave an unreadable answer"),
        (Fault::Lost, "payment provider unreachable"),
    ] {
        // A lost connection is tried a second time by the client itself when it was reused.
        shop.provider.fail(Some(fault));
        let answer = portal(&shop.app, &ann, &ann.key).await;
        answer.refused(502, reason);
        assert!(!answer.text.contains(SECRET_KEY), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_method_that_is_not_offered_is_refused_on_contacts_and_quote_too() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let contacts = format!("/v1/pixels/{}/contacts", app.pixel(&ann.key, "shop.example").await);
    for (verb, path) in [
        (Method::GET, format!("{contacts}?after=0&method=gtm")),
        (Method::POST, format!("{contacts}?method=UTM")),
        (Method::DELETE, format!("{contacts}/{}?method=cms", "a".repeat(64))),
        (Method::GET, "/v1/billing/quote?method=gtm".to_owned()),
    ] {
        let answer = app.call(verb, &path, &ann.key, Value::Null).await;
        answer.refused(400, "that install method is not available");
    }
    app.call(Method::GET, "/v1/billing/quote?method=html", &ann.key, Value::Null).await.expect(200);
}

#[tokio::test]
async fn whoami_and_quote_report_what_is_left_of_the_allowance() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let people = ["a", "b"].map(|hem| json!({"hem": hem.repeat(64), "contact": {"name": hem}}));
    let path = format!("/v1/pixels/{pixel}/contacts");
    app.call(Method::POST, &path, &ann.key, json!({"contacts": people})).await.expect(200);
    let expected = json!({
        "contacts_included": 500, "contacts_used": 2, "pixels_included": 3, "pixels_used": 1,
        "resets_at": "2026-04-01T00:00:00.000Z", "resolution": "active", "paused_because": null,
    });
    let quoted = quote(&app, &ann.key).await.expect(200);
    assert_eq!(quoted["allowance"], expected);
    assert_eq!(quoted["contact_count"], 2);
    let who = app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await.expect(200);
    assert_eq!(who["allowance"], expected);
    assert_eq!(who["paid_until"], Value::Null);
    assert_eq!(who["trial_ends_at"], "2026-04-09T12:00:00.000Z");

    app.clock.advance(chrono::Duration::days(30));
    let paused = quote(&app, &ann.key).await.expect(200);
    assert_eq!(paused["allowance"]["resolution"], "paused");
    assert_eq!(paused["allowance"]["paused_because"], "trial_ended");
    assert_eq!(paused["contact_count"], 0, "a new month has begun");
}

#[tokio::test]
async fn an_unlimited_account_has_no_allowance_to_use_up() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("ops@example.com").await;
    app.clock.advance(chrono::Duration::days(365));
    let quoted = quote(&app, &operator.key).await.expect(200);
    let allowance = &quoted["allowance"];
    assert_eq!(allowance["contacts_included"], Value::Null);
    assert_eq!(allowance["pixels_included"], Value::Null);
    assert_eq!(allowance["resolution"], "active");
}
