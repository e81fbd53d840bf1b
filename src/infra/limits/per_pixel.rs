//! Limits per pixel on the writes of all its visitors together, so that a flood of requests for one site
//! cannot deny the service to other sites.
//!
//! Counted per node, in memory, for choices that would be stored. A site with a thousand new visitors per
//! second stays below the limits even if a single node serves only this site (see `account_rate`):
//!
//! | write | burst | then per second |
//! | --- | --- | --- |
//! | acceptances | 20,000 | 2,000 |
//! | declines and withdrawals, so that they are refused last | 40,000 | 4,000 |
//! | impressions; further ones are not counted | 20,000 | 2,000 |
//! | erasure requests | 100 | 10 |
//!
//! `RATE_LIMITS=off` disables these limits, like the limits per client.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use governor::Quota;
use governor::clock::Clock as _;

use super::per_client::too_many;
use super::steady_clock::SteadyClock;
use super::sweeping::{self, Limiter, sweep};
use crate::clock::Clock;
use crate::error::Result;
use crate::types::ids::PixelId;

#[derive(Clone, Copy)]
pub enum VisitorWrite {
    Acceptance,
    Refusal,
    Shown,
    ErasureRequest,
}

/// Rate per second, in the order of [`VisitorWrite`]; the burst is ten times as large.
const PER_SECOND: [u32; 4] = [2_000, 4_000, 2_000, 10];
const SECONDS_AT_ONCE: u32 = 10;

pub struct PixelLimits {
    enabled: bool,
    clock: SteadyClock,
    limiters: [Limiter<PixelId>; 4],
    logged_minute: AtomicU64,
}

impl PixelLimits {
    pub fn new(clock: Clock, enabled: bool) -> Self {
        let clock = SteadyClock::new(clock);
        let limiters = PER_SECOND.map(|per_second| {
            let figure = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
            let quota = Quota::per_second(figure(per_second))
                .allow_burst(figure(per_second * SECONDS_AT_ONCE));
            sweeping::limiter(quota, &clock)
        });
        Self { enabled, clock, limiters, logged_minute: AtomicU64::new(0) }
    }

    pub fn sweep(&self) {
        self.limiters.iter().for_each(sweep);
    }

    pub fn admit(&self, write: VisitorWrite, pixel_id: &PixelId) -> Result<()> {
        if !self.enabled {
            return Ok(());
        }
        let limiter = &self.limiters[write as usize];
        limiter.check_key(pixel_id).map(|_| ()).map_err(|until| {
            self.log_flood(pixel_id);
            too_many(until.wait_time_from(self.clock.now()))
        })
    }

    /// Logs a pixel whose limit is exceeded, at most once a minute so that the log is not flooded too.
    fn log_flood(&self, pixel_id: &PixelId) {
        let minute = self.clock.now().as_secs() / 60;
        if self.logged_minute.swap(minute, Ordering::Relaxed) != minute {
            tracing::warn!(%pixel_id, "a pixel has more visitors than its limit lets through");
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn a_pixels_bucket_lets_a_busy_site_through_and_is_its_own() {
        let clock = Clock::manual(DateTime::UNIX_EPOCH);
        let limits = PixelLimits::new(clock.clone(), true);
        let (busy, other) = (PixelId::from("busy".to_owned()), PixelId::from("other".to_owned()));
        let admitted = |write| (0..).find(|_| limits.admit(write, &busy).is_err()).unwrap();
        assert_eq!(admitted(VisitorWrite::Acceptance), 20_000);
        assert_eq!(
            limits.admit(VisitorWrite::Acceptance, &busy).unwrap_err().retry_after(),
            Some(1)
        );
        // A refusal is still accepted, and another site is not affected.
        assert_eq!(admitted(VisitorWrite::Refusal), 40_000);
        assert_eq!(admitted(VisitorWrite::Shown), 20_000);
        assert!(limits.admit(VisitorWrite::Acceptance, &other).is_ok());
        clock.advance(chrono::Duration::seconds(1));
        assert_eq!(admitted(VisitorWrite::Acceptance), 2_000);
        assert_eq!(admitted(VisitorWrite::Refusal), 4_000);
    }

    #[test]
    fn switched_off_nothing_is_counted() {
        let limits = PixelLimits::new(Clock::manual(DateTime::UNIX_EPOCH), false);
        let pixel_id = PixelId::from("busy".to_owned());
        assert!((0..50_000).all(|_| limits.admit(VisitorWrite::Shown, &pixel_id).is_ok()));
    }
}
