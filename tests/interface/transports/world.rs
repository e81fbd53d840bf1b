//! A service and all that inputs may name in it: two of these, set up alike, differ in nothing but
//! ids and secrets.

use std::collections::BTreeMap;

use assent::proof::log::Log;
use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::server::infra;
use crate::support::shop::WEBHOOK_SECRET;
use crate::support::sites::dns::DnsServer;
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::stripe::{Provider, SECRET_KEY};
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::watch_reports::ReportMade;
use crate::support::{Account, App};

/// The values of placeholders such as `{own_pixel}`.
pub type Names = BTreeMap<String, Value>;

pub struct World {
    pub app: App,
    provider: Provider,
    _site: HttpsSite,
    dns: DnsServer,
    /// The values that every capability may name.
    shared: Names,
}

/// The host of a capability's own pixel, or of another one of its tenants.
pub fn host(capability: &str, tenant: &str) -> String {
    format!("{tenant}-{}.example", capability.replace('_', "-"))
}

impl World {
    pub async fn new(capabilities: &[&str]) -> Self {
        let tenants = ["own", "foreign", "other-own", "other-foreign"];
        let hosts = capabilities.iter().flat_map(|name| tenants.map(|tenant| host(name, tenant)));
        let hosts = hosts.collect::<Vec<_>>();
        let hosts = hosts.iter().map(String::as_str).collect::<Vec<_>>();
        let (site, dns) = (HttpsSite::start(&hosts).await, DnsServer::start().await);
        let provider = Provider::start().await;
        for host in &hosts {
            site.answer(&format!("{host}/"), Reply::page("<p>no pixel"));
        }
        let (resolve, server) = (site.resolve(&hosts), dns.address.to_string());
        let app = App::spawn_with(&[
            ("INSTALL_CHECK_RESOLVE", resolve.as_str()),
            ("INSTALL_CHECK_CA_FILE", ca_file()),
            // Nobody listens there.
            ("WEBHOOK_RESOLVE", "hooks.example=127.0.0.1:1"),
            ("CLAIM_DNS", server.as_str()),
            LOG_KEY,
            ("STRIPE_API_BASE", provider.base.as_str()),
            ("STRIPE_SECRET_KEY", SECRET_KEY),
            ("STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
        ])
        .await;
        let shared = callers(&app).await;
        Self { app, provider, _site: site, dns, shared }
    }

    /// Two tenants of the capability's own, and what they have.
    pub async fn tenants(&self, capability: &str) -> Names {
        let mut names = self.shared.clone();
        for tenant in ["own", "foreign"] {
            let email = format!("{tenant}@{}", host(capability, "mail"));
            let account = self.app.account(&email).await;
            if capability == "open_billing_portal" {
                self.buy(&account).await;
            }
            let things = self.things(&account, &host(capability, tenant)).await;
            names.extend(
                things.into_iter().map(|(name, value)| (format!("{tenant}_{name}"), value)),
            );
        }
        if ["show_move", "end_move", "cancel_move"].contains(&capability) {
            let path = format!("/v1/pixels/{}/move", names["own_pixel"].as_str().unwrap());
            let (key, domain) = (names["own_key"].as_str().unwrap(), host(capability, "moved"));
            let moved = self.app.call(Method::POST, &path, key, json!({"domain": domain})).await;
            moved.expect(201);
        }
        for (tenant, neighbour) in [("own", "foreign"), ("foreign", "own")] {
            let claimed = host(capability, &format!("other-{neighbour}"));
            let key = names[&format!("{tenant}_key")].as_str().unwrap();
            let claim = self
                .app
                .call(Method::POST, "/v1/pixels/claims", key, json!({"domain": claimed}))
                .await;
            let token = claim.expect(201)["token"].clone();
            self.dns.add(&format!("_assent.{claimed}"), token.as_str().unwrap());
            names.insert(format!("{tenant}_claim"), token);
        }
        self.proofs(capability, &mut names).await;
        let opened = self.app.sign_up(&format!("open@{}", host(capability, "mail"))).await;
        let token = |opened: &Value| {
            let link = opened["verification_url"].as_str().unwrap();
            json!(link.split_once("token=").unwrap().1)
        };
        names.insert("open_account".to_owned(), opened["account_id"].clone());
        names.insert("open_token".to_owned(), opened["signup_token"].clone());
        names.insert("link_token".to_owned(), token(&opened));
        names
    }

    /// For what is about proofs: all choices come into the log at once, and of one there is a proof.
    async fn proofs(&self, capability: &str, names: &mut Names) {
        let Self { app, .. } = self;
        if !capability.ends_with("_proof") {
            return;
        }
        // A new one does not know when the last state was signed, so it does not wait to sign the next one.
        let log = || Log::new(infra(&app.database, app.clock.clone(), &[LOG_KEY]));
        log().append_pending().await.unwrap();
        let pixel = names["own_pixel"].as_str().unwrap();
        let path = format!("/v1/consent/proof?pixel_id={pixel}&visitor_id=visitor-1");
        let mut answer = app.get(&path).await;
        while answer.status == 409 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            log().append_pending().await.unwrap();
            answer = app.get(&path).await;
        }
        let key = log().policy().unwrap();
        names.insert("log_key".to_owned(), json!(key.split(' ').nth(1)));
        names.insert("own_proof".to_owned(), answer.expect(200));
    }

    /// The data of a tenant: a site that asks for consent, a visitor, a person, a spare key.
    async fn things(&self, account: &Account, domain: &str) -> Vec<(&'static str, Value)> {
        let Self { app, .. } = self;
        let site = app.consent_site(&account.key, domain).await;
        let recorded = app.recorded(&site.acceptance("visitor-1")).await;
        app.recorded(&site.refusal("visitor-2", "declined")).await;
        app.store_people(&account.key, &site.pixel_id, 1..4).await.expect(200);
        let webhook = webhook(app, &account.key).await;
        // Pixels are listed by age.
        app.clock.advance(Duration::seconds(1));
        let other = format!("other-{domain}");
        self.mailed_code(account).await;
        let spare = app.issue_key(&account.account_id, &account.signup_token).await.expect(201);
        vec![
            ("webhook", webhook[0].clone()),
            ("event", webhook[1].clone()),
            ("account", json!(account.account_id)),
            ("email", json!(account.email)),
            ("key", json!(account.key)),
            ("token", json!(account.signup_token)),
            ("pixel", json!(site.pixel_id)),
            ("domain", json!(domain)),
            ("other_pixel", json!(app.pixel(&account.key, &other).await)),
            ("other_domain", json!(other)),
            ("policy_hash", json!(site.policy_hash)),
            ("receipt", recorded["receipt"].clone()),
            ("receipt_id", recorded["receipt"]["receipt_id"].clone()),
            ("signature", recorded["signature"].clone()),
            ("spare_prefix", spare["prefix"].clone()),
            ("member", json!(member(app, &account.account_id).await)),
            ("request", self.request_of(&site.pixel_id).await),
            ("import", json!(done_import(app, &account.account_id).await)),
            ("report", self.report_of(account, &site.pixel_id, domain).await),
            ("shared_prefix", self.shared_link_of(account, &site.pixel_id).await),
        ]
    }

    /// Lets an account buy the plan.
    async fn buy(&self, Account { account_id, key, .. }: &Account) {
        let path = format!("/v1/accounts/{account_id}/checkout");
        let opened = self.app.call(Method::POST, &path, key, Value::Null).await.expect(200);
        let session = opened["url"].as_str().unwrap().rsplit('/').next().unwrap();
        self.provider.pay(session, self.app.clock.now());
        let success = format!("/v1/checkout/success?session_id={session}");
        assert_eq!(self.app.get(&success).await.status, 200);
    }

    /// The account was mailed the code 123456.
    async fn mailed_code(&self, Account { account_id, .. }: &Account) {
        let hash = Sha256::digest(format!("{account_id}:123456")).to_vec();
        let expires_at = self.app.clock.now() + Duration::days(1);
        let insert =
            "INSERT INTO confirmation_codes (account_id, code_hash, expires_at) VALUES ($1, $2, $3)
             ON CONFLICT (account_id) DO UPDATE SET code_hash = $2, expires_at = $3";
        let code = sqlx::query(insert).bind(account_id).bind(hash).bind(expires_at);
        code.execute(&self.app.pool).await.unwrap();
    }

    /// The id of a watcher's report, which is the same in both worlds.
    async fn report_of(&self, account: &Account, pixel_id: &str, domain: &str) -> Value {
        let body = ReportMade::of(domain).body();
        let path = format!("/v1/pixels/{pixel_id}/watch-reports");
        let report = self.app.call(Method::POST, &path, &account.key, body).await.expect(201);
        report["report_id"].clone()
    }

    /// The prefix of a shared link.
    async fn shared_link_of(&self, account: &Account, pixel_id: &str) -> Value {
        let path = format!("/v1/pixels/{pixel_id}/shared-links");
        let made = self.app.call(Method::POST, &path, &account.key, json!({})).await.expect(201);
        made["prefix"].clone()
    }

    /// The id of a request for erasure.
    async fn request_of(&self, pixel_id: &str) -> Value {
        let body = json!({"pixel_id": pixel_id, "visitor_id": "visitor-1"});
        self.app.post("/v1/consent/erasure-requests", body).await.expect(202);
        let id: uuid::Uuid =
            sqlx::query_scalar("SELECT request_id FROM erasure_requests WHERE pixel_id = $1")
                .bind(pixel_id)
                .fetch_one(&self.app.pool)
                .await
                .unwrap();
        json!(id)
    }
}

/// The ids of a webhook, and of an event that was sent to it.
async fn webhook(app: &App, key: &str) -> [Value; 2] {
    // Told of nothing that happens here: when it would be told differs.
    let body = json!({"url": "https://hooks.example/a", "events": ["allowance.reached"]});
    let made = app.call(Method::POST, "/v1/webhooks", key, body).await.expect(201);
    let path = format!("/v1/webhooks/{}/test", made["endpoint_id"].as_str().unwrap());
    let tried = app.call(Method::POST, &path, key, Value::Null).await.expect(200);
    [made["endpoint_id"].clone(), tried["event_id"].clone()]
}

/// The id of a member who was invited.
async fn member(app: &App, account_id: &str) -> String {
    let member_id = uuid::Uuid::now_v7();
    sqlx::query(
        "INSERT INTO members (member_id, account_id, email, role, created_at)
         VALUES ($1, $2, 'member@example.com', 'read', $3)",
    )
    .bind(member_id)
    .bind(account_id)
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    member_id.to_string()
}

/// The id of an import that is done.
async fn done_import(app: &App, account_id: &str) -> String {
    let import_id = uuid::Uuid::now_v7();
    sqlx::query(
        "INSERT INTO suppression_imports (import_id, account_id, status, created_at, finished_at)
         VALUES ($1, $2, 'done', $3, $3)",
    )
    .bind(import_id)
    .bind(account_id)
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    import_id.to_string()
}

/// Accounts whose keys and tokens do not do, each for a reason of its own, and an operator's.
async fn callers(app: &App) -> Names {
    let mut names = Names::new();
    names.insert("revoked_key".to_owned(), json!(app.revoked_key().await));
    let suspended = app.account("suspended-too@example.com").await;
    app.set_status(&suspended.account_id, "suspended").await;
    names.insert("suspended_key".to_owned(), json!(suspended.key));
    names.insert("suspended_token".to_owned(), json!(suspended.signup_token));
    names.insert("suspended_account".to_owned(), json!(suspended.account_id));
    let (_, pending) = app.pending_account("pending@example.com").await;
    names.insert("pending_key".to_owned(), json!(pending));
    let operator = app.unlimited_account("unlimited@example.com").await;
    names.insert("unlimited_key".to_owned(), json!(operator.key));
    let late = app.account("late@example.com").await;
    sqlx::query("UPDATE signup_tokens SET expires_at = $2 WHERE account_id = $1")
        .bind(&late.account_id)
        .bind(app.clock.now())
        .execute(&app.pool)
        .await
        .unwrap();
    names.insert("expired_token".to_owned(), json!(late.signup_token));
    names.insert("expired_account".to_owned(), json!(late.account_id));
    names
}

/// `value` with what its placeholders stand for.
pub fn filled(value: &Value, names: &Names) -> Value {
    match value {
        Value::String(text) => {
            let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            let known = name.and_then(|name| names.get(name));
            known.unwrap_or(value).clone()
        }
        Value::Array(items) => items.iter().map(|item| filled(item, names)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), filled(value, names)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}
