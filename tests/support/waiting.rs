//! Waiting for a condition instead of for a time.

use std::time::{Duration, Instant};

/// Enough for a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Waits until the condition holds. Fails with its description when that takes too long.
pub async fn wait_until(condition: &str, holds: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < TIME_LIMIT, "it does not come true: {condition}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}
