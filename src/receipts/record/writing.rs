use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Notify, oneshot};

use super::new_receipt::NewReceipt;
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::{Error, Result};
use crate::infra::metrics::ReceiptMetrics;
use crate::infra::postgres::dedicated_connection::{DedicatedConnection, LiveConnection};
use crate::receipts::store::recording;
use crate::types::ids::PixelId;

/// Maximum number of receipts in a batch.
pub const BATCH: usize = 1_000;
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
pub struct Notifiers {
    /// `contacts::withdrawal`, after a refusal.
    pub refused: Arc<Notify>,
    pub events: Arc<Notify>,
}

pub trait Statements: Sync {
    /// Work on inserted receipts that is left for [`Statements::complete`].
    type Pending: Send;

    /// Inserts the batch, in order, in its own transaction: it is durable on return. Returns the number of new
    /// receipts, and the work that the caller must complete for them.
    fn insert(
        &self,
        live: &mut LiveConnection,
        batch: &[Job],
    ) -> impl Future<Output = Result<(usize, Self::Pending)>> + Send;

    fn list_stored(
        &self,
        live: &mut LiveConnection,
        batch: &[Job],
    ) -> impl Future<Output = Result<Vec<Option<Result<SignedReceipt>>>>> + Send;

    /// Completes an insertion after the senders of the receipts have been answered.
    fn complete(
        &self,
        connection: &mut DedicatedConnection,
        pending: Self::Pending,
    ) -> impl Future<Output = ()> + Send;
}

#[derive(Clone)]
pub struct PlainStatements;

impl Statements for PlainStatements {
    type Pending = ();

    async fn insert(&self, live: &mut LiveConnection, batch: &[Job]) -> Result<(usize, ())> {
        Ok((recording::insert_receipts(live, batch).await?, ()))
    }

    async fn list_stored(
        &self,
        live: &mut LiveConnection,
        batch: &[Job],
    ) -> Result<Vec<Option<Result<SignedReceipt>>>> {
        recording::list_stored(&mut live.connection, batch).await
    }

    async fn complete(&self, _: &mut DedicatedConnection, (): ()) {}
}

#[derive(Clone)]
pub struct Writer<S> {
    pub statements: S,
    pub metrics: ReceiptMetrics,
    pub notifiers: Notifiers,
}

impl<S: Statements> Writer<S> {
    /// Writes the receipts within their deadline, and replies to their senders.
    pub async fn write(&self, connection: &mut DedicatedConnection, batch: Vec<Job>) {
        let any_refuses = batch.iter().any(|job| job.receipt.signed.receipt.refuses_resolution());
        let has_events = batch.iter().any(|job| !job.receipt.events.is_empty());
        let (size, begun, metrics) = (batch.len(), Instant::now(), &self.metrics);
        self.count_dequeued(size);
        let batch = without_late(batch, begun, metrics);
        if !batch.is_empty() {
            let pending = self.write_in_time(connection, batch).await;
            metrics.commit.observe(begun.elapsed().as_secs_f64());
            metrics.batch.observe(size as f64);
            if any_refuses {
                self.notifiers.refused.notify_one();
            }
            if let Some(pending) = pending {
                self.statements.complete(connection, pending).await;
            }
        }
        if has_events {
            self.notifiers.events.notify_one();
        }
    }

    /// Writes a batch; if PostgreSQL refuses it because of its content, writes each receipt alone, so that
    /// one bad row never fails the others. Returns what is still to be completed.
    async fn write_in_time(
        &self,
        connection: &mut DedicatedConnection,
        batch: Vec<Job>,
    ) -> Option<S::Pending> {
        let metrics = &self.metrics;
        let error = match self.insert(connection, &batch).await {
            Ok((inserted, pending)) => {
                self.answer_all(connection, batch, inserted).await;
                return Some(pending);
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
                Ok((inserted, pending)) => {
                    self.answer_all(connection, vec![job], inserted).await;
                    self.statements.complete(connection, pending).await;
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

    async fn insert(
        &self,
        connection: &mut DedicatedConnection,
        batch: &[Job],
    ) -> Result<(usize, S::Pending)> {
        connection.run(async |live| self.statements.insert(live, batch).await).await
    }

    /// Replies to the senders. A receipt is stored even if its sender no longer waits.
    async fn answer_all(
        &self,
        connection: &mut DedicatedConnection,
        batch: Vec<Job>,
        inserted: usize,
    ) {
        if inserted == batch.len() {
            for job in batch {
                let _ = job.reply.send(Ok(job.receipt.signed));
            }
            return;
        }
        let finding =
            async |live: &mut LiveConnection| self.statements.list_stored(live, &batch).await;
        match connection.run(finding).await {
            Ok(stored) => {
                for (job, stored) in batch.into_iter().zip(stored) {
                    // Not found: it was too late or the pixel is deleted. A repeated request finds out which.
                    if stored.is_none() {
                        self.metrics.refused.inc();
                    }
                    let _ = job.reply.send(stored.unwrap_or(Err(BUSY)));
                }
            }
            // Some may be stored: a sender that repeats its choice then gets the receipt.
            Err(error) => refuse_all(batch, &error, &self.metrics),
        }
    }

    pub fn refuse(&self, batch: Vec<Job>, error: &Error) {
        self.count_dequeued(batch.len());
        refuse_all(batch, error, &self.metrics);
    }

    /// Subtracts jobs from the metric of queued receipts.
    fn count_dequeued(&self, jobs: usize) {
        self.metrics.queued.dec_by(i64::try_from(jobs).unwrap_or_default());
    }
}

/// Refuses the jobs whose deadline has passed, and returns the others.
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

fn refuse_all(batch: Vec<Job>, error: &Error, metrics: &ReceiptMetrics) {
    metrics.refused.inc_by(batch.len() as u64);
    for job in batch {
        let _ = job.reply.send(Err(error.for_another()));
    }
}
