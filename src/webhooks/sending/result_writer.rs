//! Storing the results of attempts: many in one commit, while others are in flight.

use std::sync::Arc;
use std::time::Duration as RealTime;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tracing::Instrument;
use uuid::Uuid;

use super::bodies::{DATABASE_PAUSE, DATABASE_TIMEOUT};
use super::outcome::Attempted;
use super::sender::Sender;
use super::shared::EndpointResults;
use crate::error::{Error, Result};
use crate::webhooks::store::claims::EndpointHealth;

/// The interval of commits: deliveries of this period are repeated if the node is killed.
const GATHERING: RealTime = RealTime::from_millis(20);
/// The maximum number of waiting groups (usually one attempt each); then sending stops. This bounds
/// the deliveries during a commit: a receiver faster than 10,000 a second is slowed down.
const MOST_WAITING: usize = 256;

pub struct Ended {
    pub attempts: Vec<Attempted>,
    pub health: Option<EndpointHealth>,
    /// The endpoint has recovered: its postponed deliveries become due at once.
    pub has_recovered: bool,
}

pub struct ResultWriter {
    waiting: mpsc::Sender<Ended>,
    writing: JoinHandle<Result<()>>,
}

impl ResultWriter {
    pub fn start(sender: &Sender, endpoint_id: Uuid) -> Self {
        let (waiting, ended) = mpsc::channel(MOST_WAITING);
        let writing = write_all(sender.clone(), endpoint_id, ended).in_current_span();
        Self { waiting, writing: tokio::spawn(writing) }
    }

    /// `false` if no more results can be stored: `finish` returns the reason.
    pub async fn add(&self, ended: Ended) -> bool {
        self.waiting.send(ended).await.is_ok()
    }

    pub async fn finish(self) -> Result<()> {
        drop(self.waiting);
        self.writing.await.map_err(Error::internal)?
    }
}

async fn write_all(
    sender: Sender,
    endpoint_id: Uuid,
    mut waiting: mpsc::Receiver<Ended>,
) -> Result<()> {
    let _guard = sender.infra.shutdown.delay();
    let mut ended = Vec::new();
    while waiting.recv_many(&mut ended, MOST_WAITING).await > 0 {
        with_database_retry(&sender, Arc::new(results_of(endpoint_id, &ended))).await?;
        ended.clear();
        if !waiting.is_closed() {
            sleep(GATHERING).await;
        }
    }
    Ok(())
}

/// Retries while the database is unavailable for some seconds: unrecorded deliveries would be repeated.
async fn with_database_retry(sender: &Sender, results: Arc<EndpointResults>) -> Result<()> {
    let begun = Instant::now();
    while let Err(error) = sender.shared.results.request(results.clone()).await {
        if begun.elapsed() > DATABASE_TIMEOUT || sender.infra.shutdown.has_begun() {
            return Err(error);
        }
        sleep(DATABASE_PAUSE).await;
    }
    Ok(())
}

fn results_of(endpoint_id: Uuid, ended: &[Ended]) -> EndpointResults {
    let attempts = || ended.iter().flat_map(|ended| &ended.attempts);
    let not_needed = attempts().filter(|attempted| attempted.is_not_needed());
    EndpointResults {
        endpoint_id,
        settled: attempts().filter_map(Attempted::settled).collect(),
        not_needed: not_needed.map(|it| (it.due.partition_key.clone(), it.due.seq)).collect(),
        health: ended.iter().rev().find_map(|ended| ended.health),
        has_recovered: ended.iter().any(|ended| ended.has_recovered),
    }
}
