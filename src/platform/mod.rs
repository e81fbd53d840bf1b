//! What the features stand on: database, mail, outbound requests, logs.

pub mod changes;
pub mod embedded_postgres;
pub mod guarded_fetch;
pub mod kept_connection;
pub mod lasting;
pub mod mailer;
pub mod metrics;
pub mod postgres;
pub mod public_address;
pub mod rounds;
pub mod telemetry;

use std::sync::{Arc, OnceLock};

use sqlx::PgPool;

use crate::clock::Clock;
use crate::config::Config;
use changes::Changes;
use guarded_fetch::{BadCertificates, GuardedFetch};
use mailer::{MailError, Mailer};
use metrics::Metrics;

/// A part of the platform that cannot be set up; its text is one sentence for the operator.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Mail(#[from] MailError),
    #[error(transparent)]
    Certificates(#[from] BadCertificates),
}

/// The services that every feature may use, managed by Rocket as one state.
#[derive(Clone)]
pub struct Platform {
    pub config: Arc<Config>,
    pub clock: Clock,
    /// The primary database: all writes, and every read that decides something.
    pub pool: PgPool,
    /// For log, export, contacts and stats: a replica where one is configured.
    pub read_pool: PgPool,
    pub mailer: Mailer,
    /// Asks the servers of customers' sites.
    pub fetch: GuardedFetch,
    /// Tells every node that what visitors are served has changed.
    pub changes: Changes,
    pub metrics: Arc<Metrics>,
    base_url: Arc<OnceLock<String>>,
}

impl Platform {
    pub fn new(
        config: Config,
        clock: Clock,
        pool: PgPool,
        read_pool: PgPool,
    ) -> Result<Self, SetupError> {
        let base_url = OnceLock::new();
        if let Some(configured) = &config.base_url {
            base_url.get_or_init(|| configured.clone());
        }
        let fetch = GuardedFetch::from_config(&config.install_check)?;
        let replica = config.database_read_url.as_ref().map(|_| read_pool.clone());
        let metrics = Metrics::new(pool.clone(), replica);
        let mailer = Mailer::from_config(&config, metrics.mails.clone())?;
        Ok(Self {
            config: Arc::new(config),
            clock,
            pool,
            read_pool,
            mailer,
            fetch,
            changes: Changes::new(metrics.listening.clone()),
            metrics: Arc::new(metrics),
            base_url: Arc::new(base_url),
        })
    }

    /// The public base address without a trailing slash.
    pub fn base_url(&self) -> &str {
        self.base_url.get().map_or("http://localhost", String::as_str)
    }

    /// The host of the public base address.
    pub fn base_host(&self) -> String {
        url::Url::parse(self.base_url())
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Fixes the base address once the port is known, unless one is configured.
    pub fn listening_on(&self, port: u16) {
        self.base_url.get_or_init(|| format!("http://localhost:{port}"));
    }
}
