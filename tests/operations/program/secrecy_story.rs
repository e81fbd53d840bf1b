//! A story through the real program that uses every secret.

use assent::clock::Clock;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::contacts::hem;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::client;
use crate::support::shop::{WEBHOOK_SECRET, signature};
use crate::support::stripe::{Provider, SECRET_KEY};
use crate::support::{Answer, MailServer, Process, fresh_address};

pub const RECEIPT_SECRET: &str = "a-receipt-secret-of-the-story";
pub const DATABASE_PASSWORD: &str = "database-password-of-the-story";
pub const ADDRESS: &str = "203.0.113.77";

/// Something that must not be seen.
pub struct Word {
    pub what: &'static str,
    pub text: String,
}

/// An answer, and what it is meant to show.
pub struct Said {
    pub request: String,
    pub answer: Answer,
    pub shows: Vec<&'static str>,
}

pub struct Story {
    pub service: Process,
    pub client: reqwest::Client,
    pub pool: PgPool,
    pub provider: Provider,
    pub words: Vec<Word>,
    pub said: Vec<Said>,
    pub account: String,
    pub key: String,
    pub pixel: String,
    pub _database: TestDatabase,
}

impl Story {
    pub async fn begin(settings: &[(&str, &str)]) -> Self {
        let database = TestDatabase::create().await;
        let provider = Provider::start().await;
        let mut url = url::Url::parse(&database.url).unwrap();
        url.set_password(Some(DATABASE_PASSWORD)).unwrap();
        let mut command = program(url.as_str());
        command.envs([
            ("DATABASE_READ_URL", url.as_str()),
            ("RECEIPT_SECRETS", RECEIPT_SECRET),
            ("SMTP_URL", MailServer::shared().url.as_str()),
            ("STRIPE_API_BASE", provider.base.as_str()),
            ("STRIPE_SECRET_KEY", SECRET_KEY),
            ("STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
            ("CLIENT_IP_HEADER", "X-Real-IP"),
            ("RATE_LIMITS", "on"),
            ("METRICS_ADDRESS", "127.0.0.1:0"),
            ("INSTALL_CHECK_RESOLVE", "shop.example=127.0.0.1:1"),
        ]);
        command.envs(settings.iter().copied());
        let mut story = Self {
            service: Process::start(command).await,
            client: client(),
            pool: database.pool(),
            provider,
            words: Vec::new(),
            said: Vec::new(),
            account: String::new(),
            key: String::new(),
            pixel: String::new(),
            _database: database,
        };
        story.keep("receipt secret", RECEIPT_SECRET);
        story.keep("database password", DATABASE_PASSWORD);
        story.keep("payment key", SECRET_KEY);
        story.keep("webhook secret", WEBHOOK_SECRET);
        story.keep("client address", ADDRESS);
        story
    }

    pub fn keep(&mut self, what: &'static str, text: impl Into<String>) -> String {
        let text = text.into();
        assert!(text.len() >= 6, "{what} is too short to look for");
        self.words.push(Word { what, text: text.clone() });
        text
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.service.url(path)).header("X-Real-IP", ADDRESS)
    }

    /// Sends a request; its answer may show the words that are named.
    pub async fn send(&mut self, request: RequestBuilder, shows: &[&'static str]) -> Value {
        let sent = request.try_clone().unwrap().build().unwrap();
        let answer = Answer::of(request).await;
        let body = serde_json::from_str(&answer.text).unwrap_or(Value::Null);
        let request = format!("{} {}", sent.method(), sent.url().path());
        self.said.push(Said { request, answer, shows: shows.to_vec() });
        body
    }

    pub async fn post(&mut self, path: &str, body: Value, shows: &[&'static str]) -> Value {
        let request = self.request(Method::POST, path).json(&body);
        self.send(request, shows).await
    }

    /// With the account's key.
    pub async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Value,
        shows: &[&'static str],
    ) -> Value {
        let request = self.request(method, path).bearer_auth(&self.key);
        self.send(if body.is_null() { request } else { request.json(&body) }, shows).await
    }

    pub async fn get(&mut self, path: &str, shows: &[&'static str]) -> Value {
        self.call(Method::GET, path, Value::Null, shows).await
    }

    #[track_caller]
    pub fn is(&self, status: u16) {
        let last = self.said.last().unwrap();
        assert_eq!(last.answer.status, status, "{}: {}", last.request, last.answer.text);
    }

    pub async fn sql(&self, statement: &'static str) {
        sqlx::raw_sql(statement).execute(&self.pool).await.unwrap();
    }

    pub async fn signs_up(&mut self) {
        let email = self.keep("email", fresh_address("ann-of-the-story"));
        let body = json!({"email": email, "display_name": "Ann"});
        let opened = self.post("/v1/accounts", body.clone(), &["signup token"]).await;
        self.is(201);
        self.keep("signup token", opened["signup_token"].as_str().unwrap());
        self.account = opened["account_id"].as_str().unwrap().to_owned();
        self.post("/v1/accounts", body, &[]).await;
        self.is(409);
        let mail = MailServer::shared().newest(&email).await;
        let code = self.keep("code", mail.code());
        let link_token = mail.link().split_once('=').unwrap().1.to_owned();
        let link_token = self.keep("link token", link_token);
        let path = format!("/v1/accounts/{}/signup-token", self.account);
        let body = json!({"email": email, "code": code});
        let renewed = self.post(&path, body, &["new signup token"]).await;
        self.is(200);
        let token = self.keep("new signup token", renewed["signup_token"].as_str().unwrap());
        let confirm = format!("/v1/accounts/{}/confirm", self.account);
        let body = json!({"code": "000000", "signup_token": token});
        self.post(&confirm, body, &[]).await;
        let body = json!({"code": code, "signup_token": token});
        let confirmed = self.post(&confirm, body, &["api key"]).await;
        self.is(200);
        self.key = self.keep("api key", confirmed["api_key"].as_str().unwrap());
        for token in [link_token.as_str(), "a-link-token-of-nobody"] {
            let path = format!("/v1/email/verify?token={token}");
            let request = self.request(Method::GET, &path).header("Accept", "text/html");
            // The page leads to "This was not me".
            self.send(request, &["link token"]).await;
        }
        let path = format!("/v1/accounts/{}", self.account);
        let request = self.request(Method::GET, &path).header("x-signup-token", &token);
        self.send(request, &["email"]).await;
        self.is(200);
        let failing = self.keep("failing email", "refuse-ann@story.example");
        self.post("/v1/accounts", json!({"email": failing, "display_name": "Ann"}), &[]).await;
        self.is(502);
        for email in [&email, &failing] {
            self.post("/v1/signup/resend-code", json!({"email": email}), &[]).await;
        }
        self.keep("wrong key", "px_a-wrong-key-of-the-story");
        let request = self.request(Method::GET, "/v1/whoami");
        self.send(request.header("X-API-Key", "px_a-wrong-key-of-the-story"), &[]).await;
        self.is(401);
        self.get("/v1/whoami", &[]).await;
        self.is(200);
    }

    pub async fn sets_up(&mut self) -> String {
        let created = self.call(Method::POST, "/v1/pixels", json!({"domain": "shop.example"}), &[]);
        self.pixel = created.await["pixel_id"].as_str().unwrap().to_owned();
        let of_pixel = format!("/v1/pixels/{}", self.pixel);
        let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]});
        let path = format!("{of_pixel}/consent");
        let configured = self.call(Method::POST, &path, body, &[]).await;
        self.is(200);
        self.call(Method::POST, &format!("{of_pixel}/check"), Value::Null, &[]).await;
        self.is(200);
        let colleague = self.keep("colleague's email", fresh_address("bob-of-the-story"));
        let path = format!("{of_pixel}/email-snippet");
        for email in [&colleague, "refuse-ann@story.example", "no address of bob-of-the-story"] {
            self.call(Method::POST, &path, json!({"email": email}), &[]).await;
        }
        configured["policy_hash"].as_str().unwrap().to_owned()
    }

    pub async fn is_visited(&mut self, policy: &str) {
        let visitor = self.keep("visitor id", "visitor-of-the-story");
        let mut choice = json!({"pixel_id": self.pixel, "visitor_id": visitor,
            "url": "https://shop.example/private-page", "consent": "accepted", "affirmative": true,
            "policy_version_hash": policy, "purposes": ["resolution"]});
        self.keep("visited page", "private-page");
        let request = self.request(Method::GET, &format!("/px/{}.js", self.pixel));
        self.send(request, &[]).await;
        self.is(200);
        self.post("/v1/consent/shown", choice.clone(), &[]).await;
        let shows = ["visitor id", "signature"];
        let recorded = self.post("/v1/consent/record", choice.clone(), &shows).await;
        self.is(202);
        choice["url"] = json!("https://elsewhere.example/private-page");
        self.post("/v1/consent/record", choice.clone(), &[]).await;
        self.is(403);
        choice["purposes"] = json!("visitor-of-the-story");
        self.post("/v1/consent/record", choice, &[]).await;
        let signature = self.keep("signature", recorded["signature"].as_str().unwrap());
        let query = format!("pixel_id={}&visitor_id={visitor}", self.pixel);
        for path in ["check", "receipt"] {
            let request = self.request(Method::GET, &format!("/v1/consent/{path}?{query}"));
            self.send(request, &shows).await;
            self.is(200);
        }
        let own = json!({"pixel_id": self.pixel, "visitor_id": visitor});
        self.post("/v1/consent/history", own, &shows).await;
        self.is(200);
        let body = json!({"receipt": recorded["receipt"], "signature": signature});
        self.post("/v1/consent/verify", body, &[]).await;
        self.is(200);
        self.post("/v1/consent/verify", json!({"receipt": visitor, "signature": 1}), &[]).await;
        self.is(400);
        let path = format!("/v1/consent/check?{query}&required_purpose=visitor-of-the-story");
        let request = self.request(Method::GET, &path);
        self.send(request, &[]).await;
        self.is(400);
        let consent = format!("/v1/pixels/{}/consent", self.pixel);
        self.get(&consent, &shows).await;
        self.get(&format!("{consent}/export"), &shows).await;
        self.get(&format!("{consent}/stats"), &[]).await;
        self.is(200);
    }

    pub async fn resolves_people(&mut self) {
        let person = self.keep("hem", hem(0xabcdef));
        self.keep("contact", "ann-private-phone");
        let shows = ["hem", "contact"];
        let path = format!("/v1/pixels/{}/contacts", self.pixel);
        let item = json!({"hem": person, "contact": {"phone": "ann-private-phone"}});
        self.call(Method::POST, &path, json!({"contacts": [item]}), &[]).await;
        self.is(200);
        for wrong in [
            json!({"hem": person, "seen_at": "ann-private-phone", "contact": {"a": 1}}),
            json!({"hem": format!("{person}0"), "contact": {"a": 1}}),
            json!({"hem": person, "contact": "ann-private-phone"}),
        ] {
            self.call(Method::POST, &path, json!({"contacts": [wrong]}), &[]).await;
            self.is(400);
        }
        self.get(&format!("{path}?after=0"), &shows).await;
        self.is(200);
        self.get(&format!("{path}?after={person}"), &[]).await;
        self.is(400);
        self.call(Method::DELETE, &format!("{path}/{person}0"), Value::Null, &[]).await;
        self.is(400);
        self.call(Method::DELETE, &format!("{path}/{person}"), Value::Null, &[]).await;
        self.is(204);
    }

    pub async fn pays(&mut self) {
        let path = format!("/v1/accounts/{}/checkout", self.account);
        let opened = self.call(Method::POST, &path, Value::Null, &[]).await;
        self.is(200);
        let session = opened["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        self.provider.pay(&session, Clock::System.now());
        let event = self.provider.event("checkout.session.completed", &session).to_string();
        for secret in ["whsec_of_somebody_else", WEBHOOK_SECRET] {
            let signed = signature(&event, secret, Clock::System.now().timestamp());
            let request = self.request(Method::POST, "/v1/stripe/webhook").body(event.clone());
            self.send(request.header("Stripe-Signature", signed), &[]).await;
        }
        self.is(200);
        let request =
            self.request(Method::GET, &format!("/v1/checkout/success?session_id={session}"));
        self.send(request, &[]).await;
        self.is(200);
    }

    /// An agent, which gives its key as an argument of the tool.
    pub async fn lets_an_agent_work(&mut self) {
        let visitor = "visitor-of-the-story";
        let contact = json!({"hem": hem(0xabcdef), "contact": {"phone": "ann-private-phone"}});
        let (pixel, key, email) = (&self.pixel, &self.key, "refuse-ann@story.example");
        let calls = [
            ("whoami", json!({"api_key": key})),
            ("whoami", json!({"api_key": "px_a-wrong-key-of-the-story"})),
            ("check_consent", json!({"pixel_id": pixel, "visitor_id": visitor})),
            ("store_contacts", json!({"api_key": key, "pixel_id": pixel, "contacts": [contact]})),
            ("create_account", json!({"email": email, "display_name": "Ann"})),
        ];
        for (tool, arguments) in calls {
            let shows: &[_] =
                if tool == "check_consent" { &["visitor id", "signature"] } else { &[] };
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments}});
            let request = self.request(Method::POST, "/mcp").json(&message);
            let request = request.header("Accept", "application/json, text/event-stream");
            self.send(request, shows).await;
            self.is(200);
        }
    }

    /// An error of PostgreSQL about a refused row quotes the row.
    pub async fn meets_a_broken_database(&mut self, policy: &str) {
        for table in ["accounts", "contacts", "consent_receipts", "consent_shown"] {
            let statement = format!("ALTER TABLE {table} ADD CHECK (false) NOT VALID");
            sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&self.pool).await.unwrap();
        }
        let email = self.keep("unlucky email", "unlucky-ann@story.example");
        self.post("/v1/accounts", json!({"email": email, "display_name": "Ann"}), &[]).await;
        self.is(500);
        let visitor = self.keep("unlucky visitor id", "unlucky-visitor");
        let choice = json!({"pixel_id": self.pixel, "visitor_id": visitor, "affirmative": true,
            "url": "https://shop.example/private-page", "consent": "accepted",
            "policy_version_hash": policy, "purposes": ["resolution"]});
        self.post("/v1/consent/record", choice.clone(), &[]).await;
        self.is(500);
        self.post("/v1/consent/shown", choice, &[]).await;
        self.is(500);
        let item = json!({"hem": hem(0xfedcba), "contact": {"phone": "ann-private-phone"}});
        self.keep("unlucky hem", hem(0xfedcba));
        let path = format!("/v1/pixels/{}/contacts", self.pixel);
        self.call(Method::POST, &path, json!({"contacts": [item]}), &[]).await;
        self.is(500);
        self.sql("ALTER TABLE api_keys RENAME TO keys_elsewhere").await;
        self.get("/v1/whoami", &[]).await;
        self.is(500);
        let path = "/nowhere/visitor-of-the-story?key=px_a-wrong-key-of-the-story";
        let request = self.request(Method::GET, path);
        self.send(request, &[]).await;
        self.is(404);
    }

    pub async fn reveals_nothing(&self) {
        let scrape = self.service.scrape().await.text;
        let log = self.service.log();
        assert!(log.contains("account opened") && log.contains("internal error"), "{log}");
        for Word { what, text } in &self.words {
            let line = log.lines().find(|line| is_in(line, text));
            assert_eq!(line, None, "the log shows the {what}");
            assert!(!is_in(&scrape, text), "the metrics show the {what}");
            for Said { request, answer, shows } in &self.said {
                let is_shown = is_in(&answer.text, text);
                assert!(
                    !is_shown || shows.contains(what),
                    "{request} shows the {what}: {answer:?}"
                );
                let headers = format!("{:?}", answer.headers);
                assert!(!headers.contains(text.as_str()), "{request} sends the {what} as a header");
            }
        }
    }
}

/// Whether a text shows a word. Six digits can be part of any time or id, and are no code then.
fn is_in(text: &str, word: &str) -> bool {
    let is_joined = |character: char| character.is_alphanumeric() || character == '.';
    let is_code = word.bytes().all(|byte| byte.is_ascii_digit());
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !(is_code && (before.ends_with(is_joined) || after.starts_with(is_joined)))
    })
}
