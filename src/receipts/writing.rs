//! Writing batches of receipts, and answering those who wait for them.

use std::sync::Arc;
use std::time::Instant;

use sqlx::PgPool;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::receipt::SignedReceipt;
use super::store::recording::{self, NewReceipt};
use super::store::spread;
use super::store::spread::recording::Unsettled;
use crate::error::{Error, Result};
use crate::infra::metrics::ReceiptMetrics;
use crate::infra::postgres::kept_connection::{KeptConnection, LiveConnection, PATIENCE};
use crate::types::ids::PixelId;

/// There is no room for it, or it came too late.
pub const BUSY: Error = Error::Busy { retry_after: 1 };

/// A receipt on its way into the database.
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

/// Who is waked on this node by what was written.
#[derive(Clone, Default)]
pub struct Wakes {
    /// `contacts::withdrawal`, when somebody has refused.
    pub refused: Arc<Notify>,
    /// Who sends to customers' endpoints, when one is told.
    pub told: Arc<Notify>,
}

/// What those who write have in common.
#[derive(Clone)]
pub struct Writer {
    /// For what endpoints are told, where receipts lie on another machine.
    pub pool: PgPool,
    pub metrics: ReceiptMetrics,
    pub wakes: Wakes,
}

impl Writer {
    /// Writes what is still in time, and wakes those who wait for it.
    pub async fn write(&self, connection: &mut KeptConnection, batch: Vec<Job>) {
        let any_refuses = batch.iter().any(|job| job.receipt.signed.receipt.refuses_resolution());
        let any_told = batch.iter().any(|job| !job.receipt.told.is_empty());
        let (size, begun, metrics) = (batch.len(), Instant::now(), &self.metrics);
        self.note_taken(size);
        let batch = without_late(batch, begun, metrics);
        if !batch.is_empty() {
            let unsettled = self.write_in_time(connection, batch).await;
            metrics.commit.observe_time(begun.elapsed());
            metrics.batch.observe(size as u64);
            if any_refuses {
                self.wakes.refused.notify_one();
            }
            self.settle(connection, unsettled).await;
        }
        if any_told {
            self.wakes.told.notify_one();
        }
    }

    /// Writes a batch; when PostgreSQL refuses it for a reason of its own content, each receipt
    /// alone, so that one bad row never fails its neighbours. Gives what is still to be settled.
    async fn write_in_time(
        &self,
        connection: &mut KeptConnection,
        batch: Vec<Job>,
    ) -> Option<Unsettled> {
        let metrics = &self.metrics;
        let error = match self.insert(connection, &batch).await {
            Ok((inserted, unsettled)) => {
                answer_all(connection, batch, inserted, metrics).await;
                return unsettled;
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
                Ok((inserted, unsettled)) => {
                    answer_all(connection, vec![job], inserted, metrics).await;
                    self.settle(connection, unsettled).await;
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

    /// Inserts all, in order, in a transaction of their own: they are durable when this returns. Gives the
    /// number of those that were stored, and where receipts lie on another machine what is owed for them.
    async fn insert(
        &self,
        connection: &mut KeptConnection,
        batch: &[Job],
    ) -> Result<(usize, Option<Unsettled>)> {
        let inserting = async |live: &mut LiveConnection| {
            if !live.is_spread {
                return Ok((recording::insert_receipts(live, batch).await?, None));
            }
            let unsettled = spread::recording::insert_receipts(live, &self.pool, batch).await?;
            Ok((unsettled.count(), Some(unsettled)))
        };
        connection.run(inserting).await
    }

    /// Lets whoever waits for those who record pass, and endpoints be told, after those who wait for their
    /// receipts have been answered.
    async fn settle(&self, connection: &mut KeptConnection, unsettled: Option<Unsettled>) {
        let Some(unsettled) = unsettled else { return };
        let begun = Instant::now();
        let letting_pass = async |live: &mut LiveConnection| {
            spread::recording::let_pass(&mut live.connection).await
        };
        if connection.is_live()
            && let Err(error) = connection.run(letting_pass).await
        {
            tracing::warn!(%error, "a connection that records is given up, so that nobody waits for it");
        }
        let told = timeout(PATIENCE, unsettled.let_go(&self.pool)).await;
        if let Err(error) = told.unwrap_or(Err(Error::DatabaseUnavailable)) {
            tracing::warn!(%error, "what endpoints are told is sent later");
        }
        self.metrics.settling.observe_time(begun.elapsed());
    }

    /// Answers all with an error.
    pub fn refuse(&self, batch: Vec<Job>, error: &Error) {
        self.note_taken(batch.len());
        refuse_all(batch, error, &self.metrics);
    }

    /// They do not wait in a queue any more.
    fn note_taken(&self, jobs: usize) {
        self.metrics.queued.dec_by(i64::try_from(jobs).unwrap_or_default());
    }
}

/// Refuses those whose time is over.
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

/// Answers those who wait. The receipt is stored also for one who does not wait any more.
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
                // Not found when it came too late or the pixel is gone: a repeat finds out which.
                if stored.is_none() {
                    metrics.refused.inc();
                }
                let _ = job.reply.send(stored.unwrap_or(Err(BUSY)));
            }
        }
        // Some are stored: whoever sends a choice again gets its receipt.
        Err(error) => refuse_all(batch, &error, metrics),
    }
}

/// What is stored of the choices, by this batch or before.
async fn stored(
    connection: &mut KeptConnection,
    batch: &[Job],
) -> Result<Vec<Option<Result<SignedReceipt>>>> {
    let finding = async |live: &mut LiveConnection| match live.is_spread {
        false => recording::list_stored(&mut live.connection, batch).await,
        true => spread::recording::list_stored(&mut live.connection, batch).await,
    };
    connection.run(finding).await
}

fn refuse_all(batch: Vec<Job>, error: &Error, metrics: &ReceiptMetrics) {
    metrics.refused.inc_by(batch.len() as u64);
    for job in batch {
        let _ = job.reply.send(Err(error.for_another()));
    }
}
