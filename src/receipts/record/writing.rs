//! Writing of batches of receipts, and the replies to their senders.

use std::sync::Arc;
use std::time::Instant;

use sqlx::PgPool;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::infra::metrics::ReceiptMetrics;
use crate::infra::postgres::kept_connection::{KeptConnection, LiveConnection, TIMEOUT};
use crate::receipts::cluster::store as cluster;
use crate::receipts::cluster::store::recording::PendingEvents;
use crate::receipts::receipt::SignedReceipt;
use crate::receipts::store::recording::{self, NewReceipt};
use crate::types::ids::PixelId;

/// The queue is full, or the receipt was too late.
pub const BUSY: Error = Error::Busy { retry_after: 1 };

/// A receipt to be written, with its reply channel.
pub struct Job {
    pub receipt: NewReceipt,
    pub reply: oneshot::Sender<Result<SignedReceipt>>,
}

impl Job {
    pub fn pixel_id(&self) -> &PixelId {
        &self.receipt.signed.receipt.pixel_id
    }
}

impl AsRef<NewReceipt> for Job {
    fn as_ref(&self) -> &NewReceipt {
        &self.receipt
    }
}

/// The tasks of this node that are notified after a write.
#[derive(Clone, Default)]
pub struct Wakes {
    /// `contacts::withdrawal`, after a refusal.
    pub refused: Arc<Notify>,
    /// The sender of webhooks, after an event was written.
    pub events: Arc<Notify>,
}

/// The shared state of the writers.
#[derive(Clone)]
pub struct Writer {
    /// For the events of endpoints, if receipts are on another machine.
    pub pool: PgPool,
    pub metrics: ReceiptMetrics,
    pub notifiers: Wakes,
}

impl Writer {
    /// Writes the receipts within their deadline, and replies to their senders.
    pub async fn write(&self, connection: &mut KeptConnection, batch: Vec<Job>) {
        let any_refuses = batch.iter().any(|job| job.receipt.signed.receipt.refuses_resolution());
        let has_events = batch.iter().any(|job| !job.receipt.events.is_empty());
        let (size, begun, metrics) = (batch.len(), Instant::now(), &self.metrics);
        self.note_taken(size);
        let batch = without_late(batch, begun, metrics);
        if !batch.is_empty() {
            let pending_events = self.write_in_time(connection, batch).await;
            metrics.commit.observe(begun.elapsed().as_secs_f64());
            metrics.batch.observe(size as f64);
            if any_refuses {
                self.notifiers.refused.notify_one();
            }
            self.settle(connection, pending_events).await;
        }
        if has_events {
            self.notifiers.events.notify_one();
        }
    }

    /// Writes a batch; if PostgreSQL refuses it because of its content, writes each receipt alone, so that
    /// one bad row never fails the others. Returns what is still to be settled.
    async fn write_in_time(
        &self,
        connection: &mut KeptConnection,
        batch: Vec<Job>,
    ) -> Option<PendingEvents> {
        let metrics = &self.metrics;
        let error = match self.insert(connection, &batch).await {
            Ok((inserted, pending_events)) => {
                answer_all(connection, batch, inserted, metrics).await;
                return pending_events;
            }
            Err(error) => error,
        };
        if matches!(error, Error::DatabaseUnavailable) {
            refuse_all(batch, &error, metrics);
            return None;
        }
        tracing::error!(%error, receipts = batch.len(), "a batch of receipts failed, trying each alone");
        let mut jobs = batch.into_iter();
        while let Some(job) = jobs.next() {
            match self.insert(connection, std::slice::from_ref(&job)).await {
                Ok((inserted, pending_events)) => {
                    answer_all(connection, vec![job], inserted, metrics).await;
                    self.settle(connection, pending_events).await;
                }
                Err(error @ Error::DatabaseUnavailable) => {
                    refuse_all([job].into_iter().chain(jobs).collect(), &error, metrics);
                    break;
                }
                Err(error) => {
                    let _ = job.reply.send(Err(error));
                }
            }
        }
        None
    }

    /// Inserts all, in order, in a transaction of their own: they are durable on return. Returns the number
    /// of new receipts and, if receipts are on another machine, what the caller must settle for them.
    async fn insert(
        &self,
        connection: &mut KeptConnection,
        batch: &[Job],
    ) -> Result<(usize, Option<PendingEvents>)> {
        let inserting = async |live: &mut LiveConnection| {
            if !live.is_spread {
                return Ok((recording::insert_receipts(live, batch).await?, None));
            }
            let pending_events =
                cluster::recording::insert_receipts(live, &self.pool, batch).await?;
            Ok((pending_events.count(), Some(pending_events)))
        };
        connection.run(inserting).await
    }

    /// Releases the locks for account erasure and makes events due, after the senders of the receipts have
    /// been answered.
    async fn settle(&self, connection: &mut KeptConnection, pending_events: Option<PendingEvents>) {
        let Some(pending_events) = pending_events else { return };
        let begun = Instant::now();
        let letting_pass = async |live: &mut LiveConnection| {
            cluster::recording::release_locks(&mut live.connection).await
        };
        if connection.is_live()
            && let Err(error) = connection.run(letting_pass).await
        {
            tracing::warn!(%error, "a connection that records is given up, so that nobody waits for it");
        }
        let events = timeout(TIMEOUT, pending_events.publish(&self.pool)).await;
        if let Err(error) = events.unwrap_or(Err(Error::DatabaseUnavailable)) {
            tracing::warn!(%error, "what endpoints are told is sent later");
        }
        self.metrics.settling.observe(begun.elapsed().as_secs_f64());
    }

    /// Replies to all with an error.
    pub fn refuse(&self, batch: Vec<Job>, error: &Error) {
        self.note_taken(batch.len());
        refuse_all(batch, error, &self.metrics);
    }

    /// Counts them as no longer queued.
    fn note_taken(&self, jobs: usize) {
        self.metrics.queued.dec_by(i64::try_from(jobs).unwrap_or_default());
    }
}

/// Refuses those whose deadline has passed.
fn without_late(batch: Vec<Job>, now: Instant, metrics: &ReceiptMetrics) -> Vec<Job> {
    let is_in_time = |job: &Job| now < job.receipt.deadline();
    if batch.iter().all(is_in_time) {
        return batch;
    }
    let (batch, late): (Vec<_>, Vec<_>) = batch.into_iter().partition(is_in_time);
    for job in late {
        metrics.refused.inc();
        let _ = job.reply.send(Err(BUSY));
    }
    batch
}

/// Replies to the senders. A receipt is stored even if its sender no longer waits.
async fn answer_all(
    connection: &mut KeptConnection,
    batch: Vec<Job>,
    inserted: usize,
    metrics: &ReceiptMetrics,
) {
    if inserted == batch.len() {
        for job in batch {
            let _ = job.reply.send(Ok(job.receipt.signed));
        }
        return;
    }
    match stored(connection, &batch).await {
        Ok(stored) => {
            for (job, stored) in batch.into_iter().zip(stored) {
                // Not found: it was too late or the pixel is deleted; a repeat finds out which.
                if stored.is_none() {
                    metrics.refused.inc();
                }
                let _ = job.reply.send(stored.unwrap_or(Err(BUSY)));
            }
        }
        // Some are stored: a sender that repeats its choice gets the receipt.
        Err(error) => refuse_all(batch, &error, metrics),
    }
}

/// The stored receipts of the choices, from this batch or earlier.
async fn stored(
    connection: &mut KeptConnection,
    batch: &[Job],
) -> Result<Vec<Option<Result<SignedReceipt>>>> {
    let finding = async |live: &mut LiveConnection| match live.is_spread {
        false => recording::list_stored(&mut live.connection, batch).await,
        true => cluster::recording::list_stored(&mut live.connection, batch).await,
    };
    connection.run(finding).await
}

fn refuse_all(batch: Vec<Job>, error: &Error, metrics: &ReceiptMetrics) {
    metrics.refused.inc_by(batch.len() as u64);
    for job in batch {
        let _ = job.reply.send(Err(error.for_another()));
    }
}
