//! A receipt that was confirmed survives whatever ends the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use nix::sys::signal::Signal;
use reqwest::Client;
use serde_json::{Value, json};

use crate::support::postgres::database::TestDatabase;
use crate::support::process::{Process, program};
use crate::support::server::client;

const VISITORS: usize = 64;
/// So many confirmed receipts make the middle of it.
const ENOUGH: usize = 400;

/// The choice id of a visitor, and the whole answer.
type Confirmed = (String, Value);

/// Opens account and pixel over HTTP and turns consent on. Returns pixel and policy hash.
pub async fn site(service: &Process, client: &Client) -> (String, String) {
    let post = async |path: &str, key: &str, body: Value| {
        let request = client.post(service.url(path)).header("x-api-key", key).json(&body);
        request.send().await.unwrap().error_for_status().unwrap().json::<Value>().await.unwrap()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let body = json!({"email": "shop@example.com", "display_name": "Shop"});
    let opened = post("/v1/accounts", "", body).await;
    let link = text(&opened["verification_url"]);
    client.get(link).send().await.unwrap().error_for_status().unwrap();
    let path = format!("/v1/api-keys?account_id={}", text(&opened["account_id"]));
    let token = text(&opened["signup_token"]);
    let issued = client.post(service.url(&path)).header("x-signup-token", token).send().await;
    let key = text(&issued.unwrap().json::<Value>().await.unwrap()["api_key"]);
    let pixel =
        text(&post("/v1/pixels", &key, json!({"domain": "shop.example"})).await["pixel_id"]);
    let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]});
    let configured = post(&format!("/v1/pixels/{pixel}/consent"), &key, body).await;
    (pixel, text(&configured["policy_hash"]))
}

/// Records choice after choice until the service is gone; keeps what was confirmed.
async fn record_until_the_end(
    url: String,
    client: Client,
    visitor: usize,
    mut body: Value,
    confirmed_in_all: Arc<AtomicUsize>,
) -> Vec<Confirmed> {
    let mut confirmed = Vec::new();
    for number in 0.. {
        let id = format!("visitor-{visitor}-{number}");
        body["visitor_id"] = json!(id);
        let Ok(response) = client.post(&url).json(&body).send().await else { break };
        if response.status() != 202 {
            panic!("{}: {:?}", response.status(), response.text().await);
        }
        // The status alone is the promise; an answer that was cut off after it counts too, but
        // cannot be compared.
        let Ok(answer) = response.json().await else { break };
        confirmed.push((id, answer));
        confirmed_in_all.fetch_add(1, Ordering::Relaxed);
    }
    confirmed
}

async fn is_kept(service: &Process, client: &Client, pixel: &str, confirmed: &Confirmed) {
    let (visitor, answer) = confirmed;
    let path = format!("/v1/consent/receipt?pixel_id={pixel}&visitor_id={visitor}");
    let response = client.get(service.url(&path)).send().await.unwrap();
    assert_eq!(response.status(), 200, "the receipt of {visitor} is lost");
    let kept = response.json::<Value>().await.unwrap();
    assert_eq!(kept["receipt"], answer["receipt"]);
    assert_eq!(kept["signature"], answer["signature"]);
    assert_eq!((&kept["valid"], &kept["reason"]), (&json!(true), &json!("ok")));
    let body = json!({"receipt": answer["receipt"], "signature": answer["signature"]});
    let verified = client.post(service.url("/v1/consent/verify")).json(&body).send().await.unwrap();
    assert_eq!(verified.json::<Value>().await.unwrap(), json!({"valid": true}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_confirmed_receipt_survives_a_kill_in_the_middle_of_64_visitors() {
    survives_a_kill("2").await;
}

/// One worker is another kind of runtime.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_one_worker_every_confirmed_receipt_survives_a_kill_too() {
    survives_a_kill("1").await;
}

async fn survives_a_kill(workers: &str) {
    let database = TestDatabase::create().await;
    let client = client();
    let start = || {
        let mut command = program(&database.url);
        command.env("ROCKET_WORKERS", workers);
        Process::start(command)
    };
    let mut service = start().await;
    let (pixel, hash) = site(&service, &client).await;

    let body = json!({
        "pixel_id": pixel, "url": "https://shop.example/", "consent": "accepted",
        "affirmative": true, "policy_version_hash": hash, "purposes": ["resolution"],
    });
    let confirmed_in_all = Arc::new(AtomicUsize::new(0));
    let visitors = (0..VISITORS).map(|visitor| {
        let url = service.url("/v1/consent/record");
        let counter = Arc::clone(&confirmed_in_all);
        tokio::spawn(record_until_the_end(url, client.clone(), visitor, body.clone(), counter))
    });
    let visitors = visitors.collect::<Vec<_>>();
    let started = Instant::now();
    while confirmed_in_all.load(Ordering::Relaxed) < ENOUGH {
        assert!(started.elapsed() < Duration::from_secs(60), "too few choices were recorded");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    service.send(Signal::SIGKILL);
    assert_eq!(service.exit_code().await, None);

    let confirmed = join_all(visitors).await.into_iter().map(Result::unwrap);
    let confirmed = confirmed.collect::<Vec<_>>();
    let recorded = confirmed.iter().filter(|receipts| !receipts.is_empty()).count();
    assert!(recorded > VISITORS / 2, "only {recorded} visitors came to record");
    let confirmed = confirmed.concat();

    let mut service = start().await;
    for some in confirmed.chunks(VISITORS) {
        join_all(some.iter().map(|one| is_kept(&service, &client, &pixel, one))).await;
    }
    service.send(Signal::SIGTERM);
    assert_eq!(service.exit_code().await, Some(0));
}
