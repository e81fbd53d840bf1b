//! Work that comes round again and again while the service runs.

use std::time::Duration as RealTime;

use chrono::Duration;

use super::lasting::survived;
use crate::clock::Clock;

/// How often the clock is looked at: it may be moved.
const GLANCE: RealTime = RealTime::from_millis(if cfg!(test) { 10 } else { 1_000 });

/// Does `work` at once, and then again whenever `every` has passed by the program's clock, until
/// `end` comes. A round that panics is not the last.
pub fn keep_doing<W>(
    clock: Clock,
    every: Duration,
    end: impl Future<Output = ()> + Send + 'static,
    work: impl Fn() -> W + Send + 'static,
) where
    W: Future<Output = ()> + Send + 'static,
{
    let rounds = async move {
        let mut next = clock.now();
        loop {
            let now = clock.now();
            if now >= next {
                next = now + every;
                survived(work()).await;
            }
            tokio::time::sleep(GLANCE).await;
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = end => {}
            () = rounds => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use chrono::DateTime;
    use tokio::sync::mpsc;

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
}
