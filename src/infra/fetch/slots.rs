//! Limits the fetches that an account may cause, so that it cannot overload a site or use up the permits.
//! Counted per node: [`AT_A_TIME`] concurrent fetches, and a rate limit with a burst of [`AT_ONCE`], then one
//! fetch every [`THEN_ONE_EVERY`]. `RATE_LIMITS=off` disables the rate limit only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Duration, Utc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;
use crate::error::{Error, Result};

/// Maximum for one account, out of the permits that all accounts share ([`crate::infra::fetch`]).
const AT_A_TIME: usize = 4;
const AT_ONCE: i32 = 30;
const THEN_ONE_EVERY: Duration = Duration::seconds(5);
/// Delay before an account at its concurrency limit may retry: longer than a fetch takes.
const RETRY_AFTER_SECONDS: u64 = 6;
/// Number of accounts above which those without a recent fetch are removed.
const MANY: usize = 1_024;

#[derive(Clone)]
pub struct FetchSlots {
    clock: Clock,
    is_rate_limited: bool,
    accounts: Arc<Mutex<Accounts>>,
}

type Accounts = HashMap<String, RecentFetches>;

struct RecentFetches {
    permits: Arc<Semaphore>,
    /// Time at which all fetches so far would have been made at a rate of one every [`THEN_ONE_EVERY`].
    settled_at: DateTime<Utc>,
}

/// A permit for one fetch, released when dropped.
pub type FetchSlot = OwnedSemaphorePermit;

impl FetchSlots {
    pub fn new(clock: Clock, is_rate_limited: bool) -> Self {
        Self { clock, is_rate_limited, accounts: Arc::default() }
    }

    /// Takes a permit, or fails with `too many requests` without waiting, because a delay would not be
    /// caused by the site.
    pub fn take(&self, account: &str) -> Result<FetchSlot> {
        let now = self.clock.now();
        let mut accounts = lock(&self.accounts);
        if accounts.len() >= MANY {
            accounts.retain(|_, recent| recent.is_under_way() || recent.settled_at > now);
        }
        let recent = accounts.entry(account.to_owned()).or_insert_with(|| RecentFetches {
            permits: Arc::new(Semaphore::new(AT_A_TIME)),
            settled_at: now,
        });
        recent.admit(now, self.is_rate_limited)
    }
}

impl RecentFetches {
    fn is_under_way(&self) -> bool {
        self.permits.available_permits() < AT_A_TIME
    }

    fn admit(&mut self, now: DateTime<Utc>, is_rate_limited: bool) -> Result<FetchSlot> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let too_many = |_| Error::TooManyRequests { retry_after: RETRY_AFTER_SECONDS };
        let permit = permit.map_err(too_many)?;
        if !is_rate_limited {
            return Ok(permit);
        }
        let furthest = now + THEN_ONE_EVERY * AT_ONCE;
        // A later time than `furthest` is due to a clock that was set back, which must not lock out the account.
        self.settled_at = self.settled_at.clamp(now, furthest);
        let settled_at = self.settled_at + THEN_ONE_EVERY;
        if settled_at > furthest {
            let wait = u64::try_from((settled_at - furthest).num_seconds()).unwrap_or_default();
            return Err(Error::TooManyRequests { retry_after: wait.max(1) });
        }
        self.settled_at = settled_at;
        Ok(permit)
    }
}

/// Ignores poisoning: no code under the lock can panic halfway through a change.
fn lock(accounts: &Mutex<Accounts>) -> MutexGuard<'_, Accounts> {
    accounts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(is_rate_limited: bool) -> (FetchSlots, Clock) {
        let clock = Clock::manual(DateTime::from_timestamp(1_800_000_000, 0).unwrap());
        (FetchSlots::new(clock.clone(), is_rate_limited), clock)
    }

    fn exhaust(slots: &FetchSlots, account: &str) -> u32 {
        (0..).find(|_| slots.take(account).is_err()).unwrap()
    }

    #[test]
    fn an_account_has_a_few_fetches_under_way_and_not_those_of_others() {
        let (slots, _) = slots(false);
        let of_ann = (0..4).map(|_| slots.take("ann").ok().unwrap()).collect::<Vec<_>>();
        assert!(matches!(slots.take("ann"), Err(Error::TooManyRequests { retry_after: 6 })));
        assert!(slots.take("bob").is_ok());
        drop(of_ann);
        assert!((0..100).all(|_| slots.take("ann").is_ok()));
    }

    #[test]
    fn fetches_one_after_the_other_are_limited_too() {
        let (slots, clock) = slots(true);
        assert_eq!((exhaust(&slots, "ann"), exhaust(&slots, "bob")), (30, 30));
        clock.advance(Duration::milliseconds(4_999));
        assert!(slots.take("ann").is_err());
        clock.advance(Duration::milliseconds(1));
        assert_eq!(exhaust(&slots, "ann"), 1);
        clock.advance(Duration::days(-1));
        assert!(slots.take("ann").is_err());
        clock.advance(Duration::seconds(5));
        assert_eq!(exhaust(&slots, "ann"), 1, "a clock that is set back shuts nobody out");
        clock.advance(Duration::hours(1));
        assert_eq!(exhaust(&slots, "ann"), 30);
    }

    #[test]
    fn accounts_without_a_recent_fetch_are_forgotten() {
        let (slots, clock) = slots(true);
        for number in 0..MANY {
            drop(slots.take(&format!("acc_{number}")).unwrap());
        }
        clock.advance(Duration::minutes(1));
        drop(slots.take("ann").unwrap());
        assert_eq!(lock(&slots.accounts).len(), 1);
    }
}
