//! The service together with a payment provider, and the steps of paying.

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::Sha256;

use super::server::{Answer, App, Settings};
use super::story::Account;
use super::stripe::{Bought, Provider, SECRET_KEY};

pub const WEBHOOK_SECRET: &str = "whsec_secret_of_the_tests";

pub const COMPLETED: &str = "checkout.session.completed";

pub const PAID: &str = "invoice.paid";

pub const DELETED: &str = "customer.subscription.deleted";

/// The service, connected to a provider of its own.
pub struct Shop {
    pub app: App,
    pub provider: Provider,
}

/// The payment of an account according to `whoami`: plan, status, `paid_until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub plan: String,
    pub status: String,
    pub paid_until: Option<DateTime<Utc>>,
}

impl Shop {
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// With some settings of the test's own.
    pub async fn open_with(settings: Settings<'_>) -> Self {
        let provider = Provider::start().await;
        let own = [
            ("STRIPE_API_BASE", provider.base.as_str()),
            ("STRIPE_SECRET_KEY", SECRET_KEY),
            ("STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
        ];
        let app = App::spawn_with(&[settings, &own].concat()).await;
        Self { app, provider }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.app.clock.now()
    }

    /// Opens checkout with the account's key.
    pub async fn checkout(&self, account: &Account) -> Answer {
        let path = format!("/v1/accounts/{}/checkout", account.account_id);
        self.app.call(Method::POST, &path, &account.key, Value::Null).await
    }

    /// Opens checkout and gives the id of its session.
    pub async fn session(&self, account: &Account) -> String {
        let url = self.checkout(account).await.expect(200)["url"].as_str().unwrap().to_owned();
        url.rsplit('/').next().unwrap().to_owned()
    }

    /// Opens checkout and pays; the service does not hear of it.
    pub async fn buy(&self, account: &Account) -> Bought {
        let session = self.session(account).await;
        self.provider.pay(&session, self.now())
    }

    /// An account that has paid, and come back to the success page.
    pub async fn subscriber(&self, email: &str) -> (Account, Bought) {
        let account = self.app.account(email).await;
        let bought = self.buy(&account).await;
        assert_eq!(self.complete_checkout(&bought.session).await.status, 200);
        (account, bought)
    }

    /// The success page.
    pub async fn complete_checkout(&self, session: &str) -> Answer {
        self.app.get(&format!("/v1/checkout/success?session_id={session}")).await
    }

    /// Delivers an event, signed now.
    pub async fn deliver(&self, event: &Value) -> Answer {
        Answer::of(self.delivery(&event.to_string())).await
    }

    /// Delivers an event that must be taken.
    pub async fn report(&self, kind: &str, id: &str) {
        let answer = self.deliver(&self.provider.event(kind, id)).await;
        assert_eq!(answer.expect(200), json!({"received": true}));
    }

    /// A signed delivery, not sent yet.
    pub fn delivery(&self, body: &str) -> RequestBuilder {
        let signature = signature(body, WEBHOOK_SECRET, self.now().timestamp());
        self.unsigned_delivery(body).header("Stripe-Signature", signature)
    }

    pub fn unsigned_delivery(&self, body: &str) -> RequestBuilder {
        let request = self.app.request(Method::POST, "/v1/stripe/webhook");
        request.header("Content-Type", "application/json; charset=utf-8").body(body.to_owned())
    }

    pub async fn standing(&self, account: &Account) -> Standing {
        let whoami =
            self.app.call(Method::GET, "/v1/whoami", &account.key, Value::Null).await.expect(200);
        let text = |name: &str| whoami[name].as_str().map(str::to_owned);
        Standing {
            plan: text("plan").unwrap(),
            status: text("status").unwrap(),
            paid_until: text("paid_until").map(|time| time.parse().expect("a time")),
        }
    }

    /// Runs a statement on the row of an account, whose id is `$1`.
    pub async fn alter(&self, account: &Account, set: &str) {
        let statement = format!("UPDATE accounts SET {set} WHERE account_id = $1");
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .bind(&account.account_id)
            .execute(&self.app.pool)
            .await
            .unwrap();
    }
}

impl Standing {
    pub fn trial() -> Self {
        Self { plan: "free".to_owned(), status: "active".to_owned(), paid_until: None }
    }

    pub fn paid_until(end: DateTime<Utc>) -> Self {
        Self { plan: "paid".to_owned(), status: "active".to_owned(), paid_until: Some(end) }
    }
}

/// The header of a delivery that was signed at `time`, in seconds since 1970.
pub fn signature(body: &str, secret: &str, time: i64) -> String {
    format!("t={time},v1={}", digest(body, secret, time))
}

pub fn digest(body: &str, secret: &str, time: i64) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{time}.{body}").as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// Fails unless the answer is a page of this status that says so.
#[track_caller]
pub fn is_page(answer: &Answer, status: u16, text: &str) {
    assert_eq!(answer.status, status, "{}", answer.text);
    let kind = answer.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/html"), "{kind}");
    assert!(answer.text.contains(text), "{}", answer.text);
}

/// Fails unless the event was taken.
#[track_caller]
pub fn received(answer: &Answer) {
    assert_eq!(answer.expect(200), json!({"received": true}));
}
