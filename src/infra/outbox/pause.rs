use chrono::Duration;
use rand::RngExt;

const FIRST: Duration = Duration::minutes(1);
const LONGEST: Duration = Duration::hours(1);

/// Exponential backoff from a minute to an hour, with random jitter of up to a fifth, so that mails
/// which failed together are not retried together.
pub fn after(attempts: i32) -> Duration {
    let doublings = attempts.clamp(1, 7) - 1;
    let pause = (FIRST * (1 << doublings)).min(LONGEST);
    pause + Duration::milliseconds(rand::rng().random_range(0..=pause.num_milliseconds() / 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_a_minute_to_an_hour() {
        for (attempts, minutes) in [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (99, 60)] {
            let (pause, least) = (after(attempts), Duration::minutes(minutes));
            assert!(pause >= least && pause <= least + least / 5, "{attempts}: {pause}");
        }
    }
}
