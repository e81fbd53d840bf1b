use chrono::{DateTime, Duration, Utc};
use rand::RngExt;

/// Seconds after the first failure, the second, and so on; the last value repeats.
const PAUSES: [i64; 8] = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400];
/// A failing endpoint is retried after an hour at the latest.
const LONGEST_OF_ENDPOINT: i64 = 3_600;
/// Period during which a delivery is retried, and during which an endpoint may fail before it is paused.
pub const RETRY_PERIOD: Duration = Duration::days(1);
/// After this many consecutive failures, the endpoint counts as down; fewer may be the fault of one delivery.
pub const MANY_FAILURES: i32 = 3;

/// The next attempt after this number of failures; `None` after [`RETRY_PERIOD`], at whose end the last one is made.
pub fn next_attempt(
    now: DateTime<Utc>,
    failing_since: DateTime<Utc>,
    failures: i32,
) -> Option<DateTime<Utc>> {
    let end = failing_since + RETRY_PERIOD;
    (now < end).then(|| (now + jittered(seconds(failures))).min(end))
}

/// The next attempt for an endpoint; `None` while it has not failed often enough to count as down.
pub fn next_round(now: DateTime<Utc>, failures: i32) -> Option<DateTime<Utc>> {
    let rounds = failures - MANY_FAILURES + 1;
    (rounds > 0).then(|| now + jittered(seconds(rounds).min(LONGEST_OF_ENDPOINT)))
}

fn seconds(failures: i32) -> i64 {
    let index = usize::try_from(failures - 1).unwrap_or_default();
    PAUSES[index.min(PAUSES.len() - 1)]
}

/// Adds up to a fifth of random jitter, so that deliveries which failed together are not retried together.
fn jittered(seconds: i64) -> Duration {
    let millis = seconds * 1_000;
    Duration::milliseconds(millis + rand::rng().random_range(0..=millis / 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_tried_for_a_day_with_growing_pauses() {
        let begun = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let (mut now, mut attempts, mut last) = (begun, 1, Duration::zero());
        while let Some(next) = next_attempt(now, begun, attempts) {
            let pause = next - now;
            assert!(pause > last || attempts > 7, "{attempts}: {pause} after {last}");
            (now, attempts, last) = (next, attempts + 1, pause);
        }
        assert_eq!(now, begun + RETRY_PERIOD, "the last attempt is after a day");
        assert!((10..=14).contains(&attempts), "{attempts}");
    }

    #[test]
    fn an_endpoint_waits_once_it_seems_away_and_an_hour_at_most() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        assert_eq!(next_round(now, MANY_FAILURES - 1), None);
        let pause = |failures| next_round(now, failures).unwrap() - now;
        assert!(pause(MANY_FAILURES) <= Duration::seconds(6));
        let longest = pause(1_000);
        assert!(longest >= Duration::hours(1) && longest <= Duration::minutes(72));
    }
}
