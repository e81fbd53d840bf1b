//! Work that comes round again and again while the service runs.

use std::time::Duration as RealTime;

use chrono::Duration;

use crate::clock::Clock;

/// How often the clock is looked at: it may be moved.
const GLANCE: RealTime = RealTime::from_secs(1);

/// Does `work` at once, and then again whenever `every` has passed by the program's clock, until
/// `end` comes.
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
                work().await;
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
