//! The steps that most tests begin with.

use reqwest::Method;
use serde_json::{Value, json};

use super::server::{Answer, App};

/// An active account with a key.
#[derive(Clone, Debug)]
pub struct Account {
    pub account_id: String,
    pub email: String,
    pub signup_token: String,
    pub key: String,
}

/// A pixel with consent on.
pub struct Site {
    pub pixel_id: String,
    pub policy_hash: String,
    pub domain: String,
}

impl App {
    /// Signs up and returns the answer's body; no mail server is involved.
    pub async fn sign_up(&self, email: &str) -> Value {
        let body = json!({"email": email, "display_name": "Test"});
        self.post("/v1/accounts", body).await.expect(201)
    }

    /// An account that has confirmed its address and holds a key.
    pub async fn account(&self, email: &str) -> Account {
        let opened = self.sign_up(email).await;
        let link = opened["verification_url"].as_str().expect("no mail server is configured");
        let path = link.strip_prefix(&self.base).expect("the link is the service's own");
        assert_eq!(self.get(path).await.status, 200);
        let account_id = opened["account_id"].as_str().unwrap().to_owned();
        let signup_token = opened["signup_token"].as_str().unwrap().to_owned();
        let issued = self.issue_key(&account_id, &signup_token).await.expect(201);
        Account {
            key: issued["api_key"].as_str().unwrap().to_owned(),
            email: email.to_owned(),
            account_id,
            signup_token,
        }
    }

    pub async fn issue_key(&self, account_id: &str, signup_token: &str) -> Answer {
        let path = format!("/v1/api-keys?account_id={account_id}");
        Answer::of(self.request(Method::POST, &path).header("x-signup-token", signup_token)).await
    }

    /// An account of plan `unlimited`, made the way the operator makes one.
    pub async fn unlimited_account(&self, email: &str) -> Account {
        let account = self.account(email).await;
        sqlx::query("UPDATE accounts SET plan = 'unlimited' WHERE account_id = $1")
            .bind(&account.account_id)
            .execute(&self.pool)
            .await
            .unwrap();
        account
    }

    /// Creates a pixel and returns its id.
    pub async fn pixel(&self, key: &str, domain: &str) -> String {
        let created = self.call(Method::POST, "/v1/pixels", key, json!({"domain": domain})).await;
        created.expect(201)["pixel_id"].as_str().unwrap().to_owned()
    }

    /// The account, as it is shown to its signup token.
    pub async fn show_account(&self, account_id: &str, signup_token: &str) -> Answer {
        let path = format!("/v1/accounts/{account_id}");
        Answer::of(self.request(Method::GET, &path).header("x-signup-token", signup_token)).await
    }

    /// Creates a pixel whose visitors are asked for `resolution` and `analytics`.
    pub async fn consent_site(&self, key: &str, domain: &str) -> Site {
        let pixel_id = self.pixel(key, domain).await;
        let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
        let path = format!("/v1/pixels/{pixel_id}/consent");
        let configured = self.call(Method::POST, &path, key, body).await.expect(200);
        let policy_hash = configured["policy_hash"].as_str().unwrap().to_owned();
        Site { pixel_id, policy_hash, domain: domain.to_owned() }
    }
}

impl Site {
    /// The body with which a visitor accepts `resolution`.
    pub fn acceptance(&self, visitor_id: &str) -> Value {
        json!({
            "pixel_id": self.pixel_id,
            "visitor_id": visitor_id,
            "url": format!("https://{}/page", self.domain),
            "consent": "accepted",
            "affirmative": true,
            "policy_version_hash": self.policy_hash,
            "purposes": ["resolution"],
        })
    }

    /// The body of a decline (`declined`) or a withdrawal (`withdrawn`).
    pub fn refusal(&self, visitor_id: &str, state: &str) -> Value {
        json!({
            "pixel_id": self.pixel_id,
            "visitor_id": visitor_id,
            "url": format!("https://{}/page", self.domain),
            "consent": state,
        })
    }
}
