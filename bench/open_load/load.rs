//! The schedule, the connections and the report of an open load.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::visits::Visits;

type Sender = SendRequest<Full<Bytes>>;
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A response that takes longer counts as broken.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

pub struct Load {
    pub address: SocketAddr,
    pub rate: f64,
    pub connections: usize,
    /// `None` for persistent connections without TLS.
    pub visits: Option<Visits>,
}

/// The result of a load. Times include every request that was answered, whatever the status.
#[derive(Debug, Serialize)]
pub struct Report {
    pub requests: usize,
    /// From the scheduled time of the first request to the last response.
    pub seconds: f64,
    pub refused: usize,
    pub broken: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    /// The p99 of the generator's own delay, which is included in the times above.
    pub p99_behind_ms: f64,
}

/// The result of one request.
struct Outcome {
    took: Duration,
    status: Option<StatusCode>,
}

/// A pool of persistent connections, or new ones for every request.
struct Connections {
    address: SocketAddr,
    free: Mutex<Vec<Sender>>,
    turns: Semaphore,
    visits: Option<Visits>,
}

impl Connections {
    async fn open(&self) -> Result<Sender, Failure> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn free_or_new(&self) -> Result<Sender, Failure> {
        while let Some(mut sender) = self.take() {
            // A connection that the server has closed never becomes ready.
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        self.open().await
    }

    fn take(&self) -> Option<Sender> {
        self.free.lock().expect("nobody panics with it").pop()
    }

    fn give_back(&self, sender: Sender) {
        self.free.lock().expect("nobody panics with it").push(sender);
    }

    async fn ask(&self, request: Request<Full<Bytes>>) -> Result<StatusCode, Failure> {
        let _turn = self.turns.acquire().await?;
        if let Some(visits) = &self.visits {
            return visits.ask(request).await;
        }
        let mut sender = self.free_or_new().await?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        self.give_back(sender);
        Ok(status)
    }

    async fn outcome(&self, request: Request<Full<Bytes>>, due: Instant) -> Outcome {
        let answered = timeout(LONGEST_WAIT, self.ask(request)).await;
        Outcome { took: due.elapsed(), status: answered.ok().and_then(Result::ok) }
    }
}

impl Load {
    /// Sends each request at its scheduled time, and waits for all responses.
    pub fn run(self, requests: Vec<Request<Full<Bytes>>>) -> io::Result<Report> {
        // A handshake takes as long on this side as on the server's.
        let workers = if self.visits.is_some() { 2 } else { 1 };
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
        let connections = Arc::new(Connections {
            address: self.address,
            free: Mutex::default(),
            turns: Semaphore::new(self.connections),
            visits: self.visits,
        });
        let kept = if connections.visits.is_some() { 0 } else { self.connections };
        runtime.block_on(async {
            for _ in 0..kept {
                let sender = connections.open().await.map_err(io::Error::other)?;
                connections.give_back(sender);
            }
            io::Result::Ok(())
        })?;

        let begun = Instant::now();
        let mut behind = Vec::with_capacity(requests.len());
        let mut answers = Vec::with_capacity(requests.len());
        for (number, request) in requests.into_iter().enumerate() {
            let due = begun + Duration::from_secs_f64(number as f64 / self.rate);
            // A thread sleeps with a precision of 0.1 ms, a task of the runtime with 1 ms.
            thread::sleep(due.saturating_duration_since(Instant::now()));
            behind.push(due.elapsed());
            let connections = Arc::clone(&connections);
            answers.push(runtime.spawn(async move { connections.outcome(request, due).await }));
        }
        let outcomes = runtime.block_on(async {
            let mut outcomes = Vec::with_capacity(answers.len());
            for answer in answers {
                outcomes.push(answer.await.map_err(io::Error::other)?);
            }
            io::Result::Ok(outcomes)
        })?;
        Ok(Report::of(&outcomes, behind, begun.elapsed()))
    }
}

impl Report {
    fn of(outcomes: &[Outcome], mut behind: Vec<Duration>, lasted: Duration) -> Self {
        let answered = outcomes.iter().filter(|outcome| outcome.status.is_some());
        let mut took = answered.map(|outcome| outcome.took).collect::<Vec<_>>();
        took.sort_unstable();
        behind.sort_unstable();
        let refused = outcomes.iter().filter_map(|outcome| outcome.status);
        Self {
            requests: took.len(),
            seconds: lasted.as_secs_f64(),
            refused: refused.filter(|status| !status.is_success()).count(),
            broken: outcomes.len() - took.len(),
            p50_ms: percentile(&took, 50),
            p99_ms: percentile(&took, 99),
            max_ms: percentile(&took, 100),
            p99_behind_ms: percentile(&behind, 99),
        }
    }
}

/// A percentile of the sorted times, in milliseconds.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}
