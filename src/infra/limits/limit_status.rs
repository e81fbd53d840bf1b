//! The remainder of a limit, for the headers `RateLimit-Policy` and `RateLimit`
//! (draft-ietf-httpapi-ratelimit-headers).

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::middleware::StateSnapshot;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitStatus {
    pub name: &'static str,
    /// Burst size.
    quota: u32,
    remaining: u32,
    /// Time until one more call is permitted.
    interval: Duration,
}

impl LimitStatus {
    pub fn new(name: &'static str, state: &StateSnapshot) -> Self {
        let quota = state.quota();
        let remaining = state.remaining_burst_capacity();
        Self::of(name, quota.burst_size(), remaining, quota.replenish_interval())
    }

    /// The standing of a limit that is used up.
    pub fn used_up(name: &'static str, quota: u32, interval: Duration) -> Self {
        Self { name, quota, remaining: 0, interval }
    }

    fn of(name: &'static str, quota: NonZeroU32, remaining: u32, interval: Duration) -> Self {
        Self { name, quota: quota.get(), remaining, interval }
    }

    /// The values of both headers for a list of limits.
    pub fn headers(standings: &[Self]) -> (String, String) {
        let (mut policy, mut limit) = (String::new(), String::new());
        for standing in standings {
            let Self { name, quota, remaining, interval } = standing;
            let comma = if policy.is_empty() { "" } else { ", " };
            let until = if *remaining == 0 { *interval } else { *interval * (quota - remaining) };
            let (window, reset) = (seconds(*interval * *quota), seconds(until));
            let _ = write!(policy, "{comma}\"{name}\";q={quota};w={window}");
            let _ = write!(limit, "{comma}\"{name}\";r={remaining};t={reset}");
        }
        (policy, limit)
    }
}

fn seconds(time: Duration) -> u64 {
    time.as_secs_f64().ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_time_in_which_an_empty_bucket_fills() {
        let fifty = NonZeroU32::new(50).unwrap();
        let signups = LimitStatus::of("signups", fifty, 48, Duration::from_secs(20));
        let writes = LimitStatus::of("writes", fifty, 49, Duration::from_millis(100));
        let codes = LimitStatus::used_up("codes", 30, Duration::from_secs(5));
        let (policy, limit) = LimitStatus::headers(&[signups, writes, codes]);
        assert_eq!(policy, "\"signups\";q=50;w=1000, \"writes\";q=50;w=5, \"codes\";q=30;w=150");
        assert_eq!(limit, "\"signups\";r=48;t=40, \"writes\";r=49;t=1, \"codes\";r=0;t=5");
    }
}
