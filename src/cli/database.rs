//! The database of a command: that of `DATABASE_URL`, or an embedded one.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assent::config::{Config, Secret};
use assent::infra::postgres;
use assent::infra::postgres::embedded::EmbeddedPostgres;
use assent::infra::postgres::start_check::{self, StartError};
use assent::types::ids::{random_seed, random_text};
use tokio::time::timeout;

use super::failure::Failure;

/// The folder of the embedded database and its secrets, in the current folder.
const DATA_DIR: &str = ".data";

const RECEIPT_SECRET: &str = "receipt-secret";
const LOG_KEY: &str = "log-key";
const LOG_STATE: &str = "log-checkpoint";

/// Timeout for closing the pool. A connection may still be in use by a statement that waits for a
/// lock, or by an attempt to reach a failed database.
const LAST_USE: Duration = Duration::from_secs(3);

pub struct Database {
    pub postgres: postgres::Database,
    embedded: Option<EmbeddedPostgres>,
}

impl Database {
    /// Opens the database for the service. Only one service may use an embedded database.
    pub async fn open_for_service(config: Config) -> Result<(Self, Config), Failure> {
        Self::open(config, false).await
    }

    /// Opens the database for a command. A running service may be using the same embedded database.
    pub async fn open_for_command(config: Config) -> Result<(Self, Config), Failure> {
        Self::open(config, true).await
    }

    async fn open(mut config: Config, join: bool) -> Result<(Self, Config), Failure> {
        if let Some(url) = &config.database_url {
            if config.receipt_secrets.is_empty() && !join {
                let remedy = "RECEIPT_SECRETS: must be set when DATABASE_URL is, so that every node \
                    signs alike; make one with: openssl rand -hex 32";
                return Err(Failure(remedy.to_owned()));
            }
            let postgres = usable(url).await?;
            return Ok((Self { postgres, embedded: None }, config));
        }
        let data_dir = PathBuf::from(DATA_DIR);
        let embedded = match join {
            true => EmbeddedPostgres::start_or_join(&data_dir).await?,
            false => EmbeddedPostgres::start(&data_dir).await?,
        };
        if config.receipt_secrets.is_empty() {
            config.receipt_secrets =
                vec![kept_secret(&data_dir, RECEIPT_SECRET, || random_text(64))?];
        }
        if config.log_key.is_none() {
            config.log_key = Some(kept_secret(&data_dir, LOG_KEY, random_seed)?);
        }
        config.log_state.get_or_insert_with(|| data_dir.join(LOG_STATE));
        let postgres = usable(&Secret::new(embedded.url())).await?;
        Ok((Self { postgres, embedded: Some(embedded) }, config))
    }

    /// The database of `DATABASE_READ_URL`, if it is set. It may be unreachable at the start, because
    /// only reads that tolerate stale data use it.
    pub async fn replica(&self, config: &Config) -> Result<Option<postgres::Database>, Failure> {
        let Some(url) = &config.database_read_url else { return Ok(None) };
        match start_check::check_replica(url.expose(), &self.postgres).await {
            Err(error @ StartError::Unreachable(_)) => tracing::warn!("DATABASE_READ_URL: {error}"),
            checked => checked.map_err(|error| Failure(format!("DATABASE_READ_URL: {error}")))?,
        }
        Ok(Some(postgres::Database::connect_replica(url.expose())?))
    }

    pub async fn migrate(&self) -> Result<(), Failure> {
        postgres::migrate(&self.postgres.pool)
            .await
            .map_err(|error| Failure(format!("the database cannot be used: {error}")))
    }

    pub async fn close(self) {
        if timeout(LAST_USE, self.postgres.pool.close()).await.is_err() {
            tracing::warn!("connections to the database are still in use and are dropped");
        }
        if let Some(embedded) = self.embedded
            && let Err(error) = embedded.stop().await
        {
            tracing::warn!(%error, "the embedded PostgreSQL did not stop in order");
        }
    }
}

async fn usable(url: &Secret) -> Result<postgres::Database, Failure> {
    let checked = start_check::check_primary(url.expose()).await;
    checked.map_err(|error| Failure(format!("the database cannot be used: {error}")))?;
    Ok(postgres::Database::connect(url.expose())?)
}

/// A secret of an embedded database: created once, readable by its owner only.
fn kept_secret(
    data_dir: &Path,
    name: &str,
    make: impl FnOnce() -> String,
) -> Result<Secret, Failure> {
    let file = data_dir.join(name);
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    if let Ok(mut made) = made {
        made.write_all(make().as_bytes())?;
        made.sync_all()?;
    }
    let secret = fs::read_to_string(&file)
        .map_err(|error| Failure(format!("{} cannot be read: {error}", file.display())))?;
    match secret.trim() {
        "" => Err(Failure(format!("{} is empty; restore it from a backup", file.display()))),
        secret => Ok(Secret::new(secret)),
    }
}
