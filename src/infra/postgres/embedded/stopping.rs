use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::Instant;

/// A fast shutdown writes a checkpoint; after an immediate shutdown, the next start must recover the data.
pub(super) const FAST_SHUTDOWN: Signal = Signal::SIGINT;
pub(super) const IMMEDIATE_SHUTDOWN: Signal = Signal::SIGQUIT;

pub(super) const PAUSE: Duration = Duration::from_millis(20);
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const REPORT_EVERY: Duration = Duration::from_secs(10);

pub(super) struct LongWait {
    since: Instant,
}

impl LongWait {
    pub(super) fn begin() -> Self {
        Self { since: Instant::now() }
    }

    pub(super) fn report(&mut self, what: &'static str) {
        if self.since.elapsed() > REPORT_EVERY {
            tracing::info!("{what}");
            self.since = Instant::now();
        }
    }
}
