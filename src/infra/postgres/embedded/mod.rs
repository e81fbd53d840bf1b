//! An embedded PostgreSQL, used if `DATABASE_URL` is not set. The programs are the machine's own
//! ([`programs`]); the data are in `<data dir>/postgres` ([`data_location`]), fully durable, and used by one service
//! at a time ([`lock`]). The server starts and stops with the service ([`server`]). The server listens only
//! on a Unix socket in a folder of mode 0700, and trusts everybody who can reach it: its user and root, who
//! could read the data files anyway. A loopback port would be open to every user of the machine. PostgreSQL
//! refuses to run as root, so a service of root starts it as the owner of the data; for new data as `postgres`,
//! else `nobody`. `std::process::Command::uid` also drops root's supplementary groups. The environment is
//! cleared, so that the other user cannot read the service's secrets in `/proc`. The server outlives a killed
//! service. The next start shuts it down and starts a new one, so that no session of the dead service keeps
//! a lock, and settings and programs are current.

mod cluster;
mod data_location;
mod error;
mod folders;
mod leftover;
mod lock;
mod owner;
mod pid_file;
mod programs;
mod server;
mod socket;
mod stopping;

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use data_location::DataLocation;
pub use error::EmbeddedPostgresError;
use lock::{Attempt, Lock, Purpose};
use programs::Programs;
use server::{SUPERUSER, Server};

/// The role that owns the database. It is not a superuser, so that SQL can never start programs or read files.
const APPLICATION: &str = "assent";

/// Maximum time that a service waits for one-off commands that use the data.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time that a command waits for other commands, and for a service that is starting or stopping.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);

/// The running PostgreSQL. [`stop`](Self::stop) shuts it down and waits; dropping the value does not wait.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    url: String,
    /// `None` if another process owns the server, see [`EmbeddedPostgres::start_or_join`].
    owned: Option<Owned>,
}

/// The order of the fields matters: the server is dropped, which signals it to stop, before the lock is released.
#[derive(Debug)]
struct Owned {
    server: Server,
    _lock: Lock,
}

impl EmbeddedPostgres {
    /// Finds the programs, creates the cluster and the database `assent` on first use, and starts
    /// the server on `<data_dir>/postgres`. Fails with [`EmbeddedPostgresError::InUse`] if another
    /// process uses the data.
    pub async fn start(data_dir: &Path) -> Result<Self, EmbeddedPostgresError> {
        Self::open(data_dir, Purpose::Service, START_TIMEOUT).await
    }

    /// For one-off commands: like [`start`](Self::start), but uses the server of a running service,
    /// and leaves it running.
    pub async fn start_or_join(data_dir: &Path) -> Result<Self, EmbeddedPostgresError> {
        Self::open(data_dir, Purpose::Command, JOIN_TIMEOUT).await
    }

    /// The connection URL for sqlx and libpq. It contains no secret.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server, which closes open connections, and waits until it has exited. The data are
    /// safe even after an error: the next start recovers them.
    pub async fn stop(mut self) -> Result<(), EmbeddedPostgresError> {
        match &mut self.owned {
            Some(owned) => owned.server.stop().await,
            None => Ok(()),
        }
    }

    async fn open(
        data_dir: &Path,
        purpose: Purpose,
        time_limit: Duration,
    ) -> Result<Self, EmbeddedPostgresError> {
        let installed = programs::installed();
        let location = DataLocation::find_or_create(data_dir, Programs::newest(&installed)?)?;
        let programs = Programs::for_data(&installed, &location.data())?;
        let url = location.url(APPLICATION, APPLICATION);
        let deadline = Instant::now() + time_limit;
        loop {
            let attempt = Lock::take(&location, purpose)
                .map_err(EmbeddedPostgresError::io("lock", &location.lock()))?;
            let holder = match attempt {
                Attempt::Taken(lock) => return Self::run(programs, location, lock).await,
                Attempt::HeldBy(holder) => holder,
            };
            let may_join = purpose == Purpose::Command && holder.is_service();
            if may_join && server::accepts(&url).await {
                return Ok(Self { url, owned: None });
            }
            if Instant::now() > deadline {
                let home = location.home().to_owned();
                return Err(EmbeddedPostgresError::InUse { home, pid: holder.pid() });
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn run(
        programs: &Programs,
        location: DataLocation,
        lock: Lock,
    ) -> Result<Self, EmbeddedPostgresError> {
        leftover::end_leftover(&location).await?;
        cluster::create_cluster(programs, &location, SUPERUSER).await?;
        let url = location.url(APPLICATION, APPLICATION);
        // From here on an early return drops the server, which stops it.
        let server = Server::start(programs, location).await?;
        server.create_database(APPLICATION).await?;
        Ok(Self { url, owned: Some(Owned { server, _lock: lock }) })
    }
}
