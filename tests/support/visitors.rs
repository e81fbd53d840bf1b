//! Requests of visitors' pages.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::server::{Answer, App};
use super::story::Site;

const ATTEMPTS: usize = 5;

/// Repeats a request that is answered with 503 and `Retry-After`, as the consent tag does. A busy machine can
/// take longer to open a connection to the database than the two seconds after which the service refuses.
async fn repeated(request: impl AsyncFn() -> Answer) -> Answer {
    for _ in 1..ATTEMPTS {
        let answer = request().await;
        let wait = answer.header("retry-after").and_then(|seconds| seconds.parse().ok());
        match wait {
            Some(seconds) if answer.status == 503 => {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            _ => return answer,
        }
    }
    request().await
}

impl App {
    pub async fn record(&self, body: &Value) -> Answer {
        self.post("/v1/consent/record", body.clone()).await
    }

    /// Records a choice that must count, and returns the answer's body.
    pub async fn recorded(&self, body: &Value) -> Value {
        repeated(async || self.record(body).await).await.expect(202)
    }

    pub async fn check(&self, pixel: &str, visitor: &str) -> Value {
        let path = format!("/v1/consent/check?pixel_id={pixel}&visitor_id={visitor}");
        repeated(async || self.get(&path).await).await.expect(200)
    }

    pub async fn receipt(&self, pixel: &str, visitor: &str) -> Answer {
        self.get(&format!("/v1/consent/receipt?pixel_id={pixel}&visitor_id={visitor}")).await
    }

    /// Whether the service calls receipt and signature its own.
    pub async fn verifies(&self, receipt: &Value, signature: &str) -> bool {
        let body = json!({"receipt": receipt, "signature": signature});
        let answer = self.post("/v1/consent/verify", body).await.expect(200);
        answer["valid"].as_bool().expect("valid is true or false")
    }

    /// The log's events, newest first.
    pub async fn log(&self, key: &str, pixel: &str) -> Vec<Value> {
        let path = format!("/v1/pixels/{pixel}/consent");
        let log = self.call(Method::GET, &path, key, Value::Null).await.expect(200);
        log["events"].as_array().expect("events is an array").clone()
    }

    pub async fn configure(&self, key: &str, pixel: &str, body: Value) -> Answer {
        self.call(Method::POST, &format!("/v1/pixels/{pixel}/consent"), key, body).await
    }

    /// Turns the popup off without touching what was recorded.
    pub async fn turn_consent_off(&self, pixel: &str) {
        sqlx::query("UPDATE pixels SET consent_enabled = false WHERE pixel_id = $1")
            .bind(pixel)
            .execute(&self.pool)
            .await
            .unwrap();
    }

    /// Lets `alias` stand in for a pixel's id. Names that were asked for before are remembered for
    /// seconds, so add it before its first use.
    pub async fn add_alias(&self, pixel: &str, alias: &str) {
        sqlx::query("INSERT INTO pixel_aliases (alias, pixel_id) VALUES ($1, $2)")
            .bind(alias)
            .bind(pixel)
            .execute(&self.pool)
            .await
            .unwrap();
    }
}

/// `value` with `field` set, or removed when `new` is null.
pub fn with(value: &Value, field: &str, new: Value) -> Value {
    let mut changed = value.clone();
    let object = changed.as_object_mut().expect("an object");
    match new {
        Value::Null => object.remove(field),
        new => object.insert(field.to_owned(), new),
    };
    changed
}

/// The names of an object's fields, sorted.
pub fn fields(value: &Value) -> Vec<&str> {
    let mut names =
        value.as_object().expect("an object").keys().map(String::as_str).collect::<Vec<_>>();
    names.sort_unstable();
    names
}

/// The id of a choice.
pub fn choice(number: usize) -> Value {
    json!(format!("0190d9d4-9b6a-7c3e-8a55-{number:012}"))
}

/// Sends it until it is answered with 202.
pub async fn recorded_at_last(app: &App, body: &Value) -> Value {
    answered_at_last(202, Duration::from_millis(100), || app.record(body)).await
}

/// The answer of a check, as soon as there is one.
pub async fn checked_at_last(app: &App, site: &Site, visitor: &str) -> Value {
    let path = format!("/v1/consent/check?pixel_id={}&visitor_id={visitor}", site.pixel_id);
    answered_at_last(200, Duration::from_millis(50), || app.get(&path)).await
}

/// Asks again after each 503, until the answer has this status.
async fn answered_at_last<F>(status: u16, pause: Duration, ask: impl Fn() -> F) -> Value
where
    F: Future<Output = Answer>,
{
    let begun = Instant::now();
    loop {
        let answer = ask().await;
        if answer.status == status {
            return answer.json();
        }
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not recover");
        tokio::time::sleep(pause).await;
    }
}
