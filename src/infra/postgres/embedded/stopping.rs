//! How a server is told to end, and how long that may take.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::Instant;

/// PostgreSQL's words: fast cuts the connections and closes the data in order, immediate leaves
/// them to be recovered at the next start.
pub(super) const FAST_SHUTDOWN: Signal = Signal::SIGINT;
pub(super) const IMMEDIATE_SHUTDOWN: Signal = Signal::SIGQUIT;

pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// How long an orderly end may take before the server is told to drop everything.
pub(super) const PATIENCE_TO_STOP: Duration = Duration::from_secs(60);
/// How often the log says what is being waited for.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Says now and then what a long wait is for.
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
