//! Forgetting the buckets that have filled up again, which bounds the memory to what was active
//! lately.

use std::hash::Hash;
use std::time::Duration;

use governor::RateLimiter;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;

use super::steady_clock::SteadyClock;

/// A bucket for every key.
pub(super) type Limiter<K> =
    RateLimiter<K, DashMapStateStore<K>, SteadyClock, NoOpMiddleware<Duration>>;

/// Forgets the buckets of a limiter that are full.
pub(super) fn sweep<K: Clone + Eq + Hash>(limiter: &Limiter<K>) {
    limiter.retain_recent();
    limiter.shrink_to_fit();
}
