//! The service that the examples of the description are run against.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::infra::periodic::Schedule;
use assent::proof::log::Log;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Method;
use serde_json::{Map, Value, json};
use sha2::Sha256;

use crate::support::server::{infra, start_of_time};
use crate::support::setup::{set_install_status, set_plan};
use crate::support::shop::{WEBHOOK_SECRET, signature};
use crate::support::sites::dns::DnsServer;
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::stripe::{Provider, SECRET_KEY};
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::waiting::wait_until;
use crate::support::{Account, Answer, App, MailServer};

pub const FILE: &str = "src/web/docs/examples.json";
pub const BASE: &str = "https://assent.example";
pub const HOST: &str = "shop.example";
/// The host of the webhook.
pub const HOOKS: &str = "hooks.shop.example";
/// The secret that signs the receipts of the examples.
pub const SECRET: &str = "receipt-secret-of-the-examples";
/// Fields whose values nobody can know before.
pub const MADE_ANEW: [&str; 26] = [
    "account_id",
    "api_key",
    "cdn_script_url",
    "code",
    "endpoint_id",
    "entry",
    "event_id",
    "id",
    "import_id",
    "key_prefix",
    "member_id",
    "pixel_id",
    "prefix",
    "receipt_id",
    "report_id",
    "request_id",
    "salt",
    "secret",
    "sentences",
    "signature",
    "signup_token",
    "tlog_proof",
    "token",
    "url",
    "verification_url",
    "webhook_id",
];

/// Values of the examples, and their values in this run.
#[derive(Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    pub fn learn(&mut self, shown: &str, real: &str) {
        self.0.insert(shown.to_owned(), real.to_owned());
    }

    /// The longest first: a key's prefix is a part of the key.
    pub fn replaced(
        &self,
        text: &str,
        pair: impl Fn((&String, &String)) -> (String, String),
    ) -> String {
        let mut pairs = self.0.iter().map(pair).collect::<Vec<_>>();
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    pub fn real(&self, shown: &str) -> String {
        self.replaced(shown, |(shown, real)| (shown.clone(), real.clone()))
    }

    pub fn shown(&self, real: &str) -> String {
        self.replaced(real, |(shown, real)| (real.clone(), shown.clone()))
    }

    pub fn real_value(&self, shown: &Value) -> Value {
        // Some have several lines.
        let escaped = |text: &str| {
            let quoted = json!(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let real =
            self.replaced(&shown.to_string(), |(shown, real)| (escaped(shown), escaped(real)));
        serde_json::from_str(&real).unwrap()
    }

    /// The answer as it is shown: what was made anew has the value that `kept` gives it.
    pub fn documented(&mut self, field: &str, real: &Value, kept: &Value) -> Value {
        match real {
            Value::Object(fields) => {
                let documented = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), self.documented(name, value, &kept[name])));
                let mut documented = documented.collect::<Map<_, _>>();
                if let (Some(receipt), true) =
                    (documented.get("receipt"), documented.contains_key("signature"))
                {
                    let signed = sign(receipt);
                    self.learn(&signed, fields["signature"].as_str().unwrap());
                    documented.insert("signature".to_owned(), json!(signed));
                }
                Value::Object(documented)
            }
            Value::Array(items) => {
                let documented = items.iter().enumerate();
                documented.map(|(index, item)| self.documented(field, item, &kept[index])).collect()
            }
            Value::String(text) => {
                let is_known = self.0.values().any(|known| known == text);
                if !is_known && MADE_ANEW.contains(&field) && !text.contains(BASE) {
                    self.learn(kept.as_str().unwrap_or(text), text);
                }
                json!(self.shown(text))
            }
            other => other.clone(),
        }
    }
}

/// As anyone can who has the secret: HMAC-SHA256 over the canonical JSON.
pub fn sign(receipt: &Value) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&serde_json_canonicalizer::to_vec(receipt).unwrap());
    hex::encode(mac.finalize().into_bytes())
}

/// The service with everything around it that it talks to.
pub struct World {
    pub app: App,
    pub document: Value,
    pub names: Names,
    pub operator: Account,
    pub provider: Provider,
    pub site: HttpsSite,
    pub dns: DnsServer,
}

impl World {
    pub async fn new() -> Self {
        let provider = Provider::start().await;
        let site = HttpsSite::start(&[HOST, HOOKS]).await;
        site.answer(&format!("{HOOKS}/assent"), Reply::page("ok"));
        let dns = DnsServer::start().await;
        let (resolve, names) = (site.resolve(&[HOST]), dns.address.to_string());
        let hooks = site.resolve(&[HOOKS]);
        let settings = [
            ("BASE_URL", BASE),
            ("RECEIPT_SECRETS", SECRET),
            ("STRIPE_API_BASE", provider.base.as_str()),
            ("STRIPE_SECRET_KEY", SECRET_KEY),
            ("STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
            ("INSTALL_CHECK_RESOLVE", resolve.as_str()),
            ("INSTALL_CHECK_CA_FILE", ca_file()),
            ("WEBHOOK_RESOLVE", hooks.as_str()),
            ("WEBHOOK_CA_FILE", ca_file()),
            ("CLAIM_DNS", names.as_str()),
            LOG_KEY,
        ];
        // Without a mail server a signup answers with its link.
        let quiet = App::spawn_with(&[("RECEIPT_SECRETS", SECRET)]).await;
        let operator = quiet.unlimited_account("operator@example.com").await;
        let body = json!({"email": "client@example.com", "display_name": "Client", "external_user_id": "customer-17"});
        let client =
            quiet.call(Method::POST, "/v1/accounts", &operator.key, body).await.expect(201);
        let key = client["api_key"].as_str().unwrap();
        let client = client["account_id"].as_str().unwrap();
        let path = format!("/v1/accounts/{client}/activate");
        quiet.call(Method::POST, &path, &operator.key, Value::Null).await.expect(200);
        set_plan(&quiet, client, "paid").await;
        quiet.pixel(key, "blog.example").await;
        let mail = [("SMTP_URL", MailServer::shared().url.as_str())];
        let (database, clock) = (Arc::clone(&quiet.database), quiet.clock.clone());
        // Periodic jobs run once, at the start. Otherwise it would depend on the moment whether a call finds their
        // result.
        let app =
            App::spawn_tuned(database, clock, &[settings.as_slice(), &mail].concat(), |infra| {
                infra.schedule = Schedule::new(Clock::manual(start_of_time()));
            })
            .await;
        let document = app.get("/openapi.json").await.expect(200);
        Self { app, document, names: Names::default(), operator, provider, site, dns }
    }

    pub fn real(&self, shown: &str) -> String {
        self.names.real(shown)
    }

    /// Makes the preparations of a call, outside of the service or by its other calls.
    pub async fn prepare(&mut self, example: &Value) {
        let pixel = self.real("Zr5LxN2h3vTqYb0wKd8m");
        match example["call"].as_str().unwrap() {
            "POST /v1/accounts/{account_id}/verification-email" | "POST /v1/signup/resend-code" => {
                self.app.clock.advance(chrono::Duration::seconds(61));
            }
            "POST /v1/accounts/{account_id}/signup-token" => {
                let mails = MailServer::shared().wait_for("ann@shop.example", 3).await;
                let code = mails.last().unwrap().code();
                self.names.learn(example["body"]["code"].as_str().unwrap(), &code);
            }
            "POST /v1/account/members" => {
                self.app.clock.advance(chrono::Duration::seconds(1));
                self.is_mailed_a_code(example, "keys").await;
            }
            "PATCH /v1/account" if example["body"]["email"].is_string() => {
                let address = example["body"]["email"].as_str().unwrap();
                let body = json!({"purpose": "change_email", "email": address});
                self.is_mailed_a_code_at(example, body, address).await;
            }
            // Keys are listed in order of creation, so their times must differ.
            "POST /v1/api-keys" | "PATCH /v1/account" => {
                self.app.clock.advance(chrono::Duration::seconds(1))
            }
            "GET /v1/consent/proof" => self.choices_are_in_the_log().await,
            "PATCH /v1/account/members/{member_id}" => self.is_mailed_a_code(example, "keys").await,
            "DELETE /v1/account" => self.is_mailed_a_code(example, "delete_account").await,
            "GET /v1/api-keys" => self.key_is_noted_as_used(example).await,
            "POST /v1/pixels/claims/{token}/verify" => {
                let token = self.real(example["path"]["token"].as_str().unwrap());
                self.dns.add("_assent.blog.example", &token);
            }
            "POST /v1/pixels/{pixel_id}/check" => {
                self.site.answer(&format!("{HOST}/"), Reply::page(pixel.as_str()));
            }
            "POST /v1/accounts/{account_id}/portal" => {
                let session = self.provider_session();
                self.provider.pay(&session, self.app.clock.now());
                let back = format!("/v1/checkout/success?session_id={session}");
                assert_eq!(self.app.get(&back).await.status, 200);
            }
            "GET /v1/suppressions/imports/{import_id}" => self.import_is_done(example).await,
            "GET /v1/pixels/{pixel_id}/screenshots" => self.picture_is_taken(&pixel).await,
            "DELETE /v1/pixels/{pixel_id}" => {
                set_install_status(&self.app, &pixel, "not_installed").await;
            }
            _ => {}
        }
    }

    /// A picture of the popup, as a node with a browser stores it.
    pub async fn picture_is_taken(&self, pixel: &str) {
        let form = "INSERT INTO popup_forms (pixel_id, configured_at, taken_at, policy_version,
                 policy_hash, script, list, list_sha256)
             VALUES ($1, $2, $2, 1, repeat('5a', 32), sha256('script'), 'list', sha256('list'))";
        let picture = "INSERT INTO popup_screenshots (pixel_id, configured_at, screenshot_id, notice,
                 language, device, sha256)
             VALUES ($1, $2, '019cd7a3-2f10-7c41-9d6e-3b8a5f2c7e04', sha256('notice'), 'de', 'phone',
                 sha256('\\x89504e47'))";
        let file = "INSERT INTO popup_screenshot_files (pixel_id, sha256, png)
             SELECT pixel_id, sha256, '\\x89504e47'::bytea FROM popup_screenshots
             WHERE pixel_id = $1 AND configured_at = $2";
        for insert in [form, picture, file] {
            let insert = sqlx::query(insert).bind(pixel).bind(self.app.clock.now());
            insert.execute(&self.app.pool).await.unwrap();
        }
    }

    /// Appends the choices to the log. A new `Log` does not wait for the age of the last state, which it does not know.
    pub async fn choices_are_in_the_log(&self) {
        let settings = [("BASE_URL", BASE), LOG_KEY];
        let waiting = "SELECT (SELECT count(*) FROM log_leaves WHERE epoch IS NULL)
             + (SELECT count(*) FROM log_head, log_published WHERE log_published.size < log_head.size)";
        while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&self.app.pool).await.unwrap() > 0 {
            let log = Log::new(infra(&self.app.database, self.app.clock.clone(), &settings));
            log.append_pending().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The code that the example gives is the one of the newest mail.
    pub async fn is_mailed_a_code(&mut self, example: &Value, purpose: &str) {
        self.is_mailed_a_code_at(example, json!({"purpose": purpose}), "ann@shop.example").await;
    }

    pub async fn is_mailed_a_code_at(&mut self, example: &Value, body: Value, mailbox: &str) {
        let before = MailServer::shared().inbox(mailbox).len();
        let key = self.real("px_9YtBz4HsJd6FgMp3Ea8Uo5Ti1Xb0ZnCQq7cVx2RkLwN");
        self.app.call(Method::POST, "/v1/account/codes", &key, body).await.expect(202);
        let mails = MailServer::shared().wait_for(mailbox, before + 1).await;
        self.names.learn(example["body"]["code"].as_str().unwrap(), &mails.last().unwrap().code());
    }

    /// When a key was last used is written a moment later.
    pub async fn key_is_noted_as_used(&self, example: &Value) {
        wait_until("the first key counts as used", async || {
            let keys = self.call(example).await.expect(200);
            keys.pointer("/api_keys/0/last_used_at").is_some_and(Value::is_string)
        })
        .await;
    }

    /// A list is applied within moments.
    pub async fn import_is_done(&self, example: &Value) {
        let is_done = async || self.call(example).await.expect(200)["status"] == "done";
        wait_until("the list is applied", is_done).await;
    }

    /// The id of the session that was opened.
    pub fn provider_session(&self) -> String {
        let url = self.real("https://checkout.stripe.com/c/pay/cs_test_a1B2c3D4e5F6g7H8");
        url.rsplit('/').next().unwrap().to_owned()
    }

    pub fn operation(&self, call: &str) -> (Method, &str, &Value) {
        let (method, path) = call.split_once(' ').expect("method and path");
        let (path, item) = self.document["paths"]
            .as_object()
            .unwrap()
            .get_key_value(path)
            .unwrap_or_else(|| panic!("{FILE}: {call} is not described"));
        let operation = &item[method.to_lowercase()];
        assert!(operation.is_object(), "{FILE}: {call} is not described");
        (Method::from_bytes(method.as_bytes()).unwrap(), path, operation)
    }

    pub async fn call(&self, example: &Value) -> Answer {
        let (method, path, operation) = self.operation(example["call"].as_str().unwrap());
        let text = |value: &Value| {
            value.as_str().map_or_else(|| value.to_string(), |text| self.real(text))
        };
        let given = |name: &str| example[name].as_object().into_iter().flatten();
        let path = given("path").fold(path.to_owned(), |path, (name, value)| {
            path.replace(&format!("{{{name}}}"), &text(value))
        });
        let query =
            given("query").map(|(name, value)| (name.clone(), text(value))).collect::<Vec<_>>();
        let mut request = self.app.request(method, &path).query(&query);
        // The tool server looks at its own name.
        request = request
            .header("Host", "assent.example")
            .header("Accept", "application/json, text/event-stream");
        let body = example.get("body").map(|body| match body {
            Value::String(text) => text.clone(),
            other => self.names.real_value(other).to_string(),
        });
        request = match self.credential(operation) {
            Some("signup_token") => request.header("x-signup-token", self.signup_token()),
            Some("api_key") => request.bearer_auth(self.key(operation)),
            Some(_) => {
                let now = self.app.clock.now().timestamp();
                request.header(
                    "payment-signature",
                    signature(body.as_deref().unwrap(), WEBHOOK_SECRET, now),
                )
            }
            None => request,
        };
        Answer::of(match body {
            Some(body) => request.header("Content-Type", "application/json").body(body),
            None => request,
        })
        .await
    }

    /// The first way to prove who calls that the operation names, unless it needs none.
    pub fn credential<'a>(&self, operation: &'a Value) -> Option<&'a str> {
        let ways = operation["security"].as_array().unwrap();
        let names =
            ways.iter().map(|way| way.as_object().unwrap().keys().next().map(String::as_str));
        let names = names.collect::<Vec<_>>();
        if names.contains(&None) { None } else { names.first().copied().flatten() }
    }

    /// The newest one: each ends the one before.
    pub fn signup_token(&self) -> String {
        let shown = [
            "st_Kd8mZr5LxN2h3vTqYb0wPq7cVx2RkLw9YtBz4HsJd6F",
            "st_Nq7cVx2RkLw9YtBz4HsJd6FgMp3Ea8Uo5Ti1Xb0ZnCQ",
        ];
        let known = shown.iter().find(|token| self.names.0.contains_key(**token));
        self.real(known.expect("the account was opened"))
    }

    /// An operator's where only that will do.
    pub fn key(&self, operation: &Value) -> String {
        let asks_for_operator =
            operation["responses"].to_string().contains("unlimited key required");
        match asks_for_operator {
            true => self.operator.key.clone(),
            false => self.real("px_9YtBz4HsJd6FgMp3Ea8Uo5Ti1Xb0ZnCQq7cVx2RkLwN"),
        }
    }
}

pub fn examples() -> Vec<Value> {
    serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).expect("a list of examples")
}
