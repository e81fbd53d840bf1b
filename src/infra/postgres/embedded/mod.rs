//! An embedded PostgreSQL, used if `DATABASE_URL` is not set.
//!
//! The programs are the machine's own ([`programs`]); the data are in `<data dir>/postgres` ([`place`]), are
//! fully durable, and belong to one running service at a time ([`lock`]). The server starts and stops with
//! the service ([`server`]).
//!
//! # Who may connect
//!
//! The server listens only on a Unix socket, in a folder of mode 0700 that belongs to the server's user, and
//! trusts everybody who can reach it: that user and root, who could read the data files anyway. So there is
//! no password to keep and no port to collide. A loopback port would be open to every user of the machine.
//!
//! # Running as root
//!
//! PostgreSQL refuses to run as root. The server then runs as the owner of the data; for new data that is the
//! user `postgres`, else `nobody`. `std::process::Command::uid` also drops root's supplementary groups, so
//! neither `setpriv` nor `su` is needed. The server gets an empty environment, so that the other user cannot
//! find the service's secrets in `/proc`.
//!
//! # After `kill -9`
//!
//! The server outlives a killed service. The next start shuts it down in an orderly way and starts a new one:
//! no session of the dead service keeps a lock, and the settings and programs are those of the current
//! version.

mod cluster;
mod error;
mod folders;
mod leftover;
mod lock;
mod owner;
mod pid_file;
mod place;
mod programs;
mod server;
mod socket;
mod stopping;

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

pub use error::EmbeddedPostgresError;
use lock::{Attempt, Lock, Purpose};
use place::Place;
use programs::Programs;
use server::Server;

/// The role that owns the database and that the service connects as. It is not a superuser, so SQL can never
/// start programs or read files of the machine.
const APPLICATION: &str = "assent";

/// Maximum wait of a service for one-off commands that use the data.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum wait of a command for other commands, and for a service that is starting or stopping.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Keeps the private PostgreSQL running. [`stop`](Self::stop) shuts it down and waits; dropping the value
/// does not wait.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    url: String,
    /// `None` if another process owns the server, see [`EmbeddedPostgres::start_or_join`].
    owned: Option<Owned>,
}

/// The order matters: the lock is released after the server was told to stop.
#[derive(Debug)]
struct Owned {
    server: Server,
    _lock: Lock,
}

impl EmbeddedPostgres {
    /// Finds the PostgreSQL programs, creates the cluster and the database `assent` on first use, and starts
    /// the server on the data in `<data_dir>/postgres`.
    ///
    /// # Errors
    /// Anything that keeps the server from running; [`EmbeddedPostgresError::InUse`] if another process uses
    /// the same data.
    pub async fn start(data_dir: &Path) -> Result<Self, EmbeddedPostgresError> {
        Self::open(data_dir, Purpose::Service, START_TIMEOUT).await
    }

    /// For one-off commands: like [`start`](Self::start), but uses the server of a service that runs on the
    /// same data, and leaves it running.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_or_join(data_dir: &Path) -> Result<Self, EmbeddedPostgresError> {
        Self::open(data_dir, Purpose::Command, JOIN_TIMEOUT).await
    }

    /// The connection URL for sqlx and libpq. It contains no secret.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server, cutting open connections, and waits until its data are closed safely.
    ///
    /// # Errors
    /// If the server cannot be signalled or waited for. Its data are safe even then: the next start recovers
    /// them.
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
        let place = Place::find_or_create(data_dir, Programs::newest(&installed)?)?;
        let programs = Programs::for_data(&installed, &place.data())?;
        let url = place.url(APPLICATION, APPLICATION);
        let deadline = Instant::now() + time_limit;
        loop {
            let attempt = Lock::take(&place, purpose)
                .map_err(EmbeddedPostgresError::io("lock", &place.lock()))?;
            let holder = match attempt {
                Attempt::Taken(lock) => return Self::run(programs, place, lock).await,
                Attempt::HeldBy(holder) => holder,
            };
            let may_join = purpose == Purpose::Command && holder.is_service();
            if may_join && server::accepts(&url).await {
                return Ok(Self { url, owned: None });
            }
            if Instant::now() > deadline {
                let home = place.home().to_owned();
                return Err(EmbeddedPostgresError::InUse { home, pid: holder.pid() });
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn run(
        programs: &Programs,
        place: Place,
        lock: Lock,
    ) -> Result<Self, EmbeddedPostgresError> {
        leftover::end_leftover(&place).await?;
        cluster::create_cluster(programs, &place).await?;
        let url = place.url(APPLICATION, APPLICATION);
        // From here on an early return drops the server, which stops it.
        let server = Server::start(programs, place).await?;
        server.create_database(APPLICATION).await?;
        Ok(Self { url, owned: Some(Owned { server, _lock: lock }) })
    }
}
