//! How many fetches of sites an account may cause, so that it wears out no site and does not take
//! the places of other accounts.
//!
//! Kept per node, in memory. An account may have [`AT_A_TIME`] fetches under way, and make
//! [`AT_ONCE`] one after the other and then one every [`THEN_ONE_EVERY`]; `RATE_LIMITS=off` lifts
//! the second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Duration, Utc};

use crate::clock::Clock;
use crate::error::{Error, Result};

/// Of the places that a node has for all accounts ([`crate::infra::fetch`]).
const AT_A_TIME: usize = 4;
const AT_ONCE: i32 = 30;
const THEN_ONE_EVERY: Duration = Duration::seconds(5);
/// After which an account whose fetches are all under way may try again: longer than one takes.
const RETRY_AFTER_SECONDS: u64 = 6;
/// Accounts beyond which those without a recent fetch are forgotten.
const MANY: usize = 1_024;

/// The slots of all accounts; clones share them.
#[derive(Clone)]
pub struct FetchSlots {
    clock: Clock,
    is_rate_limited: bool,
    accounts: Arc<Mutex<Accounts>>,
}

type Accounts = HashMap<String, RecentFetches>;

/// The recent fetches of an account.
struct RecentFetches {
    under_way: usize,
    /// When all fetches so far would be over, were there one every [`THEN_ONE_EVERY`].
    settled_at: DateTime<Utc>,
}

/// The right to one fetch, until it is dropped.
pub struct FetchSlot {
    account: String,
    accounts: Arc<Mutex<Accounts>>,
}

impl Drop for FetchSlot {
    fn drop(&mut self) {
        if let Some(recent) = lock(&self.accounts).get_mut(&self.account) {
            recent.under_way -= 1;
        }
    }
}

impl FetchSlots {
    pub fn new(clock: Clock, is_rate_limited: bool) -> Self {
        Self { clock, is_rate_limited, accounts: Arc::default() }
    }

    /// The right to the account's next fetch, or `too many requests`. Nobody waits here: waiting
    /// says nothing of the site.
    pub fn take(&self, account: &str) -> Result<FetchSlot> {
        let now = self.clock.now();
        let mut accounts = lock(&self.accounts);
        if accounts.len() >= MANY {
            accounts.retain(|_, recent| recent.under_way > 0 || recent.settled_at > now);
        }
        let recent = accounts
            .entry(account.to_owned())
            .or_insert(RecentFetches { under_way: 0, settled_at: now });
        recent.admit(now, self.is_rate_limited)?;
        recent.under_way += 1;
        Ok(FetchSlot { account: account.to_owned(), accounts: Arc::clone(&self.accounts) })
    }
}

impl RecentFetches {
    fn admit(&mut self, now: DateTime<Utc>, is_rate_limited: bool) -> Result<()> {
        if self.under_way >= AT_A_TIME {
            return Err(Error::TooManyRequests { retry_after: RETRY_AFTER_SECONDS });
        }
        if !is_rate_limited {
            return Ok(());
        }
        let furthest = now + THEN_ONE_EVERY * AT_ONCE;
        // Further than that it is only after the clock was set back, which shuts nobody out.
        self.settled_at = self.settled_at.clamp(now, furthest);
        let settled_at = self.settled_at + THEN_ONE_EVERY;
        if settled_at > furthest {
            let wait = u64::try_from((settled_at - furthest).num_seconds()).unwrap_or_default();
            return Err(Error::TooManyRequests { retry_after: wait.max(1) });
        }
        self.settled_at = settled_at;
        Ok(())
    }
}

/// Nothing that holds the lock can panic halfway.
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
            slots.take(&format!("acc_{number}")).unwrap();
        }
        clock.advance(Duration::minutes(1));
        slots.take("ann").unwrap();
        assert_eq!(lock(&slots.accounts).len(), 1);
    }
}
