//! The database that a command works on: the one of `DATABASE_URL`, or an embedded one.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assent::config::{Config, Secret};
use assent::infra::postgres;
use assent::infra::postgres::embedded::EmbeddedPostgres;
use assent::types::ids::{random_seed, random_text};
use sqlx::PgPool;
use tokio::time::timeout;

use super::failure::Failure;

/// Where the embedded database and its secrets lie, in the folder the service is started in.
const DATA_DIR: &str = ".data";

/// Files of its secrets: what signs receipts, and what signs the log.
const RECEIPT_SECRET: &str = "receipt-secret";
const LOG_KEY: &str = "log-key";

/// How long connections that are still in use are waited for: by a statement that waits for a lock, or
/// by somebody who looks for a database that has gone.
const LAST_USE: Duration = Duration::from_secs(3);

pub struct Database {
    pub pool: PgPool,
    embedded: Option<EmbeddedPostgres>,
}

impl Database {
    /// For the service: with an embedded database it must be the only one in its folder.
    pub async fn open_for_service(config: Config) -> Result<(Self, Config), Failure> {
        Self::open(config, false).await
    }

    /// For a command: an embedded database may be in use by a running service.
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
            let pool = postgres::connect(url.expose())?;
            return Ok((Self { pool, embedded: None }, config));
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
        config.data_dir = Some(data_dir);
        let pool = postgres::connect(embedded.url())?;
        Ok((Self { pool, embedded: Some(embedded) }, config))
    }

    pub async fn migrate(&self) -> Result<(), Failure> {
        postgres::migrate(&self.pool)
            .await
            .map_err(|error| Failure(format!("the database cannot be used: {error}")))
    }

    /// Closes the connections and stops an embedded database.
    pub async fn close(self) {
        if timeout(LAST_USE, self.pool.close()).await.is_err() {
            tracing::warn!("connections to the database are still in use and are dropped");
        }
        if let Some(embedded) = self.embedded
            && let Err(error) = embedded.stop().await
        {
            tracing::warn!(%error, "the embedded PostgreSQL did not stop in order");
        }
    }
}

/// A secret of an embedded database: made once, readable by its owner only.
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
