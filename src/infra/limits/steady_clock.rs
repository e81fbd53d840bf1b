use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;

/// A monotonic clock: setting back the machine's clock must not lock anybody out.
#[derive(Clone)]
pub(super) struct SteadyClock {
    clock: Clock,
    latest: Arc<AtomicU64>,
    /// The total by which the clock was set back since the start, in microseconds.
    set_back: Arc<AtomicU64>,
}

impl SteadyClock {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, latest: Arc::default(), set_back: Arc::default() }
    }
}

impl governor::clock::Clock for SteadyClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        let machine = u64::try_from(self.clock.now().timestamp_micros()).unwrap_or_default();
        let set_back = self.set_back.load(Ordering::Acquire);
        let now = machine + set_back;
        let latest = self.latest.fetch_max(now, Ordering::AcqRel);
        if now < latest {
            // The loser of this race reads the corrected clock next time.
            let _ = self.set_back.compare_exchange(
                set_back,
                set_back + (latest - now),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
        }
        Duration::from_micros(now.max(latest))
    }
}
