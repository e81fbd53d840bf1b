//! Requests whose client address could not be read from the header that the operator named. They count as
//! the proxy's own, so all of them share one limit: the operator must hear of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use prometheus_client::metrics::counter::Counter;

use crate::clock::Clock;

/// Counts them, and logs that there are some, once a minute. Clones share the count.
#[derive(Clone)]
pub struct UnreadAddresses {
    clock: Clock,
    count: Counter,
    /// The minute of the last line of the log.
    logged_in: Arc<AtomicI64>,
}

impl UnreadAddresses {
    pub fn new(clock: Clock, count: Counter) -> Self {
        Self { clock, count, logged_in: Arc::new(AtomicI64::new(i64::MIN)) }
    }

    /// Notes one. The line has no value of the header: that may be somebody's address.
    pub fn note(&self) {
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
