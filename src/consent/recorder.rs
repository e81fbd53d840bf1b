//! The writer of receipts: many waiting choices share one commit.
//!
//! A bounded queue feeds the writer. It takes all that waits, inserts it in one statement, and
//! answers each waiter only after `COMMIT`. There is no timer: under load batches grow by
//! themselves, without load a receipt goes alone.
//!
//! One writer, because a commit costs as much as a dozen rows: two share the load, and so commit
//! twice as often for it. That was measured to be slower.

use std::sync::Arc;
use std::time::Instant;

use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc, oneshot};
use uuid::Uuid;

use super::receipt::SignedReceipt;
use super::store::recording;
use crate::error::{Error, Result};
use crate::platform::kept_connection::KeptConnection;
use crate::platform::lasting::keep_running;
use crate::platform::metrics::ReceiptMetrics;

/// Receipts that may wait for the writer.
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
    /// Starts the writer; it ends when the last `Recorder` is gone.
    pub fn start(pool: &PgPool, metrics: ReceiptMetrics) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let (pool, counted, jobs) = (pool.clone(), metrics.clone(), Arc::new(Mutex::new(jobs)));
        keep_running(move || {
            let connection = KeptConnection::new(pool.clone());
            write_batches(connection, jobs.clone(), counted.clone())
        });
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
        answer.await.map_err(|_| Error::internal("the writer of receipts panicked"))?
    }
}

async fn write_batches(
    mut connection: KeptConnection,
    jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
    metrics: ReceiptMetrics,
) {
    let mut jobs = jobs.lock().await;
    let mut batch = Vec::with_capacity(BATCH);
    while jobs.recv_many(&mut batch, BATCH).await > 0 {
        let (size, taken) = (batch.len(), Instant::now());
        metrics.queued.dec_by(i64::try_from(size).unwrap_or_default());
        write(&mut connection, std::mem::take(&mut batch)).await;
        metrics.commit.observe_time(taken.elapsed());
        metrics.batch.observe(size as u64);
        batch.reserve(BATCH);
    }
}

/// Writes a batch; when PostgreSQL refuses it for a reason of its own content, each receipt
/// alone, so that one bad row never fails its neighbours.
async fn write(connection: &mut KeptConnection, batch: Vec<Job>) {
    let error = match insert(connection, &batch).await {
        Ok(inserted) => return answer_all(connection, batch, inserted).await,
        Err(error) => error,
    };
    if matches!(error, Error::DatabaseUnavailable) {
        return refuse_all(batch, &error);
    }
    tracing::error!(%error, receipts = batch.len(), "a batch of receipts failed, trying each alone");
    for job in batch {
        match insert(connection, std::slice::from_ref(&job)).await {
            Ok(inserted) => answer_all(connection, vec![job], inserted).await,
            Err(error) => {
                let _ = job.reply.send(Err(error));
            }
        }
    }
}

/// Inserts all, in order, in one statement that is a transaction of its own: it is durable when
/// this returns. Gives the number of those that do not repeat a choice.
async fn insert(connection: &mut KeptConnection, batch: &[Job]) -> Result<usize> {
    let inserted = recording::insert_receipts(connection.get().await?, batch).await;
    if inserted.is_err() {
        connection.give_up();
    }
    inserted
}

/// Answers whoever waits. One who has gone away is no loss: the receipt is stored.
async fn answer_all(connection: &mut KeptConnection, batch: Vec<Job>, inserted: usize) {
    if inserted == batch.len() {
        for job in batch {
            let _ = job.reply.send(Ok(job.signed));
        }
        return;
    }
    let (named, nameless): (Vec<_>, Vec<_>) =
        batch.into_iter().partition(|job| job.choice_id.is_some());
    for job in nameless {
        let _ = job.reply.send(Ok(job.signed));
    }
    match first_receipts(connection, &named).await {
        Ok(firsts) => {
            for (job, first) in named.into_iter().zip(firsts) {
                // Not found when it was erased in between: what is sent again then is stored.
                let _ = job.reply.send(first.ok_or(Error::Busy { retry_after: 1 }));
            }
        }
        // They are stored: whoever sends a choice again gets its receipt.
        Err(error) => refuse_all(named, &error),
    }
}

/// The receipts that choices were given the first time, which is now or was before.
async fn first_receipts(
    connection: &mut KeptConnection,
    batch: &[Job],
) -> Result<Vec<Option<SignedReceipt>>> {
    let found = recording::list_receipts_of_choices(connection.get().await?, batch).await;
    if found.is_err() {
        connection.give_up();
    }
    found
}

fn refuse_all(batch: Vec<Job>, error: &Error) {
    for job in batch {
        let _ = job.reply.send(Err(error.for_another()));
    }
}
