//! The end of the service: who sees it coming, and what it waits for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// From the beginning of the end, for what is still held: a mail takes 8 seconds at most.
const LAST_WORK: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 12_000 });
/// For what the last requests have begun.
const LEAST: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1_000 });

/// Whether the service is ending; clones tell of the same end.
#[derive(Clone, Default)]
pub struct Ending {
    begun_at: Arc<OnceLock<Instant>>,
    work: Arc<watch::Sender<()>>,
}

/// Work that the end waits for, until this is dropped.
pub struct Held(#[allow(dead_code, reason = "its sender counts it")] watch::Receiver<()>);

impl Ending {
    /// From now on nothing long is begun.
    pub fn begin(&self) {
        self.begun_at.get_or_init(Instant::now);
    }

    pub fn has_begun(&self) -> bool {
        self.begun_at.get().is_some()
    }

    /// Keeps the service from ending for some seconds: for what would be done twice, or not at all, if
    /// it were cut off.
    pub fn hold(&self) -> Held {
        Held(self.work.subscribe())
    }

    /// Waits for what is held; `false` when it takes too long.
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
        let ending = Ending::default();
        assert!(ending.wait().await);
        let (one, other) = (ending.hold(), ending.hold());
        ending.begin();
        drop(one);
        let end = tokio::spawn({
            let ending = ending.clone();
            async move { ending.wait().await }
        });
        tokio::time::sleep(LEAST).await;
        drop(other);
        assert!(end.await.unwrap());
        let _held = ending.hold();
        assert!(!ending.wait().await);
    }
}
