//! Work side by side, where tables are spread over several machines.
//!
//! There a statement concerns one part of the tables ([`super::shards`]) and waits for the
//! machine that has it. A lane is a task with a connection of its own, and every part has its lane: so what
//! is recorded of a pixel keeps its order, and a part that is slow or gone holds up its own lane only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Latch, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout, timeout_at};

use super::shards::Part;
use crate::infra::postgres::Database;
use crate::infra::postgres::kept_connection::KeptConnection;
use crate::infra::supervise::supervise;

/// Jobs that may wait for a lane.
const QUEUE: usize = 2_000;
/// A lane without jobs gives its connection back after so long.
const IDLE: Duration = Duration::from_secs(60);
/// For so long a busy lane waits for enough to do at once; by the runtime's clock, whose step is a millisecond,
/// that is one to two of them.
const GATHERING: Duration = Duration::from_millis(1);
/// A lane is busy for so long after it has done at once half of what is enough.
const BUSY: Duration = Duration::from_millis(5);

/// How many jobs are done at once.
#[derive(Clone, Copy)]
pub struct Batches {
    pub most: usize,
    /// So many that a busy lane waits for no more. What waits is always enough where there is no such number.
    pub enough: Option<usize>,
}

/// The ends of the lanes' queues. Nobody works, and no connection is opened, before there is a job.
pub struct Lanes<J> {
    start: Box<dyn Fn() -> mpsc::Sender<J> + Send + Sync>,
    queues: Latch<HashMap<Part, mpsc::Sender<J>>>,
}

impl<J: Send + 'static> Lanes<J> {
    /// Each of them does `work` with all that waits for it, in the order in which it came. They end when this
    /// is dropped.
    pub fn new<W>(database: &Database, batches: Batches, work: W) -> Self
    where
        W: for<'a> Fn(&'a mut KeptConnection, Vec<J>) -> BoxFuture<'a, ()>,
        W: Clone + Send + Sync + 'static,
    {
        let database = database.clone();
        let start = move || {
            let (queue, jobs) = mpsc::channel(QUEUE);
            let (database, jobs, work) =
                (database.clone(), Arc::new(Mutex::new(jobs)), work.clone());
            supervise(move || {
                run(KeptConnection::for_parts(&database), jobs.clone(), batches, work.clone())
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
    batches: Batches,
    work: impl for<'a> Fn(&'a mut KeptConnection, Vec<J>) -> BoxFuture<'a, ()>,
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

/// Waits a moment until enough have come.
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

    /// A lane of four jobs at once, and how many each of its batches had.
    struct Lane {
        lanes: Lanes<()>,
        batches: mpsc::UnboundedReceiver<usize>,
        /// Jobs that were handed over and not done.
        left: usize,
    }

    impl Lane {
        fn start() -> Self {
            let database = Database::connect("postgres://nobody@localhost/nothing");
            let (note, batches) = mpsc::unbounded_channel();
            let lanes = Lanes::new(
                &database.expect("an address"),
                Batches { most: 100, enough: Some(4) },
                move |_, jobs: Vec<()>| {
                    note.send(jobs.len()).expect("the test goes on");
                    Box::pin(async {})
                },
            );
            Self { lanes, batches, left: 0 }
        }

        /// Hands jobs over, lets the lane do what it can do without time passing, and gives how many it did
        /// at once.
        async fn does(&mut self, jobs: usize) -> Option<usize> {
            for _ in 0..jobs {
                self.lanes.hand_over(Part::default(), ()).expect("there is room");
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
                self.left -= self.batches.recv().await.expect("a lane");
            }
        }
    }

    #[tokio::test]
    async fn few_jobs_after_few_are_done_at_once() {
        let mut lane = Lane::start();
        for _ in 0..5 {
            assert_eq!(lane.does(1).await, Some(1));
        }
    }

    #[tokio::test]
    async fn a_busy_lane_waits_a_moment_until_there_is_enough() {
        let mut lane = Lane::start();
        for _ in 0..100 {
            assert_eq!(lane.does(2).await, Some(2));
            let waiting = [lane.does(1).await, lane.does(2).await];
            let enough = lane.does(1).await;
            // Where this machine was busy with something else meanwhile, the moment was over.
            if (waiting, enough) == ([None, None], Some(4)) {
                return;
            }
            lane.ends().await;
            tokio::time::sleep(2 * BUSY).await;
        }
        panic!("each was done alone");
    }

    #[tokio::test]
    async fn a_moment_is_no_longer() {
        let mut lane = Lane::start();
        assert_eq!(lane.does(2).await, Some(2));
        lane.does(1).await;
        lane.ends().await;
    }
}
