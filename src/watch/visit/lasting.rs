//! Observations last longer where the browser has waited for a processor, so that a slow page does not seem silent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::page::Page;

/// The longest time by which an observation is extended: four times the usual one.
pub const EXTENSION: Duration = Duration::from_secs(16);
const ANSWER: Duration = Duration::from_secs(1);

/// The beginning of an observation.
pub struct Beginning {
    at: Instant,
    lost: Duration,
}

/// The rest of an observation of which `elapsed` has passed and `lost` does not count. Fails once it has been
/// extended as far as possible.
fn rest(time: Duration, elapsed: Duration, lost: Duration) -> Result<Duration, String> {
    let rest = (time + lost).saturating_sub(elapsed);
    let possible = (time + EXTENSION).saturating_sub(elapsed);
    if possible.is_zero() && !rest.is_zero() {
        let lost = lost.as_secs_f64();
        return Err(format!("the machine was too busy: the browser waited {lost:.0} s to run"));
    }
    Ok(rest.min(possible))
}

impl Page {
    pub async fn begin(&self) -> Beginning {
        Beginning { at: Instant::now(), lost: self.lost().await }
    }

    /// Waits until the browser was able to run for this time since the beginning. Returns the time that it was
    /// not.
    pub async fn last(&self, time: Duration, beginning: &Beginning) -> Result<Duration, String> {
        loop {
            let lost = self.lost().await.saturating_sub(beginning.lost);
            let rest = rest(time, beginning.at.elapsed(), lost)?;
            if rest.is_zero() {
                return Ok(lost);
            }
            sleep(rest).await;
            // Linux counts a wait once it is over, and a page that answers does not wait.
            let answering = json!({"expression": "0"});
            let _ = timeout(ANSWER, self.call("Runtime.evaluate", answering)).await;
        }
    }

    /// As [`Page::last`], from now on.
    pub async fn stay(&self, time: Duration) -> Result<Duration, String> {
        let beginning = self.begin().await;
        self.last(time, &beginning).await
    }

    async fn lost(&self) -> Duration {
        let waits = Arc::clone(&self.waits);
        let noted = spawn_blocking(move || {
            waits.note();
            waits.lost()
        });
        noted.await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_is_extended_by_what_was_lost_up_to_a_bound() {
        let ms = Duration::from_millis;
        let rest = |elapsed, lost| rest(ms(4000), ms(elapsed), ms(lost));
        assert_eq!(rest(0, 0), Ok(ms(4000)));
        assert_eq!(rest(4000, 0), Ok(ms(0)));
        assert_eq!(rest(4000, 2500), Ok(ms(2500)));
        assert_eq!(rest(6500, 2500), Ok(ms(0)));
        assert_eq!(rest(6500, 3000), Ok(ms(500)));
        // No more than 20 s in all, and then only if nothing is missing.
        assert_eq!(rest(18_000, 17_000), Ok(ms(2000)));
        assert_eq!(rest(20_000, 16_000), Ok(ms(0)));
        let busy = "the machine was too busy: the browser waited 17 s to run";
        assert_eq!(rest(20_000, 17_000), Err(busy.to_owned()));
    }
}
