//! A node that goes away costs no confirmed receipt and no visitor an error; and only what may be
//! repeated is repeated.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use nix::sys::signal::Signal;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::database::TestDatabase;
use crate::fake_node::{Conduct, FakeNode};
use crate::process::{Process, program};
use crate::proxy::{Proxy, client, free_address};
use crate::site::{Site, verifies};

const VISITORS: usize = 24;
/// Confirmed receipts between two events.
const MEANWHILE: usize = 200;

/// Visitors come again and again under new names: the script, a choice, its receipt.
#[derive(Clone)]
struct Visitors {
    client: Client,
    base: String,
    site: Site,
    over: Arc<AtomicBool>,
    confirmed: Arc<AtomicUsize>,
    cut_off: Arc<AtomicUsize>,
}

impl Visitors {
    /// Sends a request whose answer must be a success. An answer whose beginning had left the node
    /// when it was killed cannot be taken back by any proxy: it is counted, and asked for again.
    async fn ask(&self, request: RequestBuilder) -> String {
        loop {
            let answer = request.try_clone().unwrap().send().await;
            let Ok(answer) = answer else {
                self.cut_off.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let status = answer.status();
            match answer.text().await {
                Ok(text) if status.is_success() => return text,
                Ok(text) => panic!("{status}: {text}"),
                Err(_) => self.cut_off.fetch_add(1, Ordering::Relaxed),
            };
        }
    }

    async fn ask_json(&self, request: RequestBuilder) -> Value {
        serde_json::from_str(&self.ask(request).await).unwrap()
    }

    /// Returns what was confirmed.
    async fn visit_until_the_end(self, visitor: usize) -> Vec<(String, Value)> {
        let (client, base) = (&self.client, &self.base);
        let mut confirmed = Vec::new();
        while !self.over.load(Ordering::Relaxed) {
            let id = format!("visitor-{visitor}-{}", confirmed.len());
            let script = self.ask(client.get(format!("{base}/px/{}.js", self.site.pixel_id))).await;
            assert!(script.len() > 1_000);
            let choice = client.post(format!("{base}/v1/consent/record"));
            let answer = self.ask_json(choice.json(&self.site.acceptance(&id))).await;
            let ids = format!("pixel_id={}&visitor_id={id}", self.site.pixel_id);
            let kept = client.get(format!("{base}/v1/consent/receipt?{ids}"));
            assert_eq!(self.ask_json(kept).await["receipt"], answer["receipt"]);
            confirmed.push((id, answer));
            self.confirmed.fetch_add(1, Ordering::Relaxed);
        }
        confirmed
    }
}

async fn wait_for(confirmed: &AtomicUsize, more: usize) {
    let (began, target) = (Instant::now(), confirmed.load(Ordering::Relaxed) + more);
    while confirmed.load(Ordering::Relaxed) < target {
        assert!(began.elapsed() < Duration::from_secs(60), "the visitors do not get on");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A node that listens where it did before.
async fn node_at(address: SocketAddr, database: &TestDatabase) -> Process {
    let mut command = program(&database.url);
    command.env("ROCKET_PORT", address.port().to_string());
    Process::start(command).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_that_is_killed_or_stopped_under_load_costs_no_receipt_and_no_visitor_an_error() {
    let database = TestDatabase::create().await;
    let addresses = [free_address(), free_address()];
    let mut first = node_at(addresses[0], &database).await;
    let mut second = node_at(addresses[1], &database).await;
    let proxy = Proxy::before(&addresses).await;
    let (client, base) = (client(), proxy.url(""));
    let site = Site::open(&client, &base).await;

    let visitors = Visitors {
        client: client.clone(),
        base: base.clone(),
        site: site.clone(),
        over: Arc::default(),
        confirmed: Arc::default(),
        cut_off: Arc::default(),
    };
    let visiting = (0..VISITORS)
        .map(|visitor| tokio::spawn(visitors.clone().visit_until_the_end(visitor)))
        .collect::<Vec<_>>();

    wait_for(&visitors.confirmed, MEANWHILE).await;
    first.send(Signal::SIGKILL);
    assert_eq!(first.exit_code().await, None);
    wait_for(&visitors.confirmed, MEANWHILE).await;
    let _first = node_at(addresses[0], &database).await;
    // Longer than the proxy leaves a node alone that it found gone: it counts in whole seconds.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let cut_off = visitors.cut_off.load(Ordering::Relaxed);
    assert!(cut_off <= VISITORS / 4, "{cut_off} answers were cut off by the kill");
    second.send(Signal::SIGTERM);
    assert_eq!(second.exit_code().await, Some(0));
    wait_for(&visitors.confirmed, MEANWHILE).await;
    let cut_off = visitors.cut_off.load(Ordering::Relaxed) - cut_off;
    assert_eq!(cut_off, 0, "a stop in order cuts nothing off");

    visitors.over.store(true, Ordering::Relaxed);
    let confirmed = join_all(visiting).await.into_iter().map(Result::unwrap);
    let confirmed = confirmed.collect::<Vec<_>>().concat();
    for (visitor, answer) in confirmed.iter().step_by(7) {
        let kept = site.receipt(&client, &base, visitor).await;
        assert_eq!(kept["receipt"], answer["receipt"]);
        assert!(verifies(&client, &base, answer).await);
    }
    let rows = sqlx::query_as::<_, (String,)>("SELECT visitor_id FROM consent_receipts");
    let rows = rows.fetch_all(&database.pool()).await.unwrap();
    let stored = rows.iter().map(|(visitor,)| visitor).collect::<HashSet<_>>();
    assert_eq!(rows.len(), stored.len(), "a repeated request made a second receipt");
    assert!(confirmed.iter().all(|(visitor, _)| stored.contains(visitor)));
}

/// Number of nodes that receive a request if each breaks off, and the final status.
async fn attempts(method: Method, path: &str, body: Option<Value>) -> (usize, u16) {
    let nodes =
        [FakeNode::start(Conduct::BreaksOff).await, FakeNode::start(Conduct::BreaksOff).await];
    let proxy = Proxy::before(&[nodes[0].address, nodes[1].address]).await;
    let request = client().request(method, proxy.url(path));
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let status = request.send().await.unwrap().status().as_u16();
    (nodes.iter().map(|node| node.requests().len()).sum(), status)
}

#[tokio::test]
async fn reads_and_choices_are_tried_at_another_node_and_nothing_else() {
    let body = || Some(json!({}));
    assert_eq!(attempts(Method::GET, "/px/some.js", None).await, (2, 503));
    assert_eq!(attempts(Method::GET, "/v1/consent/check", None).await, (2, 503));
    assert_eq!(attempts(Method::POST, "/v1/consent/record", body()).await, (2, 503));
    assert_eq!(attempts(Method::POST, "/api/v1/pixel/fire", body()).await, (2, 503));
    assert_eq!(attempts(Method::POST, "/v1/accounts", body()).await, (1, 503));
    assert_eq!(attempts(Method::POST, "/v1/api-keys", body()).await, (1, 503));
    assert_eq!(attempts(Method::POST, "/v1/consent/shown", body()).await, (1, 503));
    assert_eq!(attempts(Method::POST, "/v1/pixels/some/contacts", body()).await, (1, 503));
    assert_eq!(attempts(Method::PATCH, "/v1/pixels/some", body()).await, (1, 503));
}

#[tokio::test]
async fn a_request_that_has_not_been_sent_goes_to_another_node() {
    let node = FakeNode::start(Conduct::Answers("201 Created", "{}")).await;
    let proxy = Proxy::before(&[free_address(), node.address]).await;
    for _ in 0..10 {
        let request = client().post(proxy.url("/v1/accounts")).json(&json!({}));
        assert_eq!(request.send().await.unwrap().status(), 201);
    }
    assert_eq!(node.requests().len(), 10);
}
