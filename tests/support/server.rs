//! The service under test, in this process, on a free port.

use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::config::Config;
use assent::infra::Infra;
use assent::infra::metrics::Metrics;
use assent::infra::postgres::Database;
use chrono::{DateTime, TimeZone, Utc};
use reqwest::{Method, RequestBuilder};
use rocket::figment::Figment;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::sync::oneshot;

use super::postgres::database::TestDatabase;
use super::waiting::wait_until;

/// Settings of one test, as the environment variables that an operator would set.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// A running service.
pub struct App {
    /// Its address, without a trailing slash.
    pub base: String,
    pub clock: Clock,
    pub pool: PgPool,
    pub client: reqwest::Client,
    pub metrics: Arc<Metrics>,
    shutdown: rocket::Shutdown,
    pub database: Arc<TestDatabase>,
}

/// Where every test's clock stands at first: no day or month ends soon.
pub fn start_of_time() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 10, 12, 0, 0).unwrap()
}

const DEFAULTS: Settings<'static> = &[
    ("RECEIPT_SECRETS", "receipt-secret-of-the-tests"),
    ("RATE_LIMITS", "off"),
    ("TAG_CDN_BASE", "https://tags.example"),
];

fn config(settings: Settings<'_>) -> Config {
    let find = |name: &str| {
        let given = settings.iter().chain(DEFAULTS).find(|(known, _)| *known == name);
        given.map(|(_, value)| (*value).to_owned())
    };
    Config::from_source(&find).expect("the test's settings are valid")
}

/// The infrastructure of a service, for tests of a part of it.
pub fn infra(database: &TestDatabase, clock: Clock, settings: Settings<'_>) -> Infra {
    let config = config(settings);
    let replica = config.database_read_url.as_ref();
    let replica = replica.map(|url| Database::connect_replica(url.expose()).unwrap());
    Infra::new(config, clock, Database::connect(&database.url).unwrap(), replica).unwrap()
}

fn figment() -> Figment {
    Figment::from(rocket::Config {
        port: 0,
        log_level: rocket::config::LogLevel::Off,
        ident: rocket::config::Ident::none(),
        ip_header: None,
        shutdown: rocket::config::Shutdown {
            ctrlc: false,
            grace: 1,
            mercy: 0,
            ..Default::default()
        },
        ..rocket::Config::release_default()
    })
}

impl App {
    /// The service with the tests' usual settings.
    pub async fn spawn() -> Self {
        Self::spawn_with(&[]).await
    }

    /// The service with some settings of the test's own.
    pub async fn spawn_with(settings: Settings<'_>) -> Self {
        let database = Arc::new(TestDatabase::create().await);
        Self::spawn_on(database, Clock::manual(start_of_time()), settings).await
    }

    /// Another node of the same service: same database, same clock, perhaps other settings.
    pub async fn another_node(&self, settings: Settings<'_>) -> Self {
        Self::spawn_on(Arc::clone(&self.database), self.clock.clone(), settings).await
    }

    /// As [`App::another_node`], by a way of its own to the same database.
    pub async fn another_node_by(&self, url: &str) -> Self {
        let database = Arc::new(TestDatabase::of_server(url).await);
        Self::spawn_on(database, self.clock.clone(), &[]).await
    }

    /// The service on a database that the test has made itself.
    pub async fn spawn_on(
        database: Arc<TestDatabase>,
        clock: Clock,
        settings: Settings<'_>,
    ) -> Self {
        Self::spawn_tuned(database, clock, settings, |_| {}).await
    }

    /// As [`App::spawn_on`], with changes of what no setting changes.
    pub async fn spawn_tuned(
        database: Arc<TestDatabase>,
        clock: Clock,
        settings: Settings<'_>,
        tune: impl FnOnce(&mut Infra),
    ) -> Self {
        let mut infra = infra(&database, clock.clone(), settings);
        tune(&mut infra);
        let (pool, figment) = (infra.pool.clone(), figment());
        let (listening, port) = oneshot::channel();
        let listening = std::sync::Mutex::new(Some(listening));
        let metrics = Arc::clone(&infra.metrics);
        let rocket = assent::server::build(figment, infra).attach(
            rocket::fairing::AdHoc::on_liftoff("Port", move |rocket| {
                let port = rocket.config().port;
                if let Some(listening) = listening.lock().unwrap().take() {
                    let _ = listening.send(port);
                }
                Box::pin(async {})
            }),
        );
        let rocket = rocket.ignite().await.expect("the service is well configured");
        let shutdown = rocket.shutdown();
        tokio::spawn(rocket.launch());
        let port = port.await.expect("the service starts");
        Self {
            base: format!("http://localhost:{port}"),
            clock,
            pool,
            client: client(),
            metrics,
            shutdown,
            database,
        }
    }

    /// Stops the node, and waits until all its parts have ended.
    pub async fn end(self) {
        let parts = Arc::downgrade(&self.metrics);
        drop(self);
        wait_until("the node has ended", async || parts.strong_count() == 0).await;
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A request that the test completes itself.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.url(path))
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// Posts a JSON body without credentials.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(&body)).await
    }

    /// Sends a JSON body (or none, for `Value::Null`) with an API key.
    pub async fn call(&self, method: Method, path: &str, key: &str, body: Value) -> Answer {
        let request = self.request(method, path).bearer_auth(key);
        Answer::of(if body.is_null() { request } else { request.json(&body) }).await
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.shutdown.clone().notify();
    }
}

pub fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(Duration::from_secs(30))
        // Services of tests speak plain HTTP: the machine's many authorities need not be read each time.
        .tls_certs_only(std::iter::empty())
        .build()
        .expect("a client")
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("the service answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: response.text().await.expect("a readable answer") }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body without the id of the request, which differs between two answers that are otherwise the same.
    pub fn lasting_text(&self) -> String {
        match self.header("x-request-id") {
            Some(id) => self.text.replace(id, ""),
            None => self.text.clone(),
        }
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON of an answer that must have this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Fails unless the answer is the problem document of this status and sentence.
    #[track_caller]
    pub fn refused(&self, status: u16, detail: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text);
        let problem = self.json();
        assert_eq!(problem["detail"], json!(detail), "{}", self.text);
        assert_eq!(problem["status"], json!(status));
        let (code, page) = (problem["code"].as_str(), problem["type"].as_str());
        let page = page.and_then(|page| page.split_once("/docs/errors/"));
        assert!(page.is_some_and(|(base, _)| base.starts_with("http")), "{}", self.text);
        assert_eq!(page.map(|(_, code)| code), code, "{}", self.text);
        assert_eq!(problem["request_id"].as_str(), self.header("x-request-id"), "{}", self.text);
        assert!(problem["title"].is_string());
    }

    /// Fails unless the answer is a 422 that names the field at `loc`.
    #[track_caller]
    pub fn invalid(&self, loc: &[&str]) {
        assert_eq!(self.status, 422, "{}", self.text);
        let problems = self.json()["detail"].as_array().cloned().unwrap_or_default();
        assert!(problems.iter().any(|problem| problem["loc"] == json!(loc)), "{}", self.text);
        assert!(
            problems
                .iter()
                .all(|problem| problem["msg"].is_string() && problem["type"].is_string())
        );
    }
}
