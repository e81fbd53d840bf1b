//! Requests whose client address cannot be parsed from the configured header. They share the
//! rate limit of the proxy's address, so the operator is warned.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use prometheus_client::metrics::counter::Counter;

use crate::clock::Clock;

/// Counts such requests and logs a warning at most once a minute. Clones share the count.
#[derive(Clone)]
pub struct UnreadAddresses {
    clock: Clock,
    count: Counter,
    logged_in: Arc<AtomicI64>,
}

impl UnreadAddresses {
    pub fn new(clock: Clock, count: Counter) -> Self {
        Self { clock, count, logged_in: Arc::new(AtomicI64::new(i64::MIN)) }
    }

    /// Counts a request. The warning omits the header's value, because it may be a person's address.
    pub fn count_request(&self) {
        self.count.inc();
        let minute = self.clock.now().timestamp() / 60;
        if self.logged_in.swap(minute, Ordering::Relaxed) != minute {
            tracing::warn!(
                "CLIENT_IP_HEADER names a header without an address in its last element: such \
                 requests count as the proxy's own"
            );
        }
    }
}
