pub mod batches;
pub mod cache;
pub mod changes;
pub mod compression;
pub mod direct_client;
pub mod encryption;
pub mod events;
pub mod fetch;
pub mod isolation;
pub mod limits;
pub mod log_output;
pub mod metrics;
pub mod outbox;
pub mod periodic;
pub mod postgres;
pub mod requested_language;
pub mod secret_hash;
pub mod shutdown;
pub mod smtp;
mod store;
pub mod supervise;
pub mod telemetry;
pub mod templates;
pub mod txt_lookup;
pub mod unread_addresses;
pub mod uptime;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use sqlx::PgPool;
use tokio::sync::Notify;
use tracing::Instrument;

use crate::clock::Clock;
use crate::config::Config;
use changes::Changes;
use encryption::{Encryptor, Purpose};
use events::Events;
use fetch::post::GuardedPost;
use fetch::slots::FetchSlots;
use fetch::{BadCertificates, GuardedFetch};
use limits::account_rate::{AccountRates, RateConfig};
use limits::exports::ExportLimits;
use metrics::Metrics;
use outbox::Outbox;
use periodic::Schedule;
use postgres::Database;
use requested_language::Requested;
use shutdown::Shutdown;
use smtp::{MailError, Mailer};
pub(crate) use store::deletion;
use txt_lookup::TxtLookup;
use unread_addresses::UnreadAddresses;

/// A component that cannot be set up. The text is one sentence for the operator.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Mail(#[from] MailError),
    #[error(transparent)]
    Certificates(#[from] BadCertificates),
}

#[derive(Clone)]
pub struct Infra {
    pub config: Arc<Config>,
    pub clock: Clock,
    /// The primary database: all writes, and every read that a decision depends on.
    pub database: Database,
    pub pool: PgPool,
    /// For log, export, contacts and stats: the pool of the replica if one is configured.
    pub read_pool: PgPool,
    pub replica: Option<Database>,
    pub outbox: Outbox,
    pub fetch: GuardedFetch,
    pub fetch_slots: FetchSlots,
    pub exports: ExportLimits,
    pub webhook_post: GuardedPost,
    pub webhook_encryptor: Arc<Encryptor>,
    pub answer_encryptor: Arc<Encryptor>,
    pub account_rates: AccountRates,
    pub txt_lookup: TxtLookup,
    pub changes: Changes,
    pub events: Events,
    /// Notified when a visitor's consent may have ended, so that withdrawn contacts are recorded soon.
    pub consent_changes: Arc<Notify>,
    pub schedule: Schedule,
    pub metrics: Arc<Metrics>,
    pub unread_addresses: UnreadAddresses,
    pub shutdown: Shutdown,
    base_url: Arc<OnceLock<String>>,
}

impl Infra {
    pub fn new(
        config: Config,
        clock: Clock,
        database: Database,
        replica: Option<Database>,
    ) -> Result<Self, SetupError> {
        let pool = database.pool.clone();
        let read_pool = replica.as_ref().map_or(&pool, |replica| &replica.pool).clone();
        let base_url = OnceLock::new();
        if let Some(configured) = &config.base_url {
            base_url.get_or_init(|| configured.clone());
        }
        let fetch = GuardedFetch::from_config(&config.install_check)?;
        let metrics = Metrics::new(pool.clone(), replica.as_ref().map(|it| it.pool.clone()));
        let mailer = Mailer::from_config(&config, metrics.mails.clone())?;
        let shutdown = Shutdown::default();
        let changes = Changes::new(metrics.listening.clone());
        let outbox = Outbox::new(
            mailer,
            clock.clone(),
            pool.clone(),
            &config.receipt_secrets,
            metrics.outbox.clone(),
            shutdown.clone(),
        );
        let webhook_encryptor = Encryptor::new(&config.receipt_secrets, Purpose::Webhooks);
        let answer_encryptor = Encryptor::new(&config.receipt_secrets, Purpose::Answers);
        Ok(Self {
            account_rates: AccountRates::new(
                config.rate_limits.then(RateConfig::default),
                metrics.paced.clone(),
            ),
            webhook_post: GuardedPost::from_config(&config.webhooks)?,
            webhook_encryptor: Arc::new(webhook_encryptor),
            answer_encryptor: Arc::new(answer_encryptor),
            events: Events::new(changes.clone(), pool.clone(), metrics.subscribers.clone()),
            txt_lookup: TxtLookup::new(config.install_check.claim_dns.clone()),
            fetch_slots: FetchSlots::new(clock.clone(), config.rate_limits),
            exports: ExportLimits::default(),
            unread_addresses: UnreadAddresses::new(clock.clone(), metrics.unread_addresses.clone()),
            config: Arc::new(config),
            schedule: Schedule::new(clock.clone()),
            clock,
            database,
            pool,
            read_pool,
            replica,
            outbox,
            fetch,
            changes,
            consent_changes: Arc::default(),
            metrics: Arc::new(metrics),
            shutdown,
            base_url: Arc::new(base_url),
        })
    }

    pub fn base_url(&self) -> &str {
        self.base_url.get().map_or("http://localhost", String::as_str)
    }

    pub fn base_host(&self) -> String {
        host_of(self.base_url())
    }

    /// Runs work in a separate task, which delays an orderly shutdown.
    pub fn spawn<W>(&self, work: impl FnOnce(Self) -> W)
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let (held, work) = (self.shutdown.delay(), work(self.clone()));
        let requested = Requested::current();
        let task = async move {
            let _guard = held;
            requested.scope(work).await;
        };
        tokio::spawn(task.in_current_span());
    }

    /// Sets the base address once the listening address is known, unless one is configured.
    pub fn listening_on(&self, address: IpAddr, port: u16) {
        self.base_url.get_or_init(|| format!("http://{}", local_authority(address, port)));
    }
}

/// The host of a base address; empty if it has none.
pub fn host_of(base_url: &str) -> String {
    url::Url::parse(base_url)
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Host and port at which local programs reach a listener: `localhost` for 127.0.0.1 and
/// unspecified addresses, otherwise the literal address.
pub fn local_authority(address: IpAddr, port: u16) -> String {
    if address.is_unspecified() || address == Ipv4Addr::LOCALHOST {
        return format!("localhost:{port}");
    }
    SocketAddr::new(address, port).to_string()
}

#[cfg(test)]
mod tests {
    use super::local_authority;

    #[test]
    fn a_listener_is_named_by_an_address_that_reaches_it() {
        for (address, authority) in [
            ("127.0.0.1", "localhost:8000"),
            ("0.0.0.0", "localhost:8000"),
            ("::", "localhost:8000"),
            ("127.0.0.2", "127.0.0.2:8000"),
            ("192.0.2.7", "192.0.2.7:8000"),
            ("::1", "[::1]:8000"),
            ("2001:db8::1", "[2001:db8::1]:8000"),
        ] {
            assert_eq!(local_authority(address.parse().unwrap(), 8000), authority);
        }
    }
}
