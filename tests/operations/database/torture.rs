//! The service and its database are killed in turn, in the middle of everything, again and again.
//! What was confirmed must be there afterwards: once, and in order.
//!
//! `make torture` plays 20 rounds; with the other tests it plays 3.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use assent::infra::postgres::Database;
use futures_util::future::join_all;
use nix::sys::signal::Signal;
use reqwest::Client;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::database::durability::site;
use crate::support::ports::free_port;
use crate::support::postgres::killable_database::KillableDatabase;
use crate::support::process::{Process, program};
use crate::support::server::client;

const VISITORS: usize = 16;
/// So many choices are confirmed between two kills.
const BETWEEN_KILLS: u64 = 150;
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The state that all visitors share.
struct Crowd {
    url: String,
    client: Client,
    choice: Value,
    is_over: AtomicBool,
    confirmed: AtomicU64,
    /// Answers that said that nothing was stored, and connections that broke.
    failed: AtomicU64,
}

impl Crowd {
    /// Chooses again and again. A choice that was not confirmed is sent again until it is. Gives
    /// the ids of the receipts, in the order in which they came.
    async fn visit(self: Arc<Self>, visitor: usize) -> Vec<Uuid> {
        let mut receipts = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let mut choice = self.choice.clone();
            choice["visitor_id"] = json!(format!("visitor-{visitor}"));
            choice["choice_id"] = json!(Uuid::now_v7());
            choice["consent"] =
                json!(if receipts.len() % 2 == 0 { "accepted" } else { "declined" });
            receipts.extend(self.confirm(&choice).await);
        }
        receipts
    }

    /// `None` when everything was over before the choice was confirmed.
    async fn confirm(&self, choice: &Value) -> Option<Uuid> {
        loop {
            match self.client.post(&self.url).json(choice).send().await {
                Ok(response) if response.status() == 202 => {
                    // Without its body it is not known which receipt it was: asked again.
                    if let Ok(answer) = response.json::<Value>().await {
                        self.confirmed.fetch_add(1, Ordering::Relaxed);
                        return Some(answer["receipt_id"].as_str()?.parse().unwrap());
                    }
                }
                Ok(response) => {
                    assert_eq!(response.status(), 503, "{:?}", response.text().await);
                    assert_eq!(response.headers()["content-type"], "application/problem+json");
                    assert!(response.headers().contains_key("retry-after"));
                }
                Err(_) => {}
            }
            self.failed.fetch_add(1, Ordering::Relaxed);
            if self.is_over.load(Ordering::Relaxed) {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn confirm_some(&self) {
        let (wanted, started) =
            (self.confirmed.load(Ordering::Relaxed) + BETWEEN_KILLS, Instant::now());
        while self.confirmed.load(Ordering::Relaxed) < wanted {
            assert!(started.elapsed() < TIME_LIMIT, "the service does not recover");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn rounds() -> usize {
    std::env::var("TORTURE_ROUNDS").map_or(3, |rounds| rounds.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_that_was_confirmed_is_lost_when_service_and_database_are_killed_in_turn() {
    let mut database = KillableDatabase::start().await;
    let port = free_port().to_string();
    let url = database.url();
    let start = || {
        let mut command = program(&url);
        command.env("ROCKET_PORT", &port);
        command
    };
    let mut service = Process::start(start()).await;
    let client = client();
    let (pixel, hash) = site(&service, &client).await;
    let choice = json!({
        "pixel_id": pixel, "url": "https://shop.example/", "affirmative": true,
        "policy_version_hash": hash, "purposes": ["resolution"],
    });
    let crowd = Arc::new(Crowd {
        url: service.url("/v1/consent/record"),
        client,
        choice,
        is_over: AtomicBool::new(false),
        confirmed: AtomicU64::new(0),
        failed: AtomicU64::new(0),
    });
    let visitors = (0..VISITORS).map(|visitor| tokio::spawn(Arc::clone(&crowd).visit(visitor)));
    let visitors = visitors.collect::<Vec<_>>();
    for round in 0..rounds() {
        crowd.confirm_some().await;
        if round % 2 == 0 {
            database.kill();
            database.start_again().await;
            assert_eq!(database.url(), url);
        } else {
            service.send(Signal::SIGKILL);
            assert_eq!(service.exit_code().await, None);
            service = Process::start(start()).await;
        }
    }
    crowd.confirm_some().await;
    crowd.is_over.store(true, Ordering::Relaxed);
    let confirmed = join_all(visitors).await.into_iter().map(Result::unwrap).collect::<Vec<_>>();
    let stored = stored(&url).await;
    for (visitor, receipts) in confirmed.iter().enumerate() {
        let stored = &stored[&format!("visitor-{visitor}")];
        let kept = stored.iter().filter(|id| receipts.contains(id)).copied().collect::<Vec<_>>();
        assert_eq!(&kept, receipts, "visitor {visitor}: each once, and in order");
        // One choice may have been stored after its visitor had left.
        assert!(stored.len() <= receipts.len() + 1, "visitor {visitor}: a choice is there twice");
    }
    eprintln!(
        "{} rounds, {} choices confirmed and stored once and in order, {} attempts refused or cut off",
        rounds(),
        confirmed.iter().map(Vec::len).sum::<usize>(),
        crowd.failed.load(Ordering::Relaxed),
    );
}

/// The receipts of each visitor in the order in which they were recorded.
async fn stored(url: &str) -> HashMap<String, Vec<Uuid>> {
    let pool = Database::connect(url).unwrap().pool;
    let rows = sqlx::query_as::<_, (String, Uuid)>(
        "SELECT visitor_id, receipt_id FROM consent_receipts ORDER BY seq",
    );
    let mut stored = HashMap::<_, Vec<_>>::new();
    for (visitor, receipt) in rows.fetch_all(&pool).await.unwrap() {
        stored.entry(visitor).or_default().push(receipt);
    }
    stored
}
