//! A customer's site, opened over HTTP, and its visitors.

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

/// A pixel that asks for `resolution`.
#[derive(Clone)]
pub struct Site {
    pub pixel_id: String,
    policy_hash: String,
}

async fn answer(request: RequestBuilder) -> Value {
    let response = request.send().await.unwrap();
    let status = response.status();
    assert!(status.is_success(), "{status}: {}", response.text().await.unwrap());
    response.json().await.unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl Site {
    /// Opens an account, confirms it, makes a pixel and turns consent on.
    pub async fn open(client: &Client, base: &str) -> Self {
        let post = |path: &str| client.post(format!("{base}{path}"));
        let body = json!({"email": "shop@example.com", "display_name": "Shop"});
        let opened = answer(post("/v1/accounts").json(&body)).await;
        let link = text(&opened["verification_url"]);
        let path = link.splitn(4, '/').nth(3).expect("a link has a path");
        client.get(format!("{base}/{path}")).send().await.unwrap().error_for_status().unwrap();
        let path = format!("/v1/api-keys?account_id={}", text(&opened["account_id"]));
        let token = text(&opened["signup_token"]);
        let key = text(&answer(post(&path).header("x-signup-token", token)).await["api_key"]);
        let body = json!({"domain": "shop.example"});
        let pixel = answer(post("/v1/pixels").header("x-api-key", &key).json(&body)).await;
        let pixel_id = text(&pixel["pixel_id"]);
        let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]});
        let path = format!("/v1/pixels/{pixel_id}/consent");
        let configured = answer(post(&path).header("x-api-key", &key).json(&body)).await;
        Self { pixel_id, policy_hash: text(&configured["policy_hash"]) }
    }

    /// The body with which a visitor accepts, with the choice's own id as the tag sends it.
    pub fn acceptance(&self, visitor_id: &str) -> Value {
        json!({
            "pixel_id": self.pixel_id,
            "visitor_id": visitor_id,
            "url": "https://shop.example/",
            "consent": "accepted",
            "affirmative": true,
            "policy_version_hash": self.policy_hash,
            "purposes": ["resolution"],
            "choice_id": uuid::Uuid::now_v7(),
        })
    }

    /// Records a choice and gives the whole answer.
    pub async fn accept(&self, client: &Client, base: &str, visitor_id: &str) -> Value {
        let request = client.post(format!("{base}/v1/consent/record"));
        answer(request.json(&self.acceptance(visitor_id))).await
    }

    pub async fn receipt(&self, client: &Client, base: &str, visitor_id: &str) -> Value {
        let ids = format!("pixel_id={}&visitor_id={visitor_id}", self.pixel_id);
        answer(client.get(format!("{base}/v1/consent/receipt?{ids}"))).await
    }
}

/// Whether the service still calls a receipt its own.
pub async fn verifies(client: &Client, base: &str, envelope: &Value) -> bool {
    let body = json!({"receipt": envelope["receipt"], "signature": envelope["signature"]});
    let request = client.post(format!("{base}/v1/consent/verify")).json(&body);
    answer(request).await["valid"] == json!(true)
}
