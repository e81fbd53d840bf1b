//! Shutdown of a server, and its time limits.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::Instant;

/// PostgreSQL's terms: a fast shutdown cuts the connections and closes the data in order, an immediate one
/// leaves them to be recovered at the next start.
pub(super) const FAST_SHUTDOWN: Signal = Signal::SIGINT;
pub(super) const IMMEDIATE_SHUTDOWN: Signal = Signal::SIGQUIT;

pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// Maximum duration of an orderly shutdown before an immediate one.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval of log messages about a long wait.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Logs the reason of a long wait periodically.
pub(super) struct LongWait {
    since: Instant,
}

impl LongWait {
    pub(super) fn begin() -> Self {
        Self { since: Instant::now() }
    }

    pub(super) fn tell(&mut self, what: &'static str) {
        if self.since.elapsed() > TELL_EVERY {
            tracing::info!("{what}");
            self.since = Instant::now();
        }
    }
}
