//! A PostgreSQL of the service's own, for when `DATABASE_URL` names none.
//!
//! The programs are those of the machine ([`programs`]); the data lie in `<data dir>/postgres`
//! ([`place`]), are fully durable, and belong to one running service at a time ([`lock`]).
//! The server is started with the service and stopped with it ([`server`]).
//!
//! # Who may connect
//!
//! The server listens on a Unix socket only, in a folder of mode 0700 that belongs to the user the
//! server runs as, and trusts whoever gets there: that is this user and root, exactly those who
//! could read the data files anyway. No password has to be kept, and no port can collide. A
//! loopback port would be open to every user of the machine.
//!
//! # Running as root
//!
//! PostgreSQL refuses root. The server then runs as the owner of the data; for new data that is
//! the user `postgres`, else `nobody`. `std::process::Command::uid` also drops the supplementary
//! groups of root, so neither `setpriv` nor `su` is needed. The server gets an empty environment:
//! that other user must not find the service's secrets in `/proc`.
//!
//! # After `kill -9`
//!
//! The server outlives a killed service. The next start ends it in an orderly way and starts it
//! anew rather than reusing it: no session of the dead service keeps a lock, the settings are this
//! version's, and so are the programs after an upgrade of the package.

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

/// The user that owns the database and that the service connects as. It is no superuser, so that
/// SQL can never start programs or read files of the machine.
const APPLICATION: &str = "assent";

/// How long a service waits for one-off commands that hold the data at that moment.
const PATIENCE_TO_START: Duration = Duration::from_secs(2);
/// How long a command waits for other commands, and for a service that is starting or stopping.
const PATIENCE_TO_JOIN: Duration = Duration::from_secs(60);

/// Keeps the private PostgreSQL running. Call [`stop`](Self::stop) to end it and wait; a plain
/// drop asks it to end without waiting.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    url: String,
    /// `None` when the server is another process's, see [`EmbeddedPostgres::start_or_join`].
    owned: Option<Owned>,
}

/// The order matters: the lock is given back when the server has been told to stop.
#[derive(Debug)]
struct Owned {
    server: Server,
    _lock: Lock,
}

impl EmbeddedPostgres {
    /// Finds the PostgreSQL programs, creates the cluster and the database `assent` on first use,
    /// and starts the server on the data in `<data_dir>/postgres`.
    ///
    /// # Errors
    /// Whatever keeps the server from running; [`EmbeddedPostgresError::InUse`] when another
    /// process runs on the same data.
    pub async fn start(data_dir: &Path) -> Result<Self, EmbeddedPostgresError> {
        Self::open(data_dir, Purpose::Service, PATIENCE_TO_START).await
    }

    /// For one-off commands: as [`start`](Self::start), but while a service runs on the same data,
    /// its server is used and left running.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_or_join(data_dir: &Path) -> Result<Self, EmbeddedPostgresError> {
        Self::open(data_dir, Purpose::Command, PATIENCE_TO_JOIN).await
    }

    /// Where to connect, in the form that sqlx and libpq understand. There is no secret in it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends the server (open connections are cut) and waits until its data are safely closed.
    ///
    /// # Errors
    /// When the server cannot be signalled or waited for. Its data are safe even then: the next
    /// start recovers them.
    pub async fn stop(mut self) -> Result<(), EmbeddedPostgresError> {
        match &mut self.owned {
            Some(owned) => owned.server.stop().await,
            None => Ok(()),
        }
    }

    async fn open(
        data_dir: &Path,
        purpose: Purpose,
        patience: Duration,
    ) -> Result<Self, EmbeddedPostgresError> {
        let installed = programs::installed();
        let place = Place::find_or_create(data_dir, Programs::newest(&installed)?)?;
        let programs = Programs::for_data(&installed, &place.data())?;
        let url = place.url(APPLICATION, APPLICATION);
        let deadline = Instant::now() + patience;
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
        // From here on an early return drops the server, which ends it.
        let server = Server::start(programs, place).await?;
        server.create_database(APPLICATION).await?;
        Ok(Self { url, owned: Some(Owned { server, _lock: lock }) })
    }
}
