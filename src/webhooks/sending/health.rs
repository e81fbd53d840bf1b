use std::time::Duration as RealTime;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::pauses::{self, MANY_FAILURES, RETRY_PERIOD};
use crate::webhooks::store::claims::{ClaimedEndpoint, EndpointHealth};

/// Concurrent posts: two at first and while slow, one more per fast success, one while failing.
const FIRST_WINDOW: usize = 2;
const LARGEST_WINDOW: usize = 16;
/// Responses that take longer count as slow.
const SOON: RealTime = RealTime::from_secs(1);

pub struct Health {
    endpoint_id: Uuid,
    pub failing_since: Option<DateTime<Utc>>,
    pub failures: i32,
    window: usize,
}

impl Health {
    pub fn of(endpoint: &ClaimedEndpoint) -> Self {
        let window = if endpoint.failures == 0 { FIRST_WINDOW } else { 1 };
        let ClaimedEndpoint { endpoint_id, failing_since, failures, .. } = *endpoint;
        Self { endpoint_id, failing_since, failures, window }
    }

    /// Records a success; returns whether the endpoint had seemed down, so that deliveries were postponed.
    pub fn record_success(&mut self, took: RealTime) -> bool {
        let seemed_away = self.failures >= MANY_FAILURES;
        (self.failing_since, self.failures) = (None, 0);
        let largest = if took < SOON { LARGEST_WINDOW } else { FIRST_WINDOW };
        self.window = (self.window + 1).min(largest);
        seemed_away
    }

    pub fn record_failure(&mut self, at: DateTime<Utc>) {
        self.failing_since.get_or_insert(at);
        self.failures = self.failures.saturating_add(1);
        self.window = 1;
    }

    pub fn window(&self) -> usize {
        self.window
    }

    pub fn seems_away(&self) -> bool {
        self.failures >= MANY_FAILURES
    }

    pub fn stored_at(&self, now: DateTime<Utc>) -> EndpointHealth {
        let Self { endpoint_id, failing_since, failures, .. } = *self;
        let retry_at = pauses::next_round(now, failures);
        EndpointHealth { endpoint_id, failing_since, failures, retry_at }
    }

    pub fn is_given_up(&self, now: DateTime<Utc>) -> bool {
        self.failing_since.is_some_and(|since| now >= since + RETRY_PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ids::AccountId;

    #[test]
    fn many_posts_go_to_a_quick_endpoint_and_few_to_a_slow_or_failing_one() {
        let mut health = Health::of(&ClaimedEndpoint {
            endpoint_id: Uuid::nil(),
            account_id: AccountId::from("acc_1".to_owned()),
            url: "https://hooks.example/".to_owned(),
            format: "standard".to_owned(),
            failing_since: None,
            failures: 0,
            secret: Vec::new(),
            previous_secret: None,
            has_public_key: false,
        });
        assert_eq!(health.window(), FIRST_WINDOW);
        for _ in 0..20 {
            assert!(!health.record_success(RealTime::ZERO));
        }
        assert_eq!(health.window(), LARGEST_WINDOW);
        health.record_success(SOON);
        assert_eq!(health.window(), FIRST_WINDOW);
        for _ in 0..MANY_FAILURES {
            assert!(!health.seems_away());
            health.record_failure(DateTime::UNIX_EPOCH);
        }
        assert_eq!(health.window(), 1);
        assert!(health.seems_away() && health.record_success(RealTime::ZERO), "it is back");
    }
}
