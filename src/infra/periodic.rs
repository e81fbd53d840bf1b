use std::pin::pin;
use std::sync::Arc;
use std::time::Duration as RealTime;

use chrono::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout};

use super::supervise::survived;
use crate::clock::Clock;

/// Interval of reading the program's clock, which may be set to another time.
const CLOCK_POLL: RealTime = RealTime::from_millis(if cfg!(test) { 10 } else { 1_000 });

/// Delay after a wake-up, to collect simultaneous events.
const GATHERING: RealTime = RealTime::from_millis(100);

/// The number of concurrent first runs. All work is due when the service starts, and would otherwise open one
/// connection to the database per run at the same moment.
const FIRST_RUNS: usize = 2;

/// The longest time that a first run waits for other first runs.
const LONGEST_DELAY: RealTime = RealTime::from_millis(if cfg!(test) { 500 } else { 1_000 });

/// Schedules all periodic work of one node.
#[derive(Clone)]
pub struct Schedule {
    clock: Clock,
    first_runs: Arc<Semaphore>,
}

impl Schedule {
    pub fn new(clock: Clock) -> Self {
        Self { clock, first_runs: Arc::new(Semaphore::new(FIRST_RUNS)) }
    }
}

/// Runs `work` soon, and then whenever `every` has passed by the program's clock, until `end`. A
/// panic does not end the repetition. If the clock is set back, the work runs at once. No run is
/// cancelled, because a dropped transaction stays open on its connection, so long work must check
/// for a shutdown itself.
pub fn periodic<W>(
    schedule: &Schedule,
    every: Duration,
    end: impl Future<Output = ()> + Send + 'static,
    work: impl Fn() -> W + Send + 'static,
) where
    W: Future<Output = ()> + Send + 'static,
{
    periodic_or_notified(schedule, every, Arc::default(), end, work);
}

pub fn periodic_or_notified<W>(
    schedule: &Schedule,
    every: Duration,
    wake: Arc<Notify>,
    end: impl Future<Output = ()> + Send + 'static,
    work: impl Fn() -> W + Send + 'static,
) where
    W: Future<Output = ()> + Send + 'static,
{
    let Schedule { clock, first_runs } = schedule.clone();
    tokio::spawn(async move {
        let mut end = pin!(end);
        let (mut last, mut pause) = (None, RealTime::ZERO);
        loop {
            let is_notified = tokio::select! {
                biased;
                () = &mut end => return,
                () = wake.notified() => true,
                () = sleep(pause) => false,
            };
            if is_notified && timeout(GATHERING, &mut end).await.is_ok() {
                return;
            }
            let now = clock.now();
            if is_notified || last.is_none_or(|last| now < last || now >= last + every) {
                let turn = match last {
                    None => tokio::select! {
                        biased;
                        () = &mut end => return,
                        turn = timeout(LONGEST_DELAY, first_runs.acquire()) => turn.ok(),
                    },
                    Some(_) => None,
                };
                last = Some(now);
                survived(work()).await;
                drop(turn);
            }
            pause = CLOCK_POLL;
        }
    });
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use chrono::DateTime;
    use futures_util::FutureExt;
    use tokio::sync::{mpsc, oneshot};
    use tokio::time::Instant;

    use super::*;

    fn schedule() -> Schedule {
        Schedule::new(Clock::manual(DateTime::UNIX_EPOCH))
    }

    #[tokio::test]
    async fn few_run_first_at_a_time_and_slow_work_does_not_hold_up_the_others() {
        let schedule = schedule();
        let (run, mut runs) = mpsc::unbounded_channel();
        let begun = Instant::now();
        for _ in 0..2 * FIRST_RUNS {
            let run = run.clone();
            periodic(&schedule, Duration::hours(1), pending(), move || {
                run.send(begun.elapsed()).unwrap();
                pending()
            });
        }
        let mut started = Vec::new();
        for _ in 0..2 * FIRST_RUNS {
            started.push(runs.recv().await.unwrap());
        }
        let (first, later) = started.split_at(FIRST_RUNS);
        assert!(first.iter().all(|after| *after < LONGEST_DELAY), "{started:?}");
        assert!(later.iter().all(|after| *after >= LONGEST_DELAY), "{started:?}");
    }

    #[tokio::test]
    async fn a_run_that_panics_is_not_the_last() {
        let (run, mut runs) = mpsc::unbounded_channel();
        periodic(&schedule(), Duration::zero(), pending(), move || {
            let run = run.clone();
            async move {
                run.send(()).unwrap();
                panic!("as a run never should");
            }
        });
        assert_eq!(runs.recv().await, Some(()));
        assert_eq!(runs.recv().await, Some(()));
    }

    #[tokio::test]
    async fn a_clock_that_is_put_back_does_not_let_work_rest() {
        let clock = Clock::manual(DateTime::UNIX_EPOCH);
        let (run, mut runs) = mpsc::unbounded_channel();
        periodic(&Schedule::new(clock.clone()), Duration::minutes(1), pending(), move || {
            let run = run.clone();
            async move { run.send(()).unwrap() }
        });
        assert_eq!(runs.recv().await, Some(()));
        clock.advance(Duration::hours(-49));
        assert_eq!(runs.recv().await, Some(()));
        clock.advance(Duration::seconds(59));
        assert!(timeout(5 * CLOCK_POLL, runs.recv()).await.is_err());
        clock.advance(Duration::seconds(1));
        assert_eq!(runs.recv().await, Some(()));
    }

    #[tokio::test]
    async fn a_run_is_finished_when_the_end_comes_and_is_the_last() {
        let (run, mut runs) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel::<()>();
        let ended = ended.map(drop);
        periodic(&schedule(), Duration::zero(), ended, move || {
            let run = run.clone();
            async move {
                run.send("begun").unwrap();
                tokio::time::sleep(5 * CLOCK_POLL).await;
                run.send("done").unwrap();
            }
        });
        assert_eq!(runs.recv().await, Some("begun"));
        drop(end);
        assert_eq!(runs.recv().await, Some("done"));
        assert_eq!(runs.recv().await, None);
    }
}
