use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;

/// Smallest step, in microseconds, that counts as the clock being set back. Concurrent readings differ by less: a
/// thread can be interrupted between reading the clock and comparing. Counting those would make the clock run fast.
const SMALLEST_STEP: u64 = 1_000_000;

/// A monotonic clock, so that setting back the machine's clock does not lock out any client.
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
        if now + SMALLEST_STEP < latest {
            // If another thread has corrected the clock meanwhile, the next call uses its correction.
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

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use governor::clock::Clock as _;

    use super::*;

    #[test]
    fn readings_in_another_order_do_not_make_it_run_ahead() {
        let at = |millis: i64| DateTime::from_timestamp_millis(1_000_000 + millis).unwrap();
        let machine = Clock::manual(at(0));
        let clock = SteadyClock::new(machine.clone());
        let first = clock.now();
        machine.set(at(-10));
        assert_eq!(clock.now(), first);
        machine.set(at(5));
        assert_eq!(clock.now(), first + Duration::from_millis(5));
        machine.set(at(-60_000));
        assert_eq!(clock.now(), first + Duration::from_millis(5));
        machine.set(at(-59_000));
        assert_eq!(clock.now(), first + Duration::from_millis(1_005));
    }
}
