//! The writer of receipts: many waiting choices share one commit.
//!
//! A bounded queue feeds the writer. It takes all that waits, inserts it in one statement, and
//! answers each waiter only after `COMMIT`. There is no timer: under load batches grow by
//! themselves, without load a receipt goes alone.
//!
//! A choice is stored soon or never. Its sender gives up after a while, and what the visitor answers
//! then, perhaps by way of another node, must be the later choice. So every job has a deadline, which
//! is kept here and, by the database itself, in the statement that stores it.
//!
//! One writer, because a commit costs as much as a dozen rows: two share the load, and so commit
//! twice as often for it. That was measured to be slower. Only where tables are spread over several
//! machines the writer hands everything on to [`Lanes`], and batches are those of one part of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout_at;

use super::lanes::{Batches, Lanes};
use super::receipt::SignedReceipt;
use super::shards::Shards;
use super::store::recording::NewReceipt;
use super::writing::{BUSY, Job, Wakes, Writer};
use crate::error::{Error, Result};
use crate::infra::metrics::ReceiptMetrics;
use crate::infra::postgres::Database;
use crate::infra::postgres::kept_connection::KeptConnection;
use crate::infra::supervise::supervise;

/// Receipts that may wait for the writer.
const QUEUE: usize = 10_000;
const BATCH: usize = 1_000;
/// How long the word of what was stored in time may take.
const ANSWERED_AFTER: Duration = Duration::from_secs(1);

/// What the writer is asked for.
#[allow(clippy::large_enum_variant, reason = "nearly all of them are jobs")]
enum Task {
    Write(Job),
    /// Whether it could write now.
    Probe(oneshot::Sender<Result<()>>),
}

/// The end of the queue that requests hold.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Task>,
    metrics: ReceiptMetrics,
    is_spread: Arc<AtomicBool>,
}

impl Recorder {
    /// Starts the writer; it ends when the last `Recorder` is gone.
    ///
    /// `wakes` are not news to other nodes.
    pub fn start(database: &Database, metrics: ReceiptMetrics, wakes: Wakes) -> Self {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let writer = Writer { pool: database.pool.clone(), metrics: metrics.clone(), wakes };
        let is_spread = Arc::new(AtomicBool::new(false));
        let shared = Shared {
            tasks: Arc::new(Mutex::new(tasks)),
            lanes: Arc::new(start_lanes(database, &writer)),
            is_spread: is_spread.clone(),
            writer,
        };
        let database = database.clone();
        supervise(move || write_batches(KeptConnection::new(&database), shared.clone()));
        Self { queue, metrics, is_spread }
    }

    /// Whether tables may be spread over several machines, as far as the writer knows.
    pub fn is_spread(&self) -> bool {
        self.is_spread.load(Ordering::Relaxed)
    }

    /// Stores a receipt and returns it once it is durable. For a choice that the pixel has seen
    /// before, the first receipt of that choice is returned instead.
    ///
    /// A full queue is an error, never a silent loss, and so is a choice that could not be stored
    /// by its deadline, `STORED_WITHIN` after it came. When it is not known what became of it,
    /// whoever sends it again is given its receipt if there is one.
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

    /// Whether the writer reaches the database.
    pub async fn probe(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(Task::Probe(reply)).map_err(|_| BUSY)?;
        answer.await.map_err(|_| Error::internal("the writer of receipts panicked"))?
    }
}

fn start_lanes(database: &Database, writer: &Writer) -> Lanes<Job> {
    let writer = writer.clone();
    Lanes::new(database, Batches { most: BATCH, enough: None }, move |connection, batch| {
        let writer = writer.clone();
        async move { writer.write(connection, batch).await }.boxed()
    })
}

/// What the writer has, also when it starts again.
#[derive(Clone)]
struct Shared {
    tasks: Arc<Mutex<mpsc::Receiver<Task>>>,
    lanes: Arc<Lanes<Job>>,
    is_spread: Arc<AtomicBool>,
    writer: Writer,
}

async fn write_batches(mut connection: KeptConnection, shared: Shared) {
    let Shared { tasks, lanes, is_spread, writer } = shared;
    let (mut tasks, mut shards) = (tasks.lock().await, Shards::new());
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
            match connection.is_spread().await {
                Ok(false) => writer.write(&mut connection, batch).await,
                Ok(true) => hand_over(&mut connection, &mut shards, &lanes, &writer, batch).await,
                Err(error) => writer.refuse(batch, &error),
            }
        }
        if !probes.is_empty() {
            connection.answer_probes(probes).await;
        }
        is_spread.store(connection.was_spread(), Ordering::Relaxed);
    }
}

/// Gives each to the lane of its pixel's part.
async fn hand_over(
    connection: &mut KeptConnection,
    shards: &mut Shards,
    lanes: &Lanes<Job>,
    writer: &Writer,
    batch: Vec<Job>,
) {
    let pixel_ids = batch.iter().map(|job| job.pixel_id().as_str()).collect::<Vec<_>>();
    match connection.run(async |live| shards.of(live, &pixel_ids).await).await {
        Ok(parts) => {
            for (part, job) in parts.into_iter().zip(batch) {
                if let Err(job) = lanes.hand_over(part, job) {
                    writer.refuse(vec![job], &BUSY);
                }
            }
        }
        Err(error) => writer.refuse(batch, &error),
    }
}
