//! How fast a node answers the visitors of one site, so that a site which has all the visitors that a
//! machine can bear leaves the others theirs.
//!
//! A pixel may take 4,000 requests a second of a node, 1,000 of them at once. What comes faster is not
//! refused but waits for its turn, up to a second; what would have to wait for longer is `too many
//! requests`, after the same second, because whoever is refused at once asks again at once.
//!
//! `RATE_LIMITS=off` switches this off too.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::per_client::too_many;
use crate::error::Result;

/// One request every so often, in microseconds.
const EVERY: u64 = 250;
/// How far the pixel may be ahead of that, in microseconds: so many at once do not wait.
const AT_ONCE: u64 = 1_000 * EVERY;
/// The longest that a request waits for its turn, in microseconds.
const PATIENCE: u64 = 1_000_000;

/// The turns of one pixel's visitors on this node.
#[derive(Debug)]
pub struct Pace {
    since: Instant,
    /// The turn of the next request, in microseconds.
    next: AtomicU64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { since: Instant::now(), next: AtomicU64::new(0) }
    }
}

impl Pace {
    /// Waits for the turn of one more request; an error when too many wait before it.
    pub async fn turn(&self) -> Result<()> {
        let now = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        match self.take(now) {
            Ok(0) => Ok(()),
            Ok(wait) => {
                sleep(Duration::from_micros(wait)).await;
                Ok(())
            }
            Err(error) => {
                sleep(Duration::from_micros(PATIENCE)).await;
                Err(error)
            }
        }
    }

    /// Takes the next turn, and gives the microseconds until it comes.
    fn take(&self, now: u64) -> Result<u64> {
        let wait = |next: u64| next.saturating_sub(now).saturating_sub(AT_ONCE);
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            (wait(next) <= PATIENCE).then(|| next.max(now) + EVERY)
        });
        taken.map(wait).map_err(|_| too_many(Duration::from_secs(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// How long each of so many requests waits that come at the same time; those that are refused are left
    /// out.
    fn waits(pace: &Pace, now: u64, requests: usize) -> Vec<u64> {
        (0..requests).filter_map(|_| pace.take(now).ok()).collect()
    }

    #[test]
    fn a_thousand_at_once_do_not_wait_and_the_others_wait_for_their_turns() {
        let pace = Pace::default();
        assert_eq!(waits(&pace, 0, 1_000), [0; 1_000]);
        let late = waits(&pace, 0, 2_000);
        assert_eq!((late[0], late[1], late[1_999]), (0, EVERY, SECOND / 2 - EVERY));
        // Another site is not concerned, and later this one has its thousand again.
        assert_eq!(waits(&Pace::default(), 0, 1_000), [0; 1_000]);
        assert_eq!(waits(&pace, SECOND, 1_000), [0; 1_000]);
    }

    #[test]
    fn who_would_wait_for_more_than_a_second_is_refused() {
        let pace = Pace::default();
        assert_eq!(waits(&pace, 0, 20_000).len(), 5_001);
        assert_eq!(pace.take(0).unwrap_err().retry_after(), Some(1));
        assert_eq!(waits(&pace, 2 * EVERY, 20_000), [SECOND - EVERY, SECOND]);
    }

    #[tokio::test]
    async fn who_is_refused_is_not_refused_at_once() {
        let pace = Pace::default();
        pace.next.store(u64::MAX / 2, Ordering::Relaxed);
        let begun = Instant::now();
        assert!(pace.turn().await.is_err());
        assert!(begun.elapsed().as_micros() >= u128::from(PATIENCE));
    }
}
