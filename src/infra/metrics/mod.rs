//! Metrics for Prometheus: counters, gauges and histograms. Label values are constants of the program
//! (a route's pattern, a reason, a kind), never request data.

mod buckets;
mod log;
mod pools;
mod requests;

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use sqlx::PgPool;

use buckets::{SECONDS, SIZES};
use log::LogMetrics;
use pools::Pools;
pub use requests::{RequestMetrics, RouteMetrics};

/// One counter for each word of a fixed list. Any other word counts as `other`, so that text of
/// requests never becomes a label.
#[derive(Clone, Debug)]
pub struct LabelledCounters(Vec<(&'static str, Counter)>);

const OTHER: &str = "other";

impl LabelledCounters {
    fn new(counter_of: impl Fn(&'static str) -> Counter, words: &[&'static str]) -> Self {
        let words = words.iter().copied().chain([OTHER]);
        Self(words.map(|word| (word, counter_of(word))).collect())
    }

    pub fn count(&self, word: &str) {
        let known = self.0.iter().find(|(known, _)| *known == word);
        if let Some((_, counter)) = known.or_else(|| self.0.last()) {
            counter.inc();
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct CacheMetrics {
    hits: Counter,
    misses: Counter,
}

impl CacheMetrics {
    pub fn count(&self, hit: bool) {
        if hit {
            self.hits.inc()
        } else {
            self.misses.inc()
        };
    }
}

#[derive(Clone, Debug)]
pub struct MailMetrics {
    confirmation: LabelledCounters,
    code: LabelledCounters,
    snippet: LabelledCounters,
    notice: LabelledCounters,
}

impl MailMetrics {
    pub fn count(&self, template: &str, result: &str) {
        let mails = match template {
            "code" => &self.code,
            "snippet" => &self.snippet,
            "notice" => &self.notice,
            _ => &self.confirmation,
        };
        mails.count(result);
    }
}

#[derive(Clone, Debug, Default)]
pub struct OutboxMetrics {
    /// Pending mails of all nodes, as last counted by this node.
    pub waiting: Gauge,
    /// Mails that this node gave up on.
    pub given_up: Counter,
}

#[derive(Clone, Debug)]
pub struct ReceiptMetrics {
    /// Receipts queued for the writer.
    pub queued: Gauge,
    /// Receipts that were not stored: the queue was full, or their deadline had passed.
    pub refused: Counter,
    /// Receipts per commit.
    pub batch: Histogram,
    /// Duration from taking a batch to the replies.
    pub commit: Histogram,
    /// Duration from the replies until the erasure locks are released and the endpoints notified, on a cluster.
    pub settling: Histogram,
}

#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    pub requests: RequestMetrics,
    pub receipts: ReceiptMetrics,
    /// Visitors' choices by state, or by the reason why they were not stored.
    pub choices: LabelledCounters,
    /// Consent checks by reason.
    pub checks: LabelledCounters,
    pub install_checks: LabelledCounters,
    /// Webhook delivery attempts by result.
    pub webhooks: LabelledCounters,
    pub mails: MailMetrics,
    pub outbox: OutboxMetrics,
    pub log: LogMetrics,
    /// Cache of the configurations that are served to visitors.
    pub sites: CacheMetrics,
    /// Cache of the pauses of accounts.
    pub pauses: CacheMetrics,
    /// Cache of the webhook subscribers of accounts.
    pub subscribers: CacheMetrics,
    pub scripts: CacheMetrics,
    /// Whether this node receives the other nodes' change notifications: 1 or 0.
    pub listening: Gauge,
    /// Requests of visitors that the account rate delayed.
    pub paced: Counter,
    /// Requests whose `CLIENT_IP_HEADER` contains no valid address.
    pub unread_addresses: Counter,
}

const MAIL_RESULTS: &[&str] = &["sent", "skipped", "unanswered", "failed"];

impl Metrics {
    /// `read_pool` is the pool of the replica; `None` without one.
    pub fn new(pool: PgPool, read_pool: Option<PgPool>) -> Self {
        let mut registry = Registry::with_prefix("assent");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program", version);
        let requests = RequestMetrics::register(&mut registry);
        let receipts = receipts(&mut registry);
        let choices =
            family::<1>(&mut registry, "choices", "Choices of visitors by what they were");
        let checks = family::<1>(&mut registry, "consent_checks", "Consent checks by reason");
        let installs = family::<1>(&mut registry, "install_checks", "Install checks by finding");
        let mails = family::<2>(&mut registry, "mails", "Mails by what became of them");
        let webhooks = family::<1>(&mut registry, "webhooks", "Webhooks by what became of them");
        let outbox = outbox(&mut registry);
        let log = LogMetrics::new(&mut registry);
        let caches = family::<2>(&mut registry, "cache_requests", "Lookups in memory by result");
        let cache = |cache| CacheMetrics {
            hits: caches.get_or_create_owned(&[("cache", cache), ("result", "hit")]),
            misses: caches.get_or_create_owned(&[("cache", cache), ("result", "miss")]),
        };
        let mails_of = |mail| {
            let counter = |result| [("mail", mail), ("result", result)];
            LabelledCounters::new(
                |result| mails.get_or_create_owned(&counter(result)),
                MAIL_RESULTS,
            )
        };
        let listening = Gauge::default();
        let help = "Whether this node hears of the other nodes' changes";
        registry.register("changes_listening", help, listening.clone());
        let paced = Counter::default();
        let help =
            "Requests that waited because visitors of their account came faster than its pace";
        registry.register("requests_paced", help, paced.clone());
        let unread_addresses = Counter::default();
        let help = "Requests whose CLIENT_IP_HEADER has no address in its last element";
        registry.register("client_addresses_unread", help, unread_addresses.clone());
        registry.register_collector(Box::new(Pools::new(pool, read_pool)));
        Self {
            requests,
            receipts,
            choices: LabelledCounters::new(
                |kind| choices.get_or_create_owned(&[("kind", kind)]),
                &["accepted", "declined", "withdrawn", "ignored", "site_mismatch", "limited"],
            ),
            checks: LabelledCounters::new(
                |reason| checks.get_or_create_owned(&[("reason", reason)]),
                CHECK_REASONS,
            ),
            install_checks: LabelledCounters::new(
                |finding| installs.get_or_create_owned(&[("finding", finding)]),
                &["present", "absent", "failed"],
            ),
            webhooks: LabelledCounters::new(
                |result| webhooks.get_or_create_owned(&[("result", result)]),
                &["delivered", "refused", "unanswered", "unmade", "not_needed"],
            ),
            mails: MailMetrics {
                confirmation: mails_of("confirmation"),
                code: mails_of("code"),
                snippet: mails_of("snippet"),
                notice: mails_of("notice"),
            },
            outbox,
            log,
            sites: cache("sites"),
            pauses: cache("pauses"),
            subscribers: cache("subscribers"),
            scripts: cache("scripts"),
            listening,
            paced,
            unread_addresses,
            registry,
        }
    }

    /// The current values in the OpenMetrics text format.
    pub fn scrape(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

pub const CHECK_REASONS: &[&str] = &[
    "no_consent_record",
    "consent_off",
    "declined_or_withdrawn",
    "policy_version_stale",
    "purpose_not_granted",
    "ok",
];

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Counters with fixed labels.
fn family<const N: usize>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> Family<Labels<N>, Counter<u64, AtomicU64>> {
    let family = Family::default();
    registry.register(name, help, Family::clone(&family));
    family
}

fn outbox(registry: &mut Registry) -> OutboxMetrics {
    let metrics = OutboxMetrics::default();
    let OutboxMetrics { waiting, given_up } = metrics.clone();
    registry.register("outbox_waiting", "Mails that wait for another attempt", waiting);
    registry.register(
        "outbox_given_up",
        "Mails that nobody got within a day, or that no secret opens",
        given_up,
    );
    metrics
}

fn receipts(registry: &mut Registry) -> ReceiptMetrics {
    let metrics = ReceiptMetrics {
        queued: Gauge::default(),
        refused: Counter::default(),
        batch: Histogram::new(SIZES),
        commit: Histogram::new(SECONDS),
        settling: Histogram::new(SECONDS),
    };
    let ReceiptMetrics { queued, refused, batch, commit, settling } = metrics.clone();
    registry.register("receipts_queued", "Receipts that wait for the writer", queued);
    registry.register(
        "receipts_refused",
        "Receipts that found the queue full or came too late",
        refused,
    );
    registry.register("receipts_batch_size", "Receipts per commit", batch);
    registry.register("receipts_commit_duration_seconds", "Time to write a batch", commit);
    registry.register(
        "receipts_settling_duration_seconds",
        "Time from the answers until endpoints can be told, on a cluster",
        settling,
    );
    metrics
}
