//! Work that comes round again and again while the service runs.

use std::pin::pin;
use std::time::Duration as RealTime;

use chrono::Duration;
use tokio::time::timeout;

use super::lasting::survived;
use crate::clock::Clock;

/// How often the clock is looked at: it may be moved.
const GLANCE: RealTime = RealTime::from_millis(if cfg!(test) { 10 } else { 1_000 });

/// Does `work` at once, and then again whenever `every` has passed by the program's clock, until
/// `end` comes. A round that panics is not the last.
///
/// No round is cut off: a transaction that is dropped while it begins stays open on its connection,
/// and one that is dropped while it commits leaves a warning. Long work has to see by itself that
/// the service ends.
pub fn keep_doing<W>(
    clock: Clock,
    every: Duration,
    end: impl Future<Output = ()> + Send + 'static,
    work: impl Fn() -> W + Send + 'static,
) where
    W: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        let mut end = pin!(end);
        let (mut next, mut pause) = (clock.now(), RealTime::ZERO);
        while timeout(pause, &mut end).await.is_err() {
            let now = clock.now();
            if now >= next {
                next = now + every;
                survived(work()).await;
            }
            pause = GLANCE;
        }
    });
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use chrono::DateTime;
    use futures_util::FutureExt;
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    #[tokio::test]
    async fn a_round_that_panics_is_not_the_last() {
        let (round, mut rounds) = mpsc::unbounded_channel();
        keep_doing(Clock::manual(DateTime::UNIX_EPOCH), Duration::zero(), pending(), move || {
            let round = round.clone();
            async move {
                round.send(()).unwrap();
                panic!("as a round never should");
            }
        });
        assert_eq!(rounds.recv().await, Some(()));
        assert_eq!(rounds.recv().await, Some(()));
    }

    #[tokio::test]
    async fn a_round_is_finished_when_the_end_comes_and_is_the_last() {
        let (round, mut rounds) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel::<()>();
        let ended = ended.map(drop);
        keep_doing(Clock::manual(DateTime::UNIX_EPOCH), Duration::zero(), ended, move || {
            let round = round.clone();
            async move {
                round.send("begun").unwrap();
                tokio::time::sleep(5 * GLANCE).await;
                round.send("done").unwrap();
            }
        });
        assert_eq!(rounds.recv().await, Some("begun"));
        drop(end);
        assert_eq!(rounds.recv().await, Some("done"));
        assert_eq!(rounds.recv().await, None);
    }
}
