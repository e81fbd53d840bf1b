//! Keys that do not do, each for a reason of its own.

use serde_json::json;

use super::server::{Answer, App};
use reqwest::Method;

impl App {
    /// Opens an account as the operator does: with an unlimited key, so that it holds a key before
    /// it is confirmed. Returns its id and its key.
    pub async fn pending_account(&self, email: &str) -> (String, String) {
        let operator = self.unlimited_account(&format!("operator-of-{email}")).await;
        let body = json!({"email": email, "display_name": "Pending"});
        let opened = self.call(Method::POST, "/v1/accounts", &operator.key, body).await.expect(201);
        let text = |field: &str| opened[field].as_str().expect("the operator gets it").to_owned();
        (text("account_id"), text("api_key"))
    }

    /// A key that its holder may no longer use.
    pub async fn revoked_key(&self) -> String {
        let account = self.account("revoked@example.com").await;
        sqlx::query("UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1")
            .bind(&account.account_id)
            .bind(self.clock.now())
            .execute(&self.pool)
            .await
            .unwrap();
        account.key
    }

    /// The key of an account that the operator has suspended.
    pub async fn suspended_key(&self) -> String {
        let account = self.account("suspended@example.com").await;
        self.set_status(&account.account_id, "suspended").await;
        account.key
    }

    pub async fn set_status(&self, account_id: &str, status: &str) {
        sqlx::query("UPDATE accounts SET status = $2 WHERE account_id = $1")
            .bind(account_id)
            .bind(status)
            .execute(&self.pool)
            .await
            .unwrap();
    }

    /// Provokes every refusal that all setup routes share.
    pub async fn refuses_all_but_good_standing(&self, method: Method, path: &str) {
        let with = |header: &'static str, value: String| {
            let request = self.request(method.clone(), path).header(header, value);
            // A caller without permission is refused before the body is read.
            async move { Answer::of(request.body("no json")).await }
        };
        let bearer = |key: &str| with("authorization", format!("Bearer {key}"));
        let missing = Answer::of(self.request(method.clone(), path)).await;
        missing.refused(401, "api key required");
        with("authorization", "Basic eDp5".into()).await.refused(401, "api key required");
        with("authorization", String::new()).await.refused(401, "api key required");
        bearer("").await.refused(401, "api key required");
        bearer("px_unknown").await.refused(403, "invalid api key");
        with("x-api-key", "nonsense".into()).await.refused(403, "invalid api key");
        bearer(&self.revoked_key().await).await.refused(403, "api key revoked");
        let (_, pending) = self.pending_account("pending@example.com").await;
        bearer(&pending).await.refused(403, "account is not in good standing");
        let suspended = self.suspended_key().await;
        bearer(&suspended).await.refused(403, "account is not in good standing");
    }

    /// Provokes every refusal that consent configuration and log share.
    pub async fn refuses_all_but_active_accounts(&self, method: Method, path: &str) {
        let bearer = |key: &str| {
            let request = self.request(method.clone(), path).bearer_auth(key);
            async move { Answer::of(request.body("no json")).await }
        };
        let missing = Answer::of(self.request(method.clone(), path)).await;
        missing.refused(401, "api key required");
        bearer("px_unknown").await.refused(401, "invalid api key");
        bearer(&self.revoked_key().await).await.refused(401, "invalid api key");
        let (_, pending) = self.pending_account("pending@example.com").await;
        bearer(&pending).await.refused(403, "account is not active");
    }
}
