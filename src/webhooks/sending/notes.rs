//! Noting how attempts ended: many by one commit, while others are under way.

use std::time::Duration as RealTime;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tracing::Instrument;
use uuid::Uuid;

use super::attempt::Attempted;
use super::bodies::{DATABASE_PATIENCE, DATABASE_PAUSE};
use super::health::KnownHealth;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::webhooks::store::claims;
use crate::webhooks::store::waiting;

/// Between two commits, for what ends meanwhile: so much arrives twice when the node is killed.
const GATHERING: RealTime = RealTime::from_millis(20);
/// Groups that wait to be noted; then no more is sent. Mostly a group is one attempt, so this bounds what
/// an endpoint is sent in the time of a commit: a receiver that is faster than 10,000 a second waits.
const MOST_WAITING: usize = 256;

/// Attempts that ended at the same time, and what they say of their endpoint.
pub struct Ended {
    pub attempts: Vec<Attempted>,
    /// `None` when it is as it was.
    pub health: Option<KnownHealth>,
    /// It answers again: what has waited for it goes at once.
    pub has_recovered: bool,
}

/// Takes what is to be noted of one endpoint.
pub struct Notes {
    waiting: mpsc::Sender<Ended>,
    noting: JoinHandle<Result<()>>,
}

impl Notes {
    pub fn start(infra: &Infra, endpoint_id: Uuid) -> Self {
        let (waiting, ended) = mpsc::channel(MOST_WAITING);
        let noting = note_all(infra.clone(), endpoint_id, ended).in_current_span();
        Self { waiting, noting: tokio::spawn(noting) }
    }

    /// `false` when nothing more can be noted: `finish` says why.
    pub async fn add(&self, ended: Ended) -> bool {
        self.waiting.send(ended).await.is_ok()
    }

    /// Waits until all is noted.
    pub async fn finish(self) -> Result<()> {
        drop(self.waiting);
        self.noting.await.map_err(Error::internal)?
    }
}

async fn note_all(
    infra: Infra,
    endpoint_id: Uuid,
    mut waiting: mpsc::Receiver<Ended>,
) -> Result<()> {
    let _held = infra.ending.hold();
    let mut ended = Vec::new();
    while waiting.recv_many(&mut ended, MOST_WAITING).await > 0 {
        patiently(&infra, endpoint_id, &ended).await?;
        ended.clear();
        if !waiting.is_closed() {
            sleep(GATHERING).await;
        }
    }
    Ok(())
}

/// What has arrived is noted even when the database is away for some seconds, or it would arrive again.
async fn patiently(infra: &Infra, endpoint_id: Uuid, ended: &[Ended]) -> Result<()> {
    let begun = Instant::now();
    while let Err(error) = note(infra, endpoint_id, ended).await {
        if begun.elapsed() > DATABASE_PATIENCE || infra.ending.has_begun() {
            return Err(error);
        }
        sleep(DATABASE_PAUSE).await;
    }
    Ok(())
}

async fn note(infra: &Infra, endpoint_id: Uuid, ended: &[Ended]) -> Result<()> {
    let attempts = || ended.iter().flat_map(|ended| &ended.attempts);
    let mut settled = attempts().filter_map(Attempted::settled).collect::<Vec<_>>();
    settled.sort_unstable_by_key(|settled| settled.seq);
    let not_needed = attempts().filter(|attempted| attempted.is_not_needed());
    let not_needed = not_needed.map(|attempted| &attempted.due).collect::<Vec<_>>();
    let mut transaction = infra.pool.begin().await?;
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
        waiting::update_due_now(&mut transaction, endpoint_id, infra.clock.now()).await?;
    }
    transaction.commit().await?;
    Ok(())
}
