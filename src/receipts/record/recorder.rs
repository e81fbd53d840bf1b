//! The writer of receipts: concurrent choices share one commit. A bounded queue feeds the writer. It takes
//! all pending receipts, inserts them with one statement, and replies only after `COMMIT`. There is no
//! timer: batches grow with the load, and a single receipt is written at once. Every job has a deadline: once
//! its sender has given up, the choice must not be stored after the visitor's next answer, which may have been
//! sent to another node. The writer checks the deadline before the statement, and the database checks it again
//! in the statement that stores the receipt. There is one writer, because a commit costs as much as a dozen
//! rows: two writers would commit twice as often for the same load, which was measured to be slower.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout_at;

use super::new_receipt::NewReceipt;
use super::writing::{BATCH, BUSY, Job};
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::{Error, Result};
use crate::infra::metrics::ReceiptMetrics;
use crate::infra::postgres::Database;
use crate::infra::postgres::dedicated_connection::DedicatedConnection;
use crate::infra::supervise::supervise;
use crate::receipts::storage::ReceiptStorage;

/// Maximum number of queued receipts.
const QUEUE: usize = 10_000;
/// Grace period for the writer's reply after the deadline.
const ANSWERED_AFTER: Duration = Duration::from_secs(1);

/// A message to the writer.
#[allow(clippy::large_enum_variant, reason = "nearly all of them are jobs")]
enum Task {
    Write(Job),
    /// Checks that the writer can write now.
    Probe(oneshot::Sender<Result<()>>),
}

/// The sender of the queue, held by requests.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Task>,
    metrics: ReceiptMetrics,
}

impl Recorder {
    /// Starts the writer; it ends when the last `Recorder` is dropped.
    pub fn start(
        database: &Database,
        metrics: ReceiptMetrics,
        storage: Arc<dyn ReceiptStorage>,
    ) -> Self {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let (database, tasks) = (database.clone(), Arc::new(Mutex::new(tasks)));
        supervise(move || {
            write_batches(DedicatedConnection::new(&database), tasks.clone(), storage.clone())
        });
        Self { queue, metrics }
    }

    /// Stores a receipt and returns it once it is durable. For a repeated choice, the first receipt of that
    /// choice is returned instead. Fails if the queue is full, or if the choice could not be stored by its
    /// deadline, `STORED_WITHIN` after its arrival. If the outcome is unknown, sending the choice again returns
    /// its receipt if there is one.
    pub async fn record(&self, receipt: NewReceipt) -> Result<SignedReceipt> {
        let (reply, answer) = oneshot::channel();
        let deadline = receipt.deadline();
        let job = Job { receipt, reply };
        self.metrics.queued.inc();
        if self.queue.try_send(Task::Write(job)).is_err() {
            self.metrics.queued.dec();
            self.metrics.refused.inc();
            return Err(BUSY);
        }
        match timeout_at((deadline + ANSWERED_AFTER).into(), answer).await {
            Ok(answer) => answer.map_err(|_| Error::internal("the writer of receipts panicked"))?,
            Err(_) => Err(BUSY),
        }
    }

    /// Checks that the writer reaches the database.
    pub async fn probe(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(Task::Probe(reply)).map_err(|_| BUSY)?;
        answer.await.map_err(|_| Error::internal("the writer of receipts panicked"))?
    }
}

async fn write_batches(
    mut connection: DedicatedConnection,
    tasks: Arc<Mutex<mpsc::Receiver<Task>>>,
    storage: Arc<dyn ReceiptStorage>,
) {
    let mut tasks = tasks.lock().await;
    let mut taken = Vec::with_capacity(BATCH);
    while tasks.recv_many(&mut taken, BATCH).await > 0 {
        let (mut batch, mut probes) = (Vec::with_capacity(taken.len()), Vec::new());
        for task in taken.drain(..) {
            match task {
                Task::Write(job) => batch.push(job),
                Task::Probe(reply) => probes.push(reply),
            }
        }
        if !batch.is_empty() {
            storage.record(&mut connection, batch).await;
        }
        if !probes.is_empty() {
            connection.answer_probes(probes).await;
        }
    }
}
