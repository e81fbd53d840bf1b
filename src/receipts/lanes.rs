//! Work side by side, where tables are spread over several machines.
//!
//! There a statement concerns one pixel and waits for the machine that has it. A lane is a task with a
//! connection of its own, and every pixel has its lane: so what is recorded of a pixel keeps its order,
//! and a machine that is slow or gone holds up the lanes that ask it, not those beside them.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc};

use crate::infra::postgres::kept_connection::KeptConnection;
use crate::infra::supervise::supervise;

/// Jobs that may wait for a lane.
const QUEUE: usize = 2_000;

/// The ends of the lanes' queues. Nobody works, and no connection is opened, before there is a job.
pub struct Lanes<J> {
    queues: Vec<mpsc::Sender<J>>,
    hasher: RandomState,
}

impl<J: Send + 'static> Lanes<J> {
    /// Starts so many lanes, each of which does `work` with all that waits for it, at most `batch` jobs
    /// at once and in the order in which they came. They end when this is dropped.
    pub fn start<W>(pool: &PgPool, lanes: usize, batch: usize, work: W) -> Self
    where
        W: for<'a> Fn(&'a mut KeptConnection, Vec<J>) -> BoxFuture<'a, ()>,
        W: Clone + Send + Sync + 'static,
    {
        let start = |_| {
            let (queue, jobs) = mpsc::channel(QUEUE);
            let (pool, jobs, work) = (pool.clone(), Arc::new(Mutex::new(jobs)), work.clone());
            supervise(move || run(KeptConnection::new(&pool), jobs.clone(), batch, work.clone()));
            queue
        };
        Self { queues: (0..lanes).map(start).collect(), hasher: RandomState::new() }
    }

    /// Gives a job to the pixel's lane; back when too many wait there.
    pub fn hand_over(&self, pixel: &str, job: J) -> Result<(), J> {
        let lane = self.hasher.hash_one(pixel) % self.queues.len() as u64;
        self.queues[lane as usize].try_send(job).map_err(|refused| refused.into_inner())
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
    while jobs.recv_many(&mut taken, batch).await > 0 {
        work(&mut connection, std::mem::take(&mut taken)).await;
    }
}

/// Jobs by pixel, each pixel's in the order in which they came.
pub fn by_pixel<J>(jobs: Vec<J>, pixel: impl Fn(&J) -> &str) -> Vec<Vec<J>> {
    let mut groups = Vec::<Vec<J>>::new();
    for job in jobs {
        match groups.iter_mut().find(|group| pixel(&group[0]) == pixel(&job)) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_a_pixel_keep_their_order() {
        let jobs = vec![("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5)];
        let groups = by_pixel(jobs, |job| job.0);
        assert_eq!(groups, [vec![("a", 1), ("a", 3)], vec![("b", 2), ("b", 5)], vec![("c", 4)],]);
    }
}
