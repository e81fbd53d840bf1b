//! Fair sharing of a node: limits the rate of one account's visitors while other accounts have visitors too,
//! so that a busy account does not take the capacity of the others.
//!
//! The visitors of an account's sites may read 1,000 times a second from a node and write 500 times, 100 of
//! them at once. Faster requests are not refused but delayed, for at most a second; a request that would have
//! to wait longer fails with `too many requests` after the same second, because a client that is refused at
//! once retries at once. The limit is a second because a delayed choice must still be stored before its
//! deadline, and each waiting request holds a connection. An account whose visitors have been the only ones
//! on a node for ten seconds is not limited.
//!
//! `RATE_LIMITS=off` switches this off as well.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use tokio::time::sleep;

use super::per_client::too_many;
use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::types::ids::AccountId;

/// The rates of every account, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// Interval between requests, in the order of [`Turn`].
    pub every: [u64; 2],
    /// Burst size: requests that may arrive at once without waiting.
    pub at_once: NonZeroU64,
    /// Maximum wait of a request.
    pub max_wait: u64,
    /// An account that has been the only one for this duration does not wait.
    pub alone: u64,
}

impl Default for Pacing {
    /// The figures of the module's documentation.
    fn default() -> Self {
        let at_once = const { NonZeroU64::new(100).unwrap() };
        Self { every: [1_000, 2_000], at_once, max_wait: 1_000_000, alone: 10_000_000 }
    }
}

/// Maximum number of tracked accounts; an evicted account starts afresh.
const KEPT: u64 = 20_000;

/// The kind of a visitor's request.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// The tag, and its queries.
    Read,
    /// A choice, or the report of a shown popup.
    Write,
}

/// The rate limiters of all accounts' visitors on this node. Clones share them.
#[derive(Clone)]
pub struct Paces {
    pacing: Option<Pacing>,
    since: Instant,
    accounts: Cache<AccountId, Arc<[TenantThrottle; 2]>>,
    company: Arc<ActiveTenants>,
    /// Requests that were delayed.
    waited: Counter,
}

impl Paces {
    /// Without a pacing no request waits.
    pub fn new(pacing: Option<Pacing>, waited: Counter) -> Self {
        Self {
            pacing,
            since: Instant::now(),
            accounts: Cache::new(Bounds::entries(KEPT, None)),
            company: Arc::default(),
            waited,
        }
    }

    /// Waits until the request conforms to the account's rate; fails when too many are waiting before it.
    pub async fn wait(&self, turn: Turn, account_id: &AccountId) -> Result<()> {
        let Some(pacing) = self.pacing else { return Ok(()) };
        let now = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let taken = self.take(pacing, turn, account_id, now).await;
        let wait = *taken.as_ref().unwrap_or(&pacing.max_wait);
        if wait > 0 {
            self.waited.inc();
            sleep(Duration::from_micros(wait)).await;
        }
        taken.map(|_| ())
    }

    /// Reserves the account's next slot, and returns the microseconds until it; zero for an account that is
    /// alone.
    async fn take(
        &self,
        pacing: Pacing,
        turn: Turn,
        account_id: &AccountId,
        now: u64,
    ) -> Result<u64> {
        let paces = match self.accounts.get(account_id).await {
            Some(paces) => paces,
            None => {
                let first = async { Arc::default() };
                self.accounts.get_or_insert_with(account_id.clone(), first).await
            }
        };
        if self.company.is_alone(Arc::as_ptr(&paces).addr(), now, pacing.alone) {
            return Ok(0);
        }
        paces[turn as usize].take(turn, pacing, now)
    }
}

/// Tracks whether more than one account has visitors.
#[derive(Debug, Default)]
struct ActiveTenants {
    /// The latest account, identified by the address of its limiter. The address is unique, because the
    /// latest account is the last to be evicted from memory.
    latest: AtomicUsize,
    /// Time of the last change of the latest account, in microseconds.
    changed: AtomicU64,
}

impl ActiveTenants {
    /// Records the account, and returns whether it has been the only one for this duration.
    fn is_alone(&self, who: usize, now: u64, long: u64) -> bool {
        if self.latest.load(Ordering::Acquire) != who {
            // In this order, so that no reader pairs the new account with the time of the previous one.
            self.changed.store(now, Ordering::Relaxed);
            self.latest.store(who, Ordering::Release);
        }
        now.saturating_sub(self.changed.load(Ordering::Relaxed)) >= long
    }
}

/// The limiter of one account's visitors: the time of the next request, in microseconds.
#[derive(Debug, Default)]
struct TenantThrottle(AtomicU64);

impl TenantThrottle {
    /// Reserves the next slot, and returns the microseconds until it.
    fn take(&self, turn: Turn, pacing: Pacing, now: u64) -> Result<u64> {
        let every = pacing.every[turn as usize];
        let ahead = (pacing.at_once.get() - 1) * every;
        let wait = |next: u64| next.saturating_sub(now).saturating_sub(ahead);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            (wait(next) <= pacing.max_wait).then(|| next.max(now) + every)
        });
        taken.map(wait).map_err(|_| too_many(Duration::from_micros(pacing.max_wait)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// The waits of this number of simultaneous requests, without the refused ones.
    fn waits(pace: &TenantThrottle, turn: Turn, now: u64, requests: usize) -> Vec<u64> {
        (0..requests).filter_map(|_| pace.take(turn, Pacing::default(), now).ok()).collect()
    }

    #[test]
    fn a_hundred_at_once_do_not_wait_and_the_others_wait_for_their_turns() {
        for (turn, every) in [(Turn::Read, 1_000), (Turn::Write, 2_000)] {
            let pace = TenantThrottle::default();
            assert_eq!(waits(&pace, turn, 0, 100), [0; 100]);
            let late = waits(&pace, turn, 0, 500);
            assert_eq!((late[0], late[1], late[499]), (every, 2 * every, 500 * every));
            // Other accounts are not affected, and later this one has its burst of a hundred again.
            assert_eq!(waits(&TenantThrottle::default(), turn, 0, 100), [0; 100]);
            assert_eq!(waits(&pace, turn, 2 * SECOND, 100), [0; 100]);
        }
    }

    #[test]
    fn who_would_wait_for_more_than_a_second_is_refused() {
        for (turn, every, taken) in [(Turn::Read, 1_000, 1_100), (Turn::Write, 2_000, 600)] {
            let pace = TenantThrottle::default();
            assert_eq!(waits(&pace, turn, 0, 20_000).len(), taken);
            let refused = pace.take(turn, Pacing::default(), 0).unwrap_err();
            assert_eq!(refused.retry_after(), Some(1));
            let later = waits(&pace, turn, 2 * every, 20_000);
            assert_eq!(later, [SECOND - every, SECOND]);
        }
    }

    #[test]
    fn who_has_been_alone_for_ten_seconds_is_alone() {
        let company = ActiveTenants::default();
        let long = Pacing::default().alone;
        assert!(!company.is_alone(1, 0, long));
        assert!(!company.is_alone(1, long - 1, long));
        assert!(company.is_alone(1, long, long));
        assert!(!company.is_alone(2, long + 1, long));
        assert!(!company.is_alone(1, long + 2, long));
        assert!(company.is_alone(1, 2 * long + 2, long));
    }

    /// The number of delayed requests out of this many simultaneous ones of one account.
    async fn rush(paces: &Paces, account: &str, requests: usize, now: u64) -> usize {
        let account_id = AccountId::from(account.to_owned());
        let mut waited = 0;
        for _ in 0..requests {
            let wait = paces.take(Pacing::default(), Turn::Read, &account_id, now).await.unwrap();
            waited += usize::from(wait > 0);
        }
        waited
    }

    #[tokio::test]
    async fn a_rush_waits_while_others_are_there_and_only_it() {
        let paces = Paces::new(Some(Pacing::default()), Counter::default());
        assert_eq!(rush(&paces, "calm", 10, 0).await, 0);
        assert_eq!(rush(&paces, "busy", 300, 1).await, 200);
        assert_eq!(rush(&paces, "calm", 90, 2).await, 0);
        // The calm account's visitors do not return within the ten seconds.
        assert_eq!(rush(&paces, "busy", 300, 3).await, 300);
        assert_eq!(rush(&paces, "busy", 300, 11 * SECOND).await, 0);
    }

    #[tokio::test]
    async fn without_a_pacing_nobody_waits() {
        let paces = Paces::new(None, Counter::default());
        let account_id = AccountId::from("busy".to_owned());
        for _ in 0..5_000 {
            assert!(paces.wait(Turn::Write, &account_id).await.is_ok());
        }
        assert_eq!(paces.waited.get(), 0);
    }

    #[tokio::test]
    async fn who_is_refused_is_not_refused_at_once() {
        let pacing = Pacing { max_wait: 200_000, ..Pacing::default() };
        let paces = Paces::new(Some(pacing), Counter::default());
        let account_id = AccountId::from("busy".to_owned());
        let full: Arc<[TenantThrottle; 2]> =
            Arc::new([u64::MAX / 2, 0].map(|next| TenantThrottle(next.into())));
        paces.accounts.get_or_insert_with(account_id.clone(), async { full }).await;
        let begun = Instant::now();
        assert!(paces.wait(Turn::Read, &account_id).await.is_err());
        assert!(begun.elapsed() >= Duration::from_millis(200));
        assert!(paces.wait(Turn::Write, &account_id).await.is_ok());
        assert_eq!(paces.waited.get(), 1);
    }
}
