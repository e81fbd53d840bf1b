//! How fast a node answers the visitors of one site, so that a site which has all the visitors that a
//! machine can bear leaves the others theirs.
//!
//! A pixel may read 4,000 times a second from a node and write as often, 100 of them at once. What comes
//! faster is not refused but waits for its turn, up to a second; what would have to wait for longer is `too
//! many requests`, after the same second, because whoever is refused at once asks again at once.
//!
//! `RATE_LIMITS=off` switches this off too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::per_client::too_many;
use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::types::ids::PixelId;

/// How fast every pixel may go. In microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// One request every so often.
    pub every: u64,
    /// How far a pixel may be ahead of that without waiting.
    pub ahead: u64,
    /// The longest that a request waits for its turn.
    pub patience: u64,
}

impl Default for Pacing {
    /// As above.
    fn default() -> Self {
        Self { every: 250, ahead: 100 * 250, patience: 1_000_000 }
    }
}

/// Pixels whose turns are kept; of one that is dropped visitors begin anew.
const KEPT: u64 = 20_000;

/// What a visitor's page wants.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// The tag, and what it asks.
    Read,
    /// A choice, or that a popup was shown.
    Write,
}

/// The turns of all pixels' visitors on this node. Clones share them.
#[derive(Clone)]
pub struct Paces {
    pacing: Option<Pacing>,
    pixels: Cache<PixelId, Arc<[Pace; 2]>>,
}

impl Paces {
    /// Without a pacing nobody waits.
    pub fn new(pacing: Option<Pacing>) -> Self {
        Self { pacing, pixels: Cache::new(Bounds::entries(KEPT, None)) }
    }

    /// Waits for the turn of one more request of the pixel's visitors; an error when too many wait before
    /// it.
    pub async fn wait(&self, turn: Turn, pixel_id: &PixelId) -> Result<()> {
        let Some(pacing) = self.pacing else { return Ok(()) };
        let paces = match self.pixels.get(pixel_id).await {
            Some(paces) => paces,
            None => {
                let first = async { Arc::default() };
                self.pixels.get_or_insert_with(pixel_id.clone(), first).await
            }
        };
        paces[turn as usize].turn(pacing).await
    }
}

/// The turns of one pixel's visitors.
#[derive(Debug)]
struct Pace {
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
    async fn turn(&self, pacing: Pacing) -> Result<()> {
        let now = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        match self.take(pacing, now) {
            Ok(0) => Ok(()),
            Ok(wait) => {
                sleep(Duration::from_micros(wait)).await;
                Ok(())
            }
            Err(error) => {
                sleep(Duration::from_micros(pacing.patience)).await;
                Err(error)
            }
        }
    }

    /// Takes the next turn, and gives the microseconds until it comes.
    fn take(&self, pacing: Pacing, now: u64) -> Result<u64> {
        let wait = |next: u64| next.saturating_sub(now).saturating_sub(pacing.ahead);
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            (wait(next) <= pacing.patience).then(|| next.max(now) + pacing.every)
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
        (0..requests).filter_map(|_| pace.take(Pacing::default(), now).ok()).collect()
    }

    #[test]
    fn a_hundred_at_once_do_not_wait_and_the_others_wait_for_their_turns() {
        let pace = Pace::default();
        assert_eq!(waits(&pace, 0, 100), [0; 100]);
        let late = waits(&pace, 0, 2_000);
        assert_eq!((late[0], late[1], late[1_999]), (0, 250, SECOND / 2 - 250));
        // Another site is not concerned, and later this one has its hundred again.
        assert_eq!(waits(&Pace::default(), 0, 100), [0; 100]);
        assert_eq!(waits(&pace, SECOND, 100), [0; 100]);
    }

    #[test]
    fn who_would_wait_for_more_than_a_second_is_refused() {
        let pace = Pace::default();
        assert_eq!(waits(&pace, 0, 20_000).len(), 4_101);
        assert_eq!(pace.take(Pacing::default(), 0).unwrap_err().retry_after(), Some(1));
        assert_eq!(waits(&pace, 2 * 250, 20_000), [SECOND - 250, SECOND]);
    }

    #[tokio::test]
    async fn who_is_refused_is_not_refused_at_once() {
        let pace = Pace::default();
        pace.next.store(u64::MAX / 2, Ordering::Relaxed);
        let begun = Instant::now();
        assert!(pace.turn(Pacing::default()).await.is_err());
        assert!(begun.elapsed() >= Duration::from_secs(1));
    }
}
