//! Storing the results of attempts: many in one commit, while others are in flight.

use std::time::Duration as RealTime;

use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tracing::Instrument;
use uuid::Uuid;

use super::bodies::{DATABASE_PAUSE, DATABASE_TIMEOUT};
use super::health::KnownHealth;
use super::outcome::Attempted;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::webhooks::store::claims;
use crate::webhooks::store::waiting;

/// The interval of commits: deliveries of this period are repeated if the node is killed.
const GATHERING: RealTime = RealTime::from_millis(20);
/// The maximum number of waiting groups (usually one attempt each); then sending stops. This bounds
/// the deliveries during a commit: a receiver faster than 10,000 a second is slowed down.
const MOST_WAITING: usize = 256;

pub struct Ended {
    pub attempts: Vec<Attempted>,
    pub health: Option<KnownHealth>,
    /// The endpoint has recovered: its postponed deliveries become due at once.
    pub has_recovered: bool,
}

pub struct ResultWriter {
    waiting: mpsc::Sender<Ended>,
    writing: JoinHandle<Result<()>>,
}

impl ResultWriter {
    pub fn start(infra: &Infra, endpoint_id: Uuid) -> Self {
        let (waiting, ended) = mpsc::channel(MOST_WAITING);
        let writing = write_all(infra.clone(), endpoint_id, ended).in_current_span();
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
    infra: Infra,
    endpoint_id: Uuid,
    mut waiting: mpsc::Receiver<Ended>,
) -> Result<()> {
    let _guard = infra.shutdown.delay();
    let mut ended = Vec::new();
    while waiting.recv_many(&mut ended, MOST_WAITING).await > 0 {
        with_database_retry(&infra, endpoint_id, &ended).await?;
        ended.clear();
        if !waiting.is_closed() {
            sleep(GATHERING).await;
        }
    }
    Ok(())
}

/// Retries while the database is unavailable for some seconds: unrecorded deliveries would be repeated.
async fn with_database_retry(infra: &Infra, endpoint_id: Uuid, ended: &[Ended]) -> Result<()> {
    let begun = Instant::now();
    while let Err(error) = write(&infra.pool, &infra.clock, endpoint_id, ended).await {
        if begun.elapsed() > DATABASE_TIMEOUT || infra.shutdown.has_begun() {
            return Err(error);
        }
        sleep(DATABASE_PAUSE).await;
    }
    Ok(())
}

async fn write(pool: &PgPool, clock: &Clock, endpoint_id: Uuid, ended: &[Ended]) -> Result<()> {
    let attempts = || ended.iter().flat_map(|ended| &ended.attempts);
    let mut settled = attempts().filter_map(Attempted::settled).collect::<Vec<_>>();
    settled.sort_unstable_by_key(|settled| settled.seq);
    let not_needed = attempts().filter(|attempted| attempted.is_not_needed());
    let not_needed = not_needed.map(|attempted| &attempted.due).collect::<Vec<_>>();
    let mut transaction = pool.begin().await?;
    claims::lock(&mut transaction, endpoint_id).await?;
    if let Some(health) = ended.iter().rev().find_map(|ended| ended.health) {
        let KnownHealth { failing_since, failures, retry_at } = health;
        let on = &mut transaction;
        claims::update_health(on, endpoint_id, failing_since, failures, retry_at).await?;
    }
    waiting::update_settled(&mut transaction, &settled).await?;
    if !not_needed.is_empty() {
        waiting::delete_deliveries(&mut transaction, &not_needed).await?;
    }
    if ended.iter().any(|ended| ended.has_recovered) {
        waiting::update_due_now(&mut transaction, endpoint_id, clock.now()).await?;
    }
    transaction.commit().await?;
    Ok(())
}
