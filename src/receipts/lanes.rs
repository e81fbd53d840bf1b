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
use tokio::time::{Instant, timeout, timeout_at};

use super::shards::Part;
use crate::infra::postgres::kept_connection::KeptConnection;
use crate::infra::supervise::supervise;

/// Jobs that may wait for a lane.
const QUEUE: usize = 2_000;
/// A lane without jobs gives its connection back after so long.
const IDLE: Duration = Duration::from_secs(60);
/// For so long a busy lane waits for its batch to become more than a few.
const GATHERING: Duration = Duration::from_millis(1);
/// A lane is busy when its last batch, of several jobs, was done no longer ago than this.
const BUSY: Duration = Duration::from_millis(5);

/// How many jobs are done at once.
#[derive(Clone, Copy)]
pub struct Batches {
    pub most: usize,
    /// Fewer than so many are worth waiting a moment for more where a lane is busy, as a statement for few costs
    /// nearly what one for many does. None or one: never.
    pub few: usize,
}

/// The ends of the lanes' queues. Nobody works, and no connection is opened, before there is a job.
pub struct Lanes<J> {
    start: Box<dyn Fn() -> mpsc::Sender<J> + Send + Sync>,
    queues: Latch<HashMap<Part, mpsc::Sender<J>>>,
}

impl<J: Send + 'static> Lanes<J> {
    /// Each of them does `work` with all that waits for it, in the order in which it came. They end when this
    /// is dropped.
    pub fn new<W>(pool: &PgPool, batches: Batches, work: W) -> Self
    where
        W: for<'a> Fn(&'a mut KeptConnection, Vec<J>) -> BoxFuture<'a, ()>,
        W: Clone + Send + Sync + 'static,
    {
        let pool = pool.clone();
        let start = move || {
            let (queue, jobs) = mpsc::channel(QUEUE);
            let (pool, jobs, work) = (pool.clone(), Arc::new(Mutex::new(jobs)), work.clone());
            supervise(move || {
                run(KeptConnection::for_parts(&pool), jobs.clone(), batches, work.clone())
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
                if busy_until.is_some_and(|end| Instant::now() < end) {
                    gather(&mut jobs, &mut taken, batches).await;
                }
                let several = taken.len() > 1;
                work(&mut connection, std::mem::take(&mut taken)).await;
                busy_until = several.then(|| Instant::now() + BUSY);
            }
            Err(_) => connection.give_up(),
        }
    }
}

/// Waits a moment for more where only few have come.
async fn gather<J>(jobs: &mut mpsc::Receiver<J>, taken: &mut Vec<J>, batches: Batches) {
    let end = Instant::now() + GATHERING;
    while taken.len() < batches.few {
        let room = batches.most - taken.len();
        if !matches!(timeout_at(end, jobs.recv_many(taken, room)).await, Ok(1..)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgPoolOptions;
    use tokio::task::yield_now;

    use super::*;

    /// A lane, and how many jobs each of its batches had.
    fn start() -> (Lanes<()>, mpsc::UnboundedReceiver<usize>) {
        let pool = PgPoolOptions::new().connect_lazy("postgres://nobody@localhost/nothing");
        let (note, batches) = mpsc::unbounded_channel();
        let lanes = Lanes::new(
            &pool.expect("an address"),
            Batches { most: 100, few: 3 },
            move |_, jobs: Vec<()>| {
                note.send(jobs.len()).expect("the test goes on");
                Box::pin(async {})
            },
        );
        (lanes, batches)
    }

    fn hand_over(lanes: &Lanes<()>, jobs: usize) {
        for _ in 0..jobs {
            lanes.hand_over(Part::default(), ()).expect("there is room");
        }
    }

    /// Lets the lane do what it can do without time passing.
    async fn let_it_work() {
        for _ in 0..10 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn jobs_one_after_the_other_are_each_done_at_once() {
        let (lanes, mut batches) = start();
        for _ in 0..5 {
            hand_over(&lanes, 1);
            let_it_work().await;
            assert_eq!(batches.try_recv(), Ok(1));
        }
    }

    #[tokio::test]
    async fn a_busy_lane_waits_a_moment_for_more_than_a_few() {
        let (lanes, mut batches) = start();
        for _ in 0..100 {
            hand_over(&lanes, 3);
            assert_eq!(batches.recv().await, Some(3));
            hand_over(&lanes, 1);
            let_it_work().await;
            hand_over(&lanes, 1);
            let_it_work().await;
            hand_over(&lanes, 2);
            // Where this machine was busy with something else meanwhile, the moment was over.
            if batches.recv().await == Some(4) {
                return;
            }
            tokio::time::sleep(2 * GATHERING).await;
            while batches.try_recv().is_ok() {}
        }
        panic!("each was done alone");
    }

    #[tokio::test]
    async fn a_few_are_done_when_no_more_come() {
        let (lanes, mut batches) = start();
        hand_over(&lanes, 2);
        assert_eq!(batches.recv().await, Some(2));
        hand_over(&lanes, 1);
        assert_eq!(batches.recv().await, Some(1));
    }
}
