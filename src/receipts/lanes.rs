//! Work side by side, where tables are spread over several machines.
//!
//! There a statement concerns one part of the tables ([`super::shards`]) and waits for the
//! machine that has it. A lane is a task with a connection of its own, and every part has its lane: so what
//! is recorded of a pixel keeps its order, and a part that is slow or gone holds up its own lane only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Latch, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::shards::Part;
use crate::infra::postgres::kept_connection::KeptConnection;
use crate::infra::supervise::supervise;

/// Jobs that may wait for a lane.
const QUEUE: usize = 2_000;
/// A lane without jobs gives its connection back after so long.
const IDLE: Duration = Duration::from_secs(60);

/// The ends of the lanes' queues. Nobody works, and no connection is opened, before there is a job.
pub struct Lanes<J> {
    start: Box<dyn Fn() -> mpsc::Sender<J> + Send + Sync>,
    queues: Latch<HashMap<Part, mpsc::Sender<J>>>,
}

impl<J: Send + 'static> Lanes<J> {
    /// Each of them does `work` with all that waits for it, at most `batch` jobs at once and in the order
    /// in which they came. They end when this is dropped.
    pub fn new<W>(pool: &PgPool, batch: usize, work: W) -> Self
    where
        W: for<'a> Fn(&'a mut KeptConnection, Vec<J>) -> BoxFuture<'a, ()>,
        W: Clone + Send + Sync + 'static,
    {
        let pool = pool.clone();
        let start = move || {
            let (queue, jobs) = mpsc::channel(QUEUE);
            let (pool, jobs, work) = (pool.clone(), Arc::new(Mutex::new(jobs)), work.clone());
            supervise(move || {
                run(KeptConnection::for_parts(&pool), jobs.clone(), batch, work.clone())
            });
            queue
        };
        Self { start: Box::new(start), queues: Latch::default() }
    }

    /// Gives a job to the lane of a part; back when too many wait there.
    pub fn hand_over(&self, part: Part, job: J) -> Result<(), J> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.entry(part).or_insert_with(&self.start);
        queue.try_send(job).map_err(mpsc::error::TrySendError::into_inner)
    }
}

async fn run<J>(
    mut connection: KeptConnection,
    jobs: Arc<Mutex<mpsc::Receiver<J>>>,
    batch: usize,
    work: impl for<'a> Fn(&'a mut KeptConnection, Vec<J>) -> BoxFuture<'a, ()>,
) {
    let mut jobs = jobs.lock().await;
    let mut taken = Vec::new();
    loop {
        match timeout(IDLE, jobs.recv_many(&mut taken, batch)).await {
            Ok(0) => return,
            Ok(_) => work(&mut connection, std::mem::take(&mut taken)).await,
            Err(_) => connection.give_up(),
        }
    }
}
