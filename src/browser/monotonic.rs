use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The monotonic clock of the machine in milliseconds.
pub fn monotonic_ms() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.unwrap_or_default().as_secs_f64() * 1000.0
}
