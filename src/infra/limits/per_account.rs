//! Limits per account on the writes of its keys and members, counted together for all client addresses.
//! Every call that stores, sends or triggers anything counts against a bucket: [`AccountLimit::Writes`],
//! unless it has another one.
//!
//! Counted per node, in memory:
//!
//! | limit | applies to | burst | then per second |
//! | --- | --- | --- | --- |
//! | [`AccountLimit::Writes`] | every call that requires a scope which permits changes | 600 | 10 |
//! | [`AccountLimit::Intake`] | storing contacts, up to 1,000 per call | 3,000 | 100 |
//! | [`AccountLimit::Control`] | removing keys and members, and changing or erasing the account, for each key and member | 60 | 1 |
//!
//! [`AccountLimit::Control`] is counted per credential, so that a stolen key cannot exhaust the limit that its
//! owner needs to revoke it.
//!
//! Publications have a bucket that all nodes share (`policies::configuration`). Accounts with the plan
//! `unlimited` are the operator's own and are not counted. `RATE_LIMITS=off` disables these limits.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::Quota;
use governor::clock::Clock as _;

use super::limit_status::LimitStatus;
use super::per_client::too_many;
use super::steady_clock::SteadyClock;
use super::sweeping::{self, Limiter, sweep};
use crate::clock::Clock;
use crate::error::Result;
use crate::types::ids::AccountId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountLimit {
    Writes,
    Intake,
    Control,
}

/// Burst size and rate per second, in the order of [`AccountLimit`].
const FIGURES: [(u32, u32); 3] = [(600, 10), (3_000, 100), (60, 1)];

const NAMES: [&str; 3] = ["Writes", "Intake", "Control"];

impl AccountLimit {
    pub fn used_up(self) -> LimitStatus {
        let (at_once, per_second) = FIGURES[self as usize];
        LimitStatus::used_up(NAMES[self as usize], at_once, Duration::from_secs(1) / per_second)
    }
}

/// The key of a bucket: an account, and the credential if each credential has its own bucket.
type Bucket = (AccountId, Option<String>);

pub struct AccountLimits {
    enabled: bool,
    clock: SteadyClock,
    limiters: [Limiter<Bucket>; 3],
}

impl AccountLimits {
    pub fn new(clock: Clock, enabled: bool) -> Self {
        let clock = SteadyClock::new(clock);
        let limiters = FIGURES.map(|(at_once, per_second)| {
            let figure = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
            let quota = Quota::per_second(figure(per_second)).allow_burst(figure(at_once));
            sweeping::limiter(quota, &clock)
        });
        Self { enabled, clock, limiters }
    }

    /// Takes a token from the bucket of the account, or of its key or member `credential`; fails
    /// with `too many requests` if the bucket is empty.
    pub fn admit(
        &self,
        limit: AccountLimit,
        account_id: &AccountId,
        credential: &impl ToString,
    ) -> Result<Option<LimitStatus>> {
        if !self.enabled {
            return Ok(None);
        }
        let credential = (limit == AccountLimit::Control).then(|| credential.to_string());
        self.limiters[limit as usize]
            .check_key(&(account_id.clone(), credential))
            .map(|state| Some(LimitStatus::new(NAMES[limit as usize], &state)))
            .map_err(|until| too_many(until.wait_time_from(self.clock.now())))
    }

    pub fn sweep(&self) {
        self.limiters.iter().for_each(sweep);
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Duration};

    use super::*;

    #[test]
    fn each_account_has_its_own_bucket_of_each_limit() {
        let clock = Clock::manual(DateTime::UNIX_EPOCH);
        let limits = AccountLimits::new(clock.clone(), true);
        let (ann, bob) = (AccountId::from("ann".to_owned()), AccountId::from("bob".to_owned()));
        let admitted_of = |limit, account: &AccountId, credential: &str| {
            (0..).find(|_| limits.admit(limit, account, &credential).is_err()).unwrap()
        };
        let admitted = |limit, account: &AccountId| admitted_of(limit, account, "key");
        assert_eq!(admitted(AccountLimit::Writes, &ann), 600);
        let refused = limits.admit(AccountLimit::Writes, &ann, &"other key").unwrap_err();
        assert_eq!(refused.retry_after(), Some(1));
        assert_eq!(admitted(AccountLimit::Intake, &ann), 3_000);
        assert_eq!(admitted(AccountLimit::Writes, &bob), 600);
        assert_eq!(admitted_of(AccountLimit::Control, &ann, "key"), 60);
        assert_eq!(admitted_of(AccountLimit::Control, &ann, "other key"), 60);
        clock.advance(Duration::seconds(1));
        assert_eq!(admitted(AccountLimit::Writes, &ann), 10);
        clock.advance(Duration::minutes(2));
        limits.sweep();
        assert!(limits.limiters.iter().all(|limiter| limiter.is_empty()));
    }

    #[test]
    fn switched_off_nothing_is_counted() {
        let limits = AccountLimits::new(Clock::manual(DateTime::UNIX_EPOCH), false);
        let ann = AccountId::from("ann".to_owned());
        assert!((0..2_000).all(|_| limits.admit(AccountLimit::Writes, &ann, &"key").is_ok()));
    }
}
