//! Removal of full buckets, which bounds the memory to recently active keys.

use std::hash::Hash;
use std::time::Duration;

use governor::RateLimiter;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;

use super::steady_clock::SteadyClock;

pub(super) type Limiter<K> =
    RateLimiter<K, DashMapStateStore<K>, SteadyClock, NoOpMiddleware<Duration>>;

pub(super) fn sweep<K: Clone + Eq + Hash>(limiter: &Limiter<K>) {
    limiter.retain_recent();
    limiter.shrink_to_fit();
}
