//! The reader of visitors' latest receipts: concurrent checks share one round trip. A bounded queue feeds
//! the readers. One of them takes all pending lookups, reads them with one statement that finds every
//! visitor by index, and replies; lookups that arrive meanwhile are taken by the next reader. There is no
//! further delay: a single check is read at once. A stuck reader delays only the lookups that it has taken,
//! for a few seconds.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

use super::lookup::{BATCH, Lookup};
use crate::error::{Error, Result};
use crate::infra::postgres::Database;
use crate::infra::postgres::dedicated_connection::{DedicatedConnection, TIMEOUT};
use crate::infra::supervise::supervise;
use crate::receipts::storage::ReceiptStorage;
use crate::receipts::store::latest::{LatestConsent, VisitorRef};
use crate::types::ids::{PixelRef, VisitorId};

/// While one reader waits for PostgreSQL, the other one replies.
const READERS: usize = 2;
/// Maximum number of queued lookups.
const QUEUE: usize = 10_000;

/// A message to the readers.
enum Task {
    Find(Lookup),
    /// Checks that the reader can read now.
    Probe(oneshot::Sender<Result<()>>),
}

/// The sender of the queue, held by requests.
#[derive(Clone)]
pub struct ConsentReader {
    queue: mpsc::Sender<Task>,
}

impl ConsentReader {
    /// Starts the readers; they end when the last `ConsentReader` is dropped.
    pub fn start(database: &Database, storage: &Arc<dyn ReceiptStorage>) -> Self {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let tasks = Arc::new(Mutex::new(tasks));
        for _ in 0..READERS {
            let (database, tasks, storage) = (database.clone(), tasks.clone(), storage.clone());
            supervise(move || {
                read_batches(DedicatedConnection::new(&database), tasks.clone(), storage.clone())
            });
        }
        Self { queue }
    }

    /// Returns the visitor's latest receipt and the pixel's current settings, both read after the call has begun.
    /// Fails if the queue is full or no reader answers in time.
    pub async fn find(
        &self,
        pixel: PixelRef,
        visitor_id: VisitorId,
    ) -> Result<Option<LatestConsent>> {
        let (reply, answer) = oneshot::channel();
        let visitor = VisitorRef { pixel, visitor_id };
        self.ask(Task::Find(Lookup { visitor, reply }), answer).await
    }

    /// Checks that a reader reaches the database.
    pub async fn probe(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Task::Probe(reply), answer).await
    }

    async fn ask<T>(&self, task: Task, answer: oneshot::Receiver<Result<T>>) -> Result<T> {
        self.queue.try_send(task).map_err(|_| Error::Busy { retry_after: 1 })?;
        // Both readers may be stuck with earlier lookups.
        let answer = timeout(TIMEOUT, answer).await.map_err(|_| Error::DatabaseUnavailable)?;
        answer.map_err(|_| Error::internal("the reader of receipts panicked"))?
    }
}

async fn read_batches(
    mut connection: DedicatedConnection,
    tasks: Arc<Mutex<mpsc::Receiver<Task>>>,
    storage: Arc<dyn ReceiptStorage>,
) {
    let mut taken = Vec::with_capacity(BATCH);
    // The other reader waits for the lock while this one waits for lookups.
    while tasks.lock().await.recv_many(&mut taken, BATCH).await > 0 {
        let (mut batch, mut probes) = (Vec::with_capacity(taken.len()), Vec::new());
        for task in taken.drain(..) {
            match task {
                Task::Find(lookup) => batch.push(lookup),
                Task::Probe(reply) => probes.push(reply),
            }
        }
        // Drops lookups whose callers have given up.
        batch.retain(|lookup| !lookup.reply.is_closed());
        probes.retain(|reply| !reply.is_closed());
        if !batch.is_empty() {
            storage.find(&mut connection, batch).await;
        }
        if !probes.is_empty() {
            connection.answer_probes(probes).await;
        }
    }
}
