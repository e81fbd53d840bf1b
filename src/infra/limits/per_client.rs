//! Limits per client on requests that allow guessing or spam. They protect the service, its mail server and visitors.
//!
//! Counted per client address and per node, in memory. Each limit is a token bucket: a burst, then one more
//! request per interval. Many people share an address (offices, mobile networks), so the limits are far
//! above ordinary use. Further requests fail with 429 `too many requests` and `Retry-After`.
//!
//! An IPv6 client is counted by its /64, the size of a home network, and with ten times the limits by its
//! /48, which anybody can rent.
//!
//! | limit | applies to | burst | then one every |
//! | --- | --- | --- | --- |
//! | [`Limit::Signups`] | opening accounts without an unlimited key | 50 | 20 s |
//! | [`Limit::Codes`] | `confirm`, `signup-token`: six digits can be guessed | 30 | 5 s |
//! | [`Limit::Mails`] | `resend-code`, `verification-email`, snippets by mail | 30 | 20 s |
//! | [`Limit::KeyIssues`] | `POST /v1/api-keys` | 60 | 5 s |
//! | [`Limit::BadKeys`] | failed API keys, on every route (`accounts::keys::key_attempts`) | 60 | 2 s |
//! | [`Limit::Demos`] | provisioning on the demo account | 20 | 30 s |
//! | [`Limit::Checkouts`] | `checkout`, `portal`, `checkout/success`: each may call the payment provider | 30 | 10 s |
//! | [`Limit::Visits`] | writes of visitors: `record`, `fire`, `shown` | 600 | 250 ms |
//! | [`Limit::Refusals`] | declines and withdrawals, once [`Limit::Visits`] is used up | 600 | 250 ms |
//! | [`Limit::Histories`] | `history`, `erasure-requests/history`: each reads up to 200 receipts, or 20 requests | 120 | 1 s |
//! | [`Limit::ErasureRequests`] | erasure requests of visitors | 20 | 30 s |
//! | [`Limit::LogReads`] | reads of the public log: checkpoint, tiles, entries, proofs | 1,200 | 50 ms |
//! | [`Limit::SharedPages`] | `/shared/…`: each page counts a site's choices twice | 120 | 1 s |
//! | [`Limit::AppRequests`] | `/oauth/…`: registrations, fetches of apps' documents, failed exchanges | 120 | 2 s |
//! | [`Limit::Messages`] | messages to `/mcp`, unless their headers have a recently valid key | 600 | 50 ms |
//!
//! The limits per pixel are in `infra::limits::per_pixel`.
//!
//! `RATE_LIMITS=off` disables rate limits only: the limits documented in the interface (pauses between
//! mails, wrong codes, allowances) belong to their features and stay in force.
//!
//! The client is the peer, or the address in `CLIENT_IP_HEADER`: behind a proxy without that setting, all
//! clients share one bucket.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::Quota;
use governor::clock::Clock as _;

use super::client_net::{ClientNet, Net};
use super::limit_status::LimitStatus;
use super::steady_clock::SteadyClock;
use super::sweeping::{self, Limiter, sweep};
use crate::clock::Clock;
use crate::error::{Error, Result};

#[derive(Clone, Copy)]
struct Figures {
    at_once: u32,
    then_one_every: Duration,
}

/// Declares the rows of the table above, with their figures.
macro_rules! limits {
    ($($name:ident: $at_once:literal at once, then one every $millis:literal ms;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Limit {
            $(
                #[doc = concat!("At most ", $at_once, " at once, then one every ", $millis, " ms.")]
                $name,
            )+
        }

        const NAMES: &[&str] = &[$(stringify!($name)),+];

        const FIGURES: &[Figures] = &[$(
            Figures { at_once: $at_once, then_one_every: Duration::from_millis($millis) },
        )+];
    };
}

limits! {
    Signups: 50 at once, then one every 20_000 ms;
    Codes: 30 at once, then one every 5_000 ms;
    Mails: 30 at once, then one every 20_000 ms;
    KeyIssues: 60 at once, then one every 5_000 ms;
    BadKeys: 60 at once, then one every 2_000 ms;
    Demos: 20 at once, then one every 30_000 ms;
    Checkouts: 30 at once, then one every 10_000 ms;
    Visits: 600 at once, then one every 250 ms;
    Refusals: 600 at once, then one every 250 ms;
    Histories: 120 at once, then one every 1_000 ms;
    ErasureRequests: 20 at once, then one every 30_000 ms;
    LogReads: 1_200 at once, then one every 50 ms;
    SharedPages: 120 at once, then one every 1_000 ms;
    AppRequests: 120 at once, then one every 2_000 ms;
    Messages: 600 at once, then one every 50 ms;
}

impl Limit {
    pub fn used_up(self) -> LimitStatus {
        let Figures { at_once, then_one_every } = FIGURES[self as usize];
        LimitStatus::used_up(NAMES[self as usize], at_once, then_one_every)
    }
}

pub struct Exceeded {
    pub net: Net,
    pub wait: Duration,
}

impl From<Exceeded> for Error {
    fn from(exceeded: Exceeded) -> Self {
        too_many(exceeded.wait)
    }
}

const WIDE: u32 = 10;

struct Buckets {
    near: Limiter<Net>,
    wide: Limiter<Net>,
}

impl Buckets {
    fn new(figures: &Figures, clock: &SteadyClock) -> Self {
        let limiter = |times: u32| {
            let quota = Quota::with_period(figures.then_one_every / times)
                .expect("every period of the table is longer than nothing")
                .allow_burst(NonZeroU32::new(figures.at_once * times).unwrap_or(NonZeroU32::MIN));
            sweeping::limiter(quota, clock)
        };
        Self { near: limiter(1), wide: limiter(WIDE) }
    }

    fn of(&self, net: Net) -> &Limiter<Net> {
        if net.is_wide() { &self.wide } else { &self.near }
    }
}

pub struct RateLimits {
    enabled: bool,
    clock: SteadyClock,
    rows: Vec<Buckets>,
}

impl RateLimits {
    pub fn new(clock: Clock, enabled: bool) -> Self {
        let clock = SteadyClock::new(clock);
        let rows = FIGURES.iter().map(|figures| Buckets::new(figures, &clock)).collect();
        Self { enabled, rows, clock }
    }

    /// Takes a token from each of the client's buckets; fails if any is empty.
    pub fn admit(&self, limit: Limit, client: &ClientNet) -> Result<(), Exceeded> {
        self.take(limit, client).map(|_| ())
    }

    /// Like [`RateLimits::admit`], and returns the standing of the bucket of the smallest network.
    pub fn take(&self, limit: Limit, client: &ClientNet) -> Result<Option<LimitStatus>, Exceeded> {
        if !self.enabled {
            return Ok(None);
        }
        let (buckets, mut narrowest) = (&self.rows[limit as usize], None);
        for net in client.nets() {
            let state = buckets
                .of(net)
                .check_key(&net)
                .map_err(|until| Exceeded { net, wait: until.wait_time_from(self.clock.now()) })?;
            narrowest.get_or_insert_with(|| LimitStatus::new(NAMES[limit as usize], &state));
        }
        Ok(narrowest)
    }

    pub fn are_on(&self) -> bool {
        self.enabled
    }

    pub fn sweep(&self) {
        for limiter in self.rows.iter().flat_map(|row| [&row.near, &row.wide]) {
            sweep(limiter);
        }
    }
}

pub(super) fn too_many(wait: Duration) -> Error {
    Error::TooManyRequests { retry_after: wait.as_secs_f64().ceil().max(1.0) as u64 }
}

#[derive(Clone, Copy)]
pub struct Client<'r> {
    limits: &'r RateLimits,
    net: ClientNet,
}

impl<'r> Client<'r> {
    pub fn new(limits: &'r RateLimits, net: ClientNet) -> Self {
        Self { limits, net }
    }

    pub fn admit(&self, limit: Limit) -> Result<(), Exceeded> {
        self.limits.admit(limit, &self.net)
    }

    pub fn take(&self, limit: Limit) -> Result<Option<LimitStatus>, Exceeded> {
        self.limits.take(limit, &self.net)
    }

    pub fn net(&self) -> ClientNet {
        self.net
    }

    pub fn is_limited(&self) -> bool {
        self.limits.are_on()
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Duration, Utc};

    use super::*;

    fn net(address: &str) -> ClientNet {
        ClientNet::of(address.parse().unwrap())
    }

    fn noon() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn exhaust(limits: &RateLimits, client: &ClientNet) -> u32 {
        (0..).find(|_| limits.admit(Limit::Signups, client).is_err()).unwrap()
    }

    #[test]
    fn a_bucket_empties_and_fills_by_the_programs_clock() {
        let clock = Clock::manual(noon());
        let limits = RateLimits::new(clock.clone(), true);
        let client = net("192.0.2.1");
        assert_eq!(exhaust(&limits, &client), 50);
        assert_eq!(exhaust(&limits, &net("192.0.2.2")), 50);
        let refused = limits.admit(Limit::Signups, &client).err().map(Error::from).unwrap();
        assert_eq!(refused.retry_after(), Some(20));
        assert!(limits.admit(Limit::Codes, &client).is_ok());
        clock.advance(Duration::milliseconds(19_999));
        assert!(limits.admit(Limit::Signups, &client).is_err());
        clock.advance(Duration::milliseconds(1));
        assert_eq!(exhaust(&limits, &client), 1);
        clock.advance(Duration::days(1));
        assert_eq!(exhaust(&limits, &client), 50);
    }

    #[test]
    fn a_clock_that_is_set_back_shuts_nobody_out() {
        let clock = Clock::manual(noon());
        let limits = RateLimits::new(clock.clone(), true);
        let client = net("192.0.2.1");
        exhaust(&limits, &client);
        clock.set(noon() - Duration::days(1));
        assert!(limits.admit(Limit::Signups, &client).is_err());
        clock.advance(Duration::seconds(20));
        assert_eq!(exhaust(&limits, &client), 1);
    }

    #[test]
    fn many_networks_of_64_bits_in_one_of_48_are_limited_together_at_ten_times_the_figures() {
        let clock = Clock::manual(noon());
        let limits = RateLimits::new(clock.clone(), true);
        let admitted = |site: &str| {
            let of_site = (0..).map(|home| net(&format!("2001:db8:{site}:{home:x}::1")));
            of_site.take_while(|client| limits.admit(Limit::Signups, client).is_ok()).count()
        };
        assert_eq!(admitted("1"), 500);
        assert_eq!(admitted("2"), 500);
        assert!(limits.admit(Limit::Signups, &net("192.0.2.1")).is_ok());
        clock.advance(Duration::seconds(2));
        assert_eq!(admitted("1"), 1);
        let wide = limits.admit(Limit::Signups, &net("2001:db8:1:ffff::1")).err().unwrap();
        assert!(wide.net.is_wide());
        // One home cannot use up the limit of its neighbours.
        assert_eq!(exhaust(&limits, &net("2001:db8:3:1::1")), 50);
        assert!(limits.admit(Limit::Signups, &net("2001:db8:3:2::1")).is_ok());
    }

    #[test]
    fn what_has_filled_up_again_is_forgotten() {
        let clock = Clock::manual(noon());
        let limits = RateLimits::new(clock.clone(), true);
        for host in 0..250 {
            assert!(limits.admit(Limit::Signups, &net(&format!("192.0.2.{host}"))).is_ok());
        }
        limits.sweep();
        assert_eq!(limits.rows[Limit::Signups as usize].near.len(), 250);
        // One period until the bucket is full, and one more for which the library keeps it.
        clock.advance(Duration::seconds(40));
        limits.sweep();
        assert_eq!(limits.rows[Limit::Signups as usize].near.len(), 0);
    }

    #[test]
    fn switched_off_nothing_is_counted() {
        let limits = RateLimits::new(Clock::manual(noon()), false);
        let client = net("192.0.2.1");
        assert!((0..10_000).all(|_| limits.admit(Limit::Signups, &client).is_ok()));
        assert_eq!(limits.rows[Limit::Signups as usize].near.len(), 0);
    }
}
