//! Work queues per shard on a cluster, where a statement concerns one shard ([`super::shards`]) and waits for
//! its machine. Every shard has a task with its own queue and connection, so receipts of a pixel keep their
//! order, and a slow or unavailable shard delays only its own queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Latch, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout, timeout_at};

use super::shards::ShardId;
use crate::infra::postgres::Database;
use crate::infra::postgres::dedicated_connection::DedicatedConnection;
use crate::infra::supervise::supervise;

const QUEUE: usize = 2_000;
/// A task without jobs closes its connection after this time.
const IDLE: Duration = Duration::from_secs(60);
/// A busy shard waits this long to fill a batch; the runtime's timer has a resolution of a millisecond, so
/// the actual wait is one to two.
const GATHERING: Duration = Duration::from_millis(1);
/// A shard counts as busy for this long after a batch of at least half of `enough` jobs.
const BUSY: Duration = Duration::from_millis(5);

#[derive(Clone, Copy)]
pub struct Batches {
    pub most: usize,
    /// A busy shard flushes at this batch size. `None` flushes immediately.
    pub enough: Option<usize>,
}

/// The senders of the shards' queues. Tasks and connections are created with the first job.
pub struct ShardQueues<J> {
    start: Box<dyn Fn() -> mpsc::Sender<J> + Send + Sync>,
    queues: Latch<HashMap<ShardId, mpsc::Sender<J>>>,
}

impl<J: Send + 'static> ShardQueues<J> {
    /// Each task runs `work` with all jobs of its queue, in order of arrival. The tasks end when this is
    /// dropped.
    pub fn new<W>(database: &Database, batches: Batches, work: W) -> Self
    where
        W: for<'a> Fn(&'a mut DedicatedConnection, Vec<J>) -> BoxFuture<'a, ()>,
        W: Clone + Send + Sync + 'static,
    {
        let database = database.clone();
        let start = move || {
            let (queue, jobs) = mpsc::channel(QUEUE);
            let (database, jobs, work) =
                (database.clone(), Arc::new(Mutex::new(jobs)), work.clone());
            supervise(move || {
                run(DedicatedConnection::for_shards(&database), jobs.clone(), batches, work.clone())
            });
            queue
        };
        Self { start: Box::new(start), queues: Latch::default() }
    }

    /// Queues a job for a shard; returns it if the queue is full.
    pub fn hand_over(&self, shard: ShardId, job: J) -> Result<(), J> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.entry(shard).or_insert_with(&self.start);
        queue.try_send(job).map_err(mpsc::error::TrySendError::into_inner)
    }
}

async fn run<J>(
    mut connection: DedicatedConnection,
    jobs: Arc<Mutex<mpsc::Receiver<J>>>,
    batches: Batches,
    work: impl for<'a> Fn(&'a mut DedicatedConnection, Vec<J>) -> BoxFuture<'a, ()>,
) {
    let mut jobs = jobs.lock().await;
    let mut taken = Vec::new();
    let mut busy_until = None;
    loop {
        match timeout(IDLE, jobs.recv_many(&mut taken, batches.most)).await {
            Ok(0) => return,
            Ok(_) => {
                let is_busy = busy_until.is_some_and(|end| Instant::now() < end);
                if is_busy {
                    gather(&mut jobs, &mut taken, batches).await;
                }
                let is_much = batches.enough.is_some_and(|enough| taken.len() >= enough / 2);
                work(&mut connection, std::mem::take(&mut taken)).await;
                busy_until = is_much.then(|| Instant::now() + BUSY);
            }
            Err(_) => connection.close(),
        }
    }
}

async fn gather<J>(jobs: &mut mpsc::Receiver<J>, taken: &mut Vec<J>, batches: Batches) {
    let end = Instant::now() + GATHERING;
    while batches.enough.is_some_and(|enough| taken.len() < enough) {
        let room = batches.most - taken.len();
        if !matches!(timeout_at(end, jobs.recv_many(taken, room)).await, Ok(1..)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;

    use super::*;

    /// A queue with batches of four jobs, and the size of each batch.
    struct Queue {
        shard_queues: ShardQueues<()>,
        batches: mpsc::UnboundedReceiver<usize>,
        /// Jobs that were queued and are not finished.
        left: usize,
    }

    impl Queue {
        fn start() -> Self {
            let database = Database::connect("postgres://nobody@localhost/nothing");
            let (note, batches) = mpsc::unbounded_channel();
            let shard_queues = ShardQueues::new(
                &database.expect("an address"),
                Batches { most: 100, enough: Some(4) },
                move |_, jobs: Vec<()>| {
                    note.send(jobs.len()).expect("the test goes on");
                    Box::pin(async {})
                },
            );
            Self { shard_queues, batches, left: 0 }
        }

        /// Queues jobs, runs the task until it waits, and returns the size of the batch that it has finished;
        /// `None` if it waits for more jobs.
        async fn does(&mut self, jobs: usize) -> Option<usize> {
            for _ in 0..jobs {
                self.shard_queues.hand_over(ShardId::default(), ()).expect("there is room");
            }
            self.left += jobs;
            for _ in 0..10 {
                yield_now().await;
            }
            let done = self.batches.try_recv().ok();
            self.left -= done.unwrap_or_default();
            done
        }

        async fn ends(&mut self) {
            while self.left > 0 {
                self.left -= self.batches.recv().await.expect("a queue");
            }
        }
    }

    #[tokio::test]
    async fn few_jobs_after_few_are_done_at_once() {
        let mut queue = Queue::start();
        for _ in 0..5 {
            assert_eq!(queue.does(1).await, Some(1));
        }
    }

    #[tokio::test]
    async fn a_busy_queue_waits_a_moment_until_there_is_enough() {
        let mut queue = Queue::start();
        for _ in 0..100 {
            assert_eq!(queue.does(2).await, Some(2));
            let waiting = [queue.does(1).await, queue.does(2).await];
            let enough = queue.does(1).await;
            // On a loaded machine the wait may end before all jobs are queued; then the test tries again.
            if (waiting, enough) == ([None, None], Some(4)) {
                return;
            }
            queue.ends().await;
            tokio::time::sleep(2 * BUSY).await;
        }
        panic!("each was done alone");
    }

    #[tokio::test]
    async fn a_moment_is_no_longer() {
        let mut queue = Queue::start();
        assert_eq!(queue.does(2).await, Some(2));
        queue.does(1).await;
        queue.ends().await;
    }
}
