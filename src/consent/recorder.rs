//! The writer of receipts: many waiting choices share one commit.
//!
//! A bounded queue feeds one task. It takes all that waits, inserts it in one statement, and
//! answers each waiter only after `COMMIT`. There is no timer: under load batches grow by
//! themselves, without load a receipt goes alone.

use std::collections::HashMap;
use std::time::Instant;

use sqlx::PgPool;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::receipt::SignedReceipt;
use super::store;
use crate::error::{Error, Result};
use crate::platform::metrics::ReceiptMetrics;

const QUEUE: usize = 10_000;
const BATCH: usize = 1_000;

/// A receipt on its way into the database.
pub struct Job {
    pub signed: SignedReceipt,
    pub choice_id: Option<Uuid>,
    reply: oneshot::Sender<Result<SignedReceipt>>,
}

/// The end of the queue that requests hold.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Job>,
    metrics: ReceiptMetrics,
}

impl Recorder {
    /// Starts the writing task; it ends when the last `Recorder` is gone.
    pub fn start(pool: PgPool, metrics: ReceiptMetrics) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        tokio::spawn(write_batches(pool, jobs, metrics.clone()));
        Self { queue, metrics }
    }

    /// Stores a receipt and returns it once it is durable. For a `choice_id` that the pixel has
    /// seen before, the first receipt of that choice is returned instead.
    ///
    /// A full queue is an error, never a silent loss.
    pub async fn record(
        &self,
        signed: SignedReceipt,
        choice_id: Option<Uuid>,
    ) -> Result<SignedReceipt> {
        let (reply, answer) = oneshot::channel();
        let job = Job { signed, choice_id, reply };
        self.metrics.queued.inc();
        if self.queue.try_send(job).is_err() {
            self.metrics.queued.dec();
            self.metrics.refused.inc();
            return Err(Error::Busy { retry_after: 1 });
        }
        answer.await.map_err(|_| Error::internal("the receipt writer ended"))?
    }
}

async fn write_batches(pool: PgPool, mut jobs: mpsc::Receiver<Job>, metrics: ReceiptMetrics) {
    let mut batch = Vec::with_capacity(BATCH);
    while jobs.recv_many(&mut batch, BATCH).await > 0 {
        let (size, taken) = (batch.len(), Instant::now());
        metrics.queued.dec_by(i64::try_from(size).unwrap_or_default());
        write(&pool, std::mem::take(&mut batch)).await;
        metrics.commit.observe_time(taken.elapsed());
        metrics.batch.observe(size as u64);
        batch.reserve(BATCH);
    }
}

/// Writes a batch; when PostgreSQL refuses it for a reason of its own content, each receipt
/// alone, so that one bad row never fails its neighbours.
async fn write(pool: &PgPool, batch: Vec<Job>) {
    let error = match insert(pool, &batch).await {
        Ok(firsts) => return answer_all(batch, firsts),
        Err(error) => error,
    };
    if matches!(error, Error::DatabaseUnavailable) {
        for job in batch {
            let _ = job.reply.send(Err(Error::DatabaseUnavailable));
        }
        return;
    }
    tracing::error!(%error, receipts = batch.len(), "a batch of receipts failed, trying each alone");
    for job in batch {
        let alone = std::slice::from_ref(&job);
        match insert(pool, alone).await {
            Ok(firsts) => answer_all(vec![job], firsts),
            Err(error) => {
                let _ = job.reply.send(Err(error));
            }
        }
    }
}

/// Inserts all, in order. Gives the first receipts of choices that were known already.
async fn insert(pool: &PgPool, batch: &[Job]) -> Result<HashMap<Uuid, SignedReceipt>> {
    let mut transaction = pool.begin().await?;
    let inserted = store::insert_receipts(&mut transaction, batch).await?;
    let mut firsts = HashMap::new();
    for job in batch.iter().filter(|job| !inserted.contains(&job.signed.receipt.receipt_id)) {
        let Some(choice_id) = job.choice_id else { continue };
        let pixel_id = &job.signed.receipt.pixel_id;
        if let Some(first) =
            store::find_receipt_of_choice(&mut transaction, pixel_id, choice_id).await?
        {
            firsts.insert(job.signed.receipt.receipt_id, first);
        }
    }
    transaction.commit().await?;
    Ok(firsts)
}

/// A waiter that has gone away is no loss: its receipt is stored.
fn answer_all(batch: Vec<Job>, mut firsts: HashMap<Uuid, SignedReceipt>) {
    for job in batch {
        let stored = firsts.remove(&job.signed.receipt.receipt_id).unwrap_or(job.signed);
        let _ = job.reply.send(Ok(stored));
    }
}
