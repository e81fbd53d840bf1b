//! Removal of full buckets, so that memory is only used for recently active keys.

use std::hash::Hash;

use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::steady_clock::SteadyClock;

pub(super) type Limiter<K> =
    RateLimiter<K, DashMapStateStore<K>, SteadyClock, StateInformationMiddleware>;

pub(super) fn limiter<K: Clone + Eq + Hash>(quota: Quota, clock: &SteadyClock) -> Limiter<K> {
    RateLimiter::new(quota, DashMapStateStore::default(), clock.clone())
}

pub(super) fn sweep<K: Clone + Eq + Hash>(limiter: &Limiter<K>) {
    limiter.retain_recent();
    limiter.shrink_to_fit();
}
