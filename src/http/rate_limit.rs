//! Limits on what can be guessed or spammed, so that one client cannot wear out the service, its
//! mail server's good name, or its visitors' patience.
//!
//! Counted per client address (IPv6: per /64, which is what one customer of a provider has) and
//! per node, in memory. Each limit is a bucket: so many at once, then one more every so often.
//! Many people share an address (offices, mobile networks), so the figures are far above what an
//! honest address needs. Beyond them: 429 `too many requests` with `Retry-After`.
//!
//! | limit | holds for | at once | then one every |
//! | --- | --- | --- | --- |
//! | [`Signups`] | opening accounts without an unlimited key | 50 | 20 s |
//! | [`Codes`] | `confirm`, `signup-token`: six digits can be guessed | 30 | 5 s |
//! | [`Mails`] | `resend-code`, `verification-email`, snippets by mail | 30 | 20 s |
//! | [`KeyIssues`] | `POST /v1/api-keys` | 60 | 5 s |
//! | [`BadKeys`] | API keys that fail, on every route (`accounts::key_attempts`) | 60 | 2 s |
//! | [`Demos`] | provisioning on the demo account | 20 | 30 s |
//! | [`Checkouts`] | `checkout`, `portal`, `checkout/success`: each may ask the payment provider | 30 | 10 s |
//! | [`Visits`] | what visitors' pages write: `record`, `fire`, `shown` | 600 | 50 ms |
//!
//! `RATE_LIMITS=off` switches these off, and only these: limits that the interface names (pauses
//! between mails, wrong codes, allowances) are rules of their features.
//!
//! The client is the peer, or what `CLIENT_IP_HEADER` says: behind a proxy without that setting all
//! the world shares one bucket.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use super::problem;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::platform::lasting::keep_running;

/// One row of the table above.
pub trait Limit: Send + Sync + 'static {
    /// Its place in [`FIGURES`].
    const ROW: usize;
}

struct Figures {
    at_once: u32,
    then_one_every: Duration,
}

/// Declares the rows: a type each, and their figures.
macro_rules! limits {
    ($($name:ident: $at_once:literal at once, then one every $millis:literal ms;)+) => {
        enum Row { $($name),+ }

        $(
            #[doc = concat!("At most ", $at_once, " at once, then one every ", $millis, " ms.")]
            pub struct $name;

            impl Limit for $name {
                const ROW: usize = Row::$name as usize;
            }
        )+

        /// In the order of [`Limit::ROW`].
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
    Visits: 600 at once, then one every 50 ms;
}

/// How often what has filled up again is forgotten, which bounds the memory to the addresses that
/// were active lately.
const SWEEP_PAUSE: Duration = Duration::from_secs(60);

/// Whose requests are counted together. Has no `Debug`: addresses are not logged.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNet(IpAddr);

impl ClientNet {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => Self(IpAddr::V6((v6.to_bits() & (u128::MAX << 64)).into())),
            v4 => Self(v4),
        }
    }
}

type Limiter =
    RateLimiter<ClientNet, DashMapStateStore<ClientNet>, SteadyClock, NoOpMiddleware<Duration>>;

/// All buckets of this node.
pub struct RateLimits {
    enabled: bool,
    clock: SteadyClock,
    limiters: Vec<Limiter>,
}

impl RateLimits {
    pub fn new(clock: Clock, enabled: bool) -> Self {
        let clock = SteadyClock::new(clock);
        let limiter = |figures: &Figures| {
            let quota = Quota::with_period(figures.then_one_every)
                .expect("every period of the table is longer than nothing")
                .allow_burst(NonZeroU32::new(figures.at_once).unwrap_or(NonZeroU32::MIN));
            Limiter::new(quota, DashMapStateStore::default(), clock.clone())
        };
        Self { enabled, limiters: FIGURES.iter().map(limiter).collect(), clock }
    }

    /// As [`RateLimits::new`], with a task that forgets what is over for as long as the limits are
    /// in use. Must be called inside a Tokio runtime.
    pub fn start(clock: Clock, enabled: bool) -> Arc<Self> {
        let limits = Arc::new(Self::new(clock, enabled));
        let swept = Arc::downgrade(&limits);
        keep_running(move || {
            let swept = swept.clone();
            async move {
                loop {
                    tokio::time::sleep(SWEEP_PAUSE).await;
                    let Some(limits) = swept.upgrade() else { break };
                    limits.sweep();
                }
            }
        });
        limits
    }

    /// Takes one out of the client's bucket; an empty one is `too many requests`.
    pub fn admit<L: Limit>(&self, client: &ClientNet) -> Result<()> {
        if !self.enabled {
            return Ok(());
        }
        self.limiters[L::ROW].check_key(client).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            Error::TooManyRequests { retry_after: wait.as_secs_f64().ceil().max(1.0) as u64 }
        })
    }

    /// Whether the general limits are on at all.
    pub fn are_on(&self) -> bool {
        self.enabled
    }

    fn sweep(&self) {
        for limiter in &self.limiters {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}

/// The program's clock as the buckets need it: it never goes back, so that a machine whose clock is
/// set back shuts nobody out.
#[derive(Clone)]
struct SteadyClock {
    clock: Clock,
    /// The latest time told, in microseconds since 1970.
    latest: Arc<AtomicU64>,
    /// By how much the clock was set back since the start, in microseconds.
    set_back: Arc<AtomicU64>,
}

impl SteadyClock {
    fn new(clock: Clock) -> Self {
        Self { clock, latest: Arc::default(), set_back: Arc::default() }
    }
}

impl governor::clock::Clock for SteadyClock {
    /// Since 1970.
    type Instant = Duration;

    fn now(&self) -> Duration {
        let machine = u64::try_from(self.clock.now().timestamp_micros()).unwrap_or_default();
        let set_back = self.set_back.load(Ordering::Acquire);
        let now = machine + set_back;
        let latest = self.latest.fetch_max(now, Ordering::AcqRel);
        if now < latest {
            // Whoever loses this race reads the corrected clock next time.
            let _ = self.set_back.compare_exchange(
                set_back,
                set_back + (latest - now),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
        }
        Duration::from_micros(now.max(latest))
    }
}

/// The client of a request before the limits, for rules that a [`Limited`] guard cannot know.
#[derive(Clone, Copy)]
pub struct Client<'r> {
    limits: &'r RateLimits,
    net: ClientNet,
}

impl<'r> Client<'r> {
    pub fn of(request: &'r Request<'_>) -> Result<Self> {
        let limits = request.rocket().state::<Arc<RateLimits>>();
        let limits = limits.ok_or_else(|| Error::internal("no rate limits are managed"))?;
        // Without an address (a local client) all count together.
        let address = request.client_ip().unwrap_or(IpAddr::from([0, 0, 0, 0]));
        Ok(Self::new(limits, ClientNet::of(address)))
    }

    /// A client whose request is at an end or elsewhere, for work that goes on without it.
    pub fn new(limits: &'r RateLimits, net: ClientNet) -> Self {
        Self { limits, net }
    }

    /// Takes one out of the client's bucket; an empty one is `too many requests`.
    pub fn admit<L: Limit>(&self) -> Result<()> {
        self.limits.admit::<L>(&self.net)
    }

    pub fn net(&self) -> ClientNet {
        self.net
    }

    /// Whether the general limits are on at all.
    pub fn is_limited(&self) -> bool {
        self.limits.are_on()
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Client<'r> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, Self::of(request))
    }
}

/// Counts the request against a limit: `_limited: Limited<Signups>` as a route's first guard.
pub struct Limited<L: Limit>(PhantomData<L>);

#[rocket::async_trait]
impl<'r, L: Limit> FromRequest<'r> for Limited<L> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let admitted = Client::of(request).and_then(|client| client.admit::<L>());
        problem::outcome(request, admitted.map(|()| Self(PhantomData)))
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
        (0..).find(|_| limits.admit::<Signups>(client).is_err()).unwrap()
    }

    #[test]
    fn a_bucket_empties_and_fills_by_the_programs_clock() {
        let clock = Clock::manual(noon());
        let limits = RateLimits::new(clock.clone(), true);
        let client = net("192.0.2.1");
        assert_eq!(exhaust(&limits, &client), 50);
        assert_eq!(exhaust(&limits, &net("192.0.2.2")), 50);
        let refused = limits.admit::<Signups>(&client).unwrap_err();
        assert_eq!(refused.retry_after(), Some(20));
        assert!(limits.admit::<Codes>(&client).is_ok());
        clock.advance(Duration::milliseconds(19_999));
        assert!(limits.admit::<Signups>(&client).is_err());
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
        assert!(limits.admit::<Signups>(&client).is_err());
        clock.advance(Duration::seconds(20));
        assert_eq!(exhaust(&limits, &client), 1);
    }

    #[test]
    fn a_network_of_64_bits_is_one_client_and_a_mapped_address_is_the_one_it_maps() {
        assert!(net("2001:db8:1:2::1") == net("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert!(net("2001:db8:1:2::1") != net("2001:db8:1:3::1"));
        assert!(net("::ffff:192.0.2.1") == net("192.0.2.1"));
        assert!(net("192.0.2.1") != net("192.0.2.2"));
    }

    #[test]
    fn what_has_filled_up_again_is_forgotten() {
        let clock = Clock::manual(noon());
        let limits = RateLimits::new(clock.clone(), true);
        for host in 0..250 {
            limits.admit::<Signups>(&net(&format!("192.0.2.{host}"))).unwrap();
        }
        limits.sweep();
        assert_eq!(limits.limiters[Signups::ROW].len(), 250);
        // One period until it has filled up, and one that the library keeps it longer.
        clock.advance(Duration::seconds(40));
        limits.sweep();
        assert_eq!(limits.limiters[Signups::ROW].len(), 0);
    }

    #[test]
    fn switched_off_nothing_is_counted() {
        let limits = RateLimits::new(Clock::manual(noon()), false);
        let client = net("192.0.2.1");
        assert!((0..10_000).all(|_| limits.admit::<Signups>(&client).is_ok()));
        assert_eq!(limits.limiters[Signups::ROW].len(), 0);
    }
}
