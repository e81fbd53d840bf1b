//! Fair sharing of a node: limits the rate of one account's visitors while other accounts have visitors too.
//! An account's visitors may send 1,000 reads and 500 writes per second to a node, with bursts of 100.
//! Faster requests are delayed for at most a second; one that would wait longer fails with `too many
//! requests` after that second, because a client that is refused at once retries at once. The delay is
//! bounded because a choice must still be stored before its deadline, and each waiting request holds a
//! connection. An account whose visitors were the only ones on the node for ten seconds is not limited.
//! `RATE_LIMITS=off` disables this limit as well.

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

#[derive(Clone, Copy, Debug)]
pub struct RateConfig {
    /// Interval between requests, in the order of [`OperationKind`]. All times are in microseconds.
    pub every: [u64; 2],
    /// Burst size: the number of simultaneous requests that are not delayed.
    pub at_once: NonZeroU64,
    pub max_wait: u64,
    /// Requests of an account that has been the only active one for this duration are not delayed.
    pub alone: u64,
}

impl Default for RateConfig {
    fn default() -> Self {
        let at_once = const { NonZeroU64::new(100).unwrap() };
        Self { every: [1_000, 2_000], at_once, max_wait: 1_000_000, alone: 10_000_000 }
    }
}

/// Maximum number of tracked accounts; the rate of an evicted account is counted from zero again.
const KEPT: u64 = 20_000;

#[derive(Clone, Copy, Debug)]
pub enum OperationKind {
    Read,
    Write,
}

#[derive(Clone)]
pub struct AccountRates {
    config: Option<RateConfig>,
    since: Instant,
    accounts: Cache<AccountId, Arc<[TenantThrottle; 2]>>,
    active: Arc<ActiveTenants>,
    waited: Counter,
}

impl AccountRates {
    pub fn new(config: Option<RateConfig>, waited: Counter) -> Self {
        Self {
            config,
            since: Instant::now(),
            accounts: Cache::new(Bounds::entries(KEPT, None)),
            active: Arc::default(),
            waited,
        }
    }

    pub async fn wait(&self, kind: OperationKind, account_id: &AccountId) -> Result<()> {
        let Some(config) = self.config else { return Ok(()) };
        let now = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let taken = self.take(config, kind, account_id, now).await;
        let wait = *taken.as_ref().unwrap_or(&config.max_wait);
        if wait > 0 {
            self.waited.inc();
            sleep(Duration::from_micros(wait)).await;
        }
        taken.map(|_| ())
    }

    /// Returns the delay in microseconds; zero for an account that is the only active one.
    async fn take(
        &self,
        config: RateConfig,
        kind: OperationKind,
        account_id: &AccountId,
        now: u64,
    ) -> Result<u64> {
        let throttles = match self.accounts.get(account_id).await {
            Some(throttles) => throttles,
            None => {
                let first = async { Arc::default() };
                self.accounts.get_or_insert_with(account_id.clone(), first).await
            }
        };
        if self.active.is_alone(Arc::as_ptr(&throttles).addr(), now, config.alone) {
            return Ok(0);
        }
        throttles[kind as usize].take(kind, config, now)
    }
}

#[derive(Debug, Default)]
struct ActiveTenants {
    /// The account of the latest request, named by the address of its throttles, which the cache evicts last.
    latest: AtomicUsize,
    changed: AtomicU64,
}

impl ActiveTenants {
    /// Records a request of the account, and returns whether it has been the only one for the duration `long`.
    fn is_alone(&self, account: usize, now: u64, long: u64) -> bool {
        if self.latest.load(Ordering::Acquire) != account {
            // Stored in this order, so that no reader combines the new account with the time of the previous one.
            self.changed.store(now, Ordering::Relaxed);
            self.latest.store(account, Ordering::Release);
        }
        now.saturating_sub(self.changed.load(Ordering::Relaxed)) >= long
    }
}

#[derive(Debug, Default)]
struct TenantThrottle(AtomicU64);

impl TenantThrottle {
    fn take(&self, kind: OperationKind, config: RateConfig, now: u64) -> Result<u64> {
        let every = config.every[kind as usize];
        let ahead = (config.at_once.get() - 1) * every;
        let wait = |next: u64| next.saturating_sub(now).saturating_sub(ahead);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            (wait(next) <= config.max_wait).then(|| next.max(now) + every)
        });
        taken.map(wait).map_err(|_| too_many(Duration::from_micros(config.max_wait)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn waits(
        throttle: &TenantThrottle,
        kind: OperationKind,
        now: u64,
        requests: usize,
    ) -> Vec<u64> {
        (0..requests).filter_map(|_| throttle.take(kind, RateConfig::default(), now).ok()).collect()
    }

    #[test]
    fn a_hundred_at_once_do_not_wait_and_the_others_wait_for_their_turns() {
        for (kind, every) in [(OperationKind::Read, 1_000), (OperationKind::Write, 2_000)] {
            let throttle = TenantThrottle::default();
            assert_eq!(waits(&throttle, kind, 0, 100), [0; 100]);
            let late = waits(&throttle, kind, 0, 500);
            assert_eq!((late[0], late[1], late[499]), (every, 2 * every, 500 * every));
            // Other accounts are not affected, and the full burst is available again later.
            assert_eq!(waits(&TenantThrottle::default(), kind, 0, 100), [0; 100]);
            assert_eq!(waits(&throttle, kind, 2 * SECOND, 100), [0; 100]);
        }
    }

    #[test]
    fn who_would_wait_for_more_than_a_second_is_refused() {
        for (kind, every, taken) in
            [(OperationKind::Read, 1_000, 1_100), (OperationKind::Write, 2_000, 600)]
        {
            let throttle = TenantThrottle::default();
            assert_eq!(waits(&throttle, kind, 0, 20_000).len(), taken);
            let refused = throttle.take(kind, RateConfig::default(), 0).unwrap_err();
            assert_eq!(refused.retry_after(), Some(1));
            let later = waits(&throttle, kind, 2 * every, 20_000);
            assert_eq!(later, [SECOND - every, SECOND]);
        }
    }

    #[test]
    fn who_has_been_alone_for_ten_seconds_is_alone() {
        let active = ActiveTenants::default();
        let long = RateConfig::default().alone;
        assert!(!active.is_alone(1, 0, long));
        assert!(!active.is_alone(1, long - 1, long));
        assert!(active.is_alone(1, long, long));
        assert!(!active.is_alone(2, long + 1, long));
        assert!(!active.is_alone(1, long + 2, long));
        assert!(active.is_alone(1, 2 * long + 2, long));
    }

    async fn rush(throttles: &AccountRates, account: &str, requests: usize, now: u64) -> usize {
        let account_id = AccountId::from(account.to_owned());
        let mut waited = 0;
        for _ in 0..requests {
            let wait = throttles
                .take(RateConfig::default(), OperationKind::Read, &account_id, now)
                .await
                .unwrap();
            waited += usize::from(wait > 0);
        }
        waited
    }

    #[tokio::test]
    async fn a_rush_waits_while_others_are_there_and_only_it() {
        let throttles = AccountRates::new(Some(RateConfig::default()), Counter::default());
        assert_eq!(rush(&throttles, "calm", 10, 0).await, 0);
        assert_eq!(rush(&throttles, "busy", 300, 1).await, 200);
        assert_eq!(rush(&throttles, "calm", 90, 2).await, 0);
        assert_eq!(rush(&throttles, "busy", 300, 3).await, 300);
        assert_eq!(rush(&throttles, "busy", 300, 11 * SECOND).await, 0);
    }

    #[tokio::test]
    async fn without_a_pacing_nobody_waits() {
        let throttles = AccountRates::new(None, Counter::default());
        let account_id = AccountId::from("busy".to_owned());
        for _ in 0..5_000 {
            assert!(throttles.wait(OperationKind::Write, &account_id).await.is_ok());
        }
        assert_eq!(throttles.waited.get(), 0);
    }

    #[tokio::test]
    async fn who_is_refused_is_not_refused_at_once() {
        let config = RateConfig { max_wait: 200_000, ..RateConfig::default() };
        let throttles = AccountRates::new(Some(config), Counter::default());
        let account_id = AccountId::from("busy".to_owned());
        let full: Arc<[TenantThrottle; 2]> =
            Arc::new([u64::MAX / 2, 0].map(|next| TenantThrottle(next.into())));
        throttles.accounts.get_or_insert_with(account_id.clone(), async { full }).await;
        let begun = Instant::now();
        assert!(throttles.wait(OperationKind::Read, &account_id).await.is_err());
        assert!(begun.elapsed() >= Duration::from_millis(200));
        assert!(throttles.wait(OperationKind::Write, &account_id).await.is_ok());
        assert_eq!(throttles.waited.get(), 1);
    }
}
