use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// Time limit for work that delays the shutdown, from its start: a mail takes 8 seconds at most.
const LAST_WORK: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 12_000 });
/// Minimum wait, for work that the last requests have started.
const LEAST: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1_000 });

#[derive(Clone, Default)]
pub struct Shutdown {
    begun_at: Arc<OnceLock<Instant>>,
    work: Arc<watch::Sender<()>>,
}

pub struct ShutdownGuard(#[allow(dead_code, reason = "its sender counts it")] watch::Receiver<()>);

impl Shutdown {
    pub fn begin(&self) {
        self.begun_at.get_or_init(Instant::now);
    }

    pub fn has_begun(&self) -> bool {
        self.begun_at.get().is_some()
    }

    /// Delays the shutdown by up to some seconds, for work that would be repeated or lost if it were interrupted.
    pub fn delay(&self) -> ShutdownGuard {
        ShutdownGuard(self.work.subscribe())
    }

    /// Waits for the work that delays the shutdown; `false` on timeout.
    pub async fn wait(&self) -> bool {
        let now = Instant::now();
        let begun_at = self.begun_at.get().copied().unwrap_or(now);
        let deadline = (begun_at + LAST_WORK).max(now + LEAST);
        timeout_at(deadline, self.work.closed()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_waits_for_what_is_held_and_not_for_ever() {
        let shutdown = Shutdown::default();
        assert!(shutdown.wait().await);
        let (one, other) = (shutdown.delay(), shutdown.delay());
        shutdown.begin();
        drop(one);
        let end = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.wait().await }
        });
        tokio::time::sleep(LEAST).await;
        drop(other);
        assert!(end.await.unwrap());
        let _guard = shutdown.delay();
        assert!(!shutdown.wait().await);
    }
}
