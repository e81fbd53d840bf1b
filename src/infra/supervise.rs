//! Restarts background work after a panic, which would otherwise remain unnoticed.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

/// Delay before a restart, so that a panic at every start does not fill the log.
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1_000 });

/// Runs `work` in the background until it returns, and restarts it after a panic, which loses its state.
pub fn supervise<W>(work: impl Fn() -> W + Send + 'static)
where
    W: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        while !survived(work()).await {
            tokio::time::sleep(PAUSE).await;
        }
    });
}

pub async fn survived(work: impl Future<Output = ()>) -> bool {
    AssertUnwindSafe(work).catch_unwind().await.is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::{Mutex, mpsc};

    use super::*;

    #[tokio::test]
    async fn work_that_panics_goes_on_with_what_still_waits() {
        let (queue, jobs) = mpsc::channel(3);
        let (answer, mut answers) = mpsc::channel(3);
        let jobs = Arc::new(Mutex::new(jobs));
        supervise(move || {
            let (jobs, answer) = (jobs.clone(), answer.clone());
            async move {
                while let Some(job) = jobs.lock().await.recv().await {
                    assert_ne!(job, "bad");
                    answer.send(job).await.unwrap();
                }
            }
        });
        for job in ["good", "bad", "good again"] {
            queue.send(job).await.unwrap();
        }
        assert_eq!(answers.recv().await, Some("good"));
        assert_eq!(answers.recv().await, Some("good again"));
        drop(queue);
        assert_eq!(answers.recv().await, None, "the work has ended by itself");
    }
}
