//! Removal of full buckets, which bounds the memory to recently active keys.

use std::hash::Hash;
use std::time::Duration;

use governor::RateLimiter;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;

use super::steady_clock::SteadyClock;

/// A rate limiter with a bucket per key.
pub(super) type Limiter<K> =
    RateLimiter<K, DashMapStateStore<K>, SteadyClock, NoOpMiddleware<Duration>>;

/// Removes full buckets.
pub(super) fn sweep<K: Clone + Eq + Hash>(limiter: &Limiter<K>) {
    limiter.retain_recent();
    limiter.shrink_to_fit();
}
