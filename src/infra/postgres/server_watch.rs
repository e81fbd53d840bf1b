//! Which server a database address leads to, and whether it takes writes.
//!
//! After a switchover connections to the former primary may stay open. It then shows data of before, or
//! refuses writes. All connections of a node (pool, kept connections, listener) follow one rule:
//!
//! 1. A connection is used only if its server takes writes ([`ServerWatch::admit`]): a server in recovery or with
//!    read-only transactions counts as an outage. A replica for reading is exempt from this part.
//! 2. The address is asked again by a new connection every second, and whenever there is doubt
//!    ([`ServerWatch::confirm`]). If it leads to another server, or to one that has been restarted or takes no
//!    writes any more, the generation changes: every connection of before is closed (those that wait for an
//!    answer of another server included), and no answer of theirs is used.
//! 3. No connection to another server is admitted before the generation has changed. So a node never
//!    writes to the new server while it still reads from the old one.
//! 4. A kept connection is used only while the address is known to lead to its server
//!    ([`ServerWatch::require_confirmed`]): cut off from the address, a node does not go on with a server that others
//!    may have left.
//! 5. A check's own statement says whether its server takes writes (`receipts::store::latest`), so that one
//!    that was demoted a moment ago answers no check.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, query_as};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use tokio::time::{sleep, timeout};

use super::settings::make_readable;
use super::sockets::{OpenSocket, Peers};
use super::timeouts::PING_TIMEOUT;
use crate::error::{Error, Result};

/// Pause between two looks at the address.
const PERIOD: Duration = Duration::from_secs(1);
/// Least pause when there is doubt again and again.
const LEAST_PERIOD: Duration = Duration::from_millis(100);
/// What the address led to is believed for this long.
const CONFIRMED_FOR: Duration = Duration::from_secs(5);
/// For this long after a change connections of the pool are asked before each use: one may have
/// been opened to the old server at the moment of the change.
const UNCERTAIN: Duration = Duration::from_secs(10);

/// What a server is needed for.
#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    Primary,
    /// Reading what may be late. It may be in recovery.
    Replica,
}

/// What a server says of itself.
pub struct ServerReport {
    pub in_recovery: bool,
    pub read_only: bool,
    /// Identifies the server: another one, or the same one after a restart, has another.
    pub started_at: DateTime<Utc>,
    pub now: DateTime<Utc>,
    /// Whether tables may be distributed over several machines (docs/scaling.md): the table is the one in which
    /// Citus keeps which are.
    pub is_spread: bool,
}

/// What one node knows of the server behind an address.
pub struct ServerWatch {
    options: PgConnectOptions,
    role: Role,
    generation: watch::Sender<u64>,
    known: Mutex<Known>,
    /// Held by whoever asks the address; holds when that began.
    confirming: AsyncMutex<Option<Instant>>,
    doubt: Notify,
}

#[derive(Default)]
struct Known {
    started_at: Option<DateTime<Utc>>,
    is_refused: bool,
    is_full: bool,
    changed_at: Option<Instant>,
    confirmed_at: Option<Instant>,
    peers: Peers,
}

impl ServerWatch {
    pub fn new(options: PgConnectOptions, role: Role) -> Self {
        Self {
            options,
            role,
            generation: watch::Sender::new(0),
            known: Mutex::default(),
            confirming: AsyncMutex::default(),
            doubt: Notify::new(),
        }
    }

    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Connections of an earlier generation must not be used any more.
    pub fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Returns when the generation is another one.
    pub async fn has_left(&self, generation: u64) {
        let mut generations = self.generation.subscribe();
        // The sender lives as long as `self`.
        let _ = generations.wait_for(|now| *now != generation).await;
    }

    /// Has the address asked soon, because something went wrong on a connection.
    pub fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// Whether a connection of this age was opened before the last change.
    pub fn is_outdated(&self, age: Duration) -> bool {
        self.known().changed_at.is_some_and(|changed_at| age >= changed_at.elapsed())
    }

    /// Whether the last change was so recent that ages of connections do not decide.
    pub fn is_uncertain(&self) -> bool {
        self.known().changed_at.is_some_and(|changed_at| changed_at.elapsed() < UNCERTAIN)
    }

    /// Asks a connection for its server.
    ///
    /// # Errors
    ///
    /// When it does not answer soon, takes no writes although it has to, or is not the server that the
    /// address was last known to lead to. The connection must be closed then.
    pub async fn admit(&self, connection: &mut PgConnection) -> sqlx::Result<ServerReport> {
        let report = ask(connection).await?;
        if let Err(refused) = self.require_role(&report) {
            self.doubt();
            return Err(refused);
        }
        let is_known =
            *self.known().started_at.get_or_insert(report.started_at) == report.started_at;
        if is_known {
            return Ok(report);
        }
        self.confirm().await;
        Err(unusable("the connection leads to another server than before"))
    }

    /// Asks the address where it leads to now, unless somebody else has begun to since.
    pub async fn confirm(&self) {
        let asked_at = Instant::now();
        let mut begun_at = self.confirming.lock().await;
        if begun_at.is_some_and(|begun_at| begun_at > asked_at) {
            return;
        }
        *begun_at = Some(Instant::now());
        let found = timeout(PING_TIMEOUT, Peers::resolve(&self.options)).await;
        let sockets = {
            let peers = &mut self.known().peers;
            if let Ok(found) = found {
                peers.extend(found);
            }
            peers.open_sockets()
        };
        let begun = Instant::now();
        match timeout(PING_TIMEOUT, self.ask_address()).await {
            Ok(Ok(report)) => self.note(&report, begun, &sockets),
            Ok(Err(error)) if is_full(&error) => self.note_full(),
            Ok(Err(error)) => tracing::debug!(%error, "the database's address could not be asked"),
            Err(_) => tracing::debug!("the database's address does not answer"),
        }
    }

    /// Notes that the server behind the address accepts no more connections. Nothing tells which server
    /// that is, so it confirms nothing.
    fn note_full(&self) {
        if !std::mem::replace(&mut self.known().is_full, true) {
            tracing::warn!("the database accepts no more connections (max_connections)");
        }
    }

    /// Whether the address could not be asked for want of a connection, and must be soon.
    fn needs_room(&self) -> bool {
        let known = self.known();
        let is_recent = |at: Instant| at.elapsed() < CONFIRMED_FOR / 2;
        known.is_full && !known.confirmed_at.is_some_and(is_recent)
    }

    /// Notes that a new connection, begun then, has led to the known server.
    pub fn note_confirmed(&self, begun: Instant) {
        let mut known = self.known();
        known.confirmed_at = known.confirmed_at.max(Some(begun));
    }

    /// Fails unless the address has led to the known server within the last seconds, or does now.
    pub async fn require_confirmed(&self) -> Result<()> {
        let is_confirmed = || {
            let confirmed_at = self.known().confirmed_at;
            confirmed_at.is_some_and(|confirmed_at| confirmed_at.elapsed() < CONFIRMED_FOR)
        };
        if !is_confirmed() {
            self.confirm().await;
        }
        if is_confirmed() { Ok(()) } else { Err(Error::DatabaseUnavailable) }
    }

    /// Keeps asking until the pool is closed.
    pub async fn run(&self, pool: PgPool) {
        while !pool.is_closed() {
            self.confirm().await;
            if self.needs_room()
                && let Some(idle) = pool.try_acquire()
            {
                // If the address still leads to the server of the pool, this makes room to ask it.
                let _ = timeout(PING_TIMEOUT, idle.close()).await;
                self.confirm().await;
            }
            sleep(LEAST_PERIOD).await;
            let _ = timeout(PERIOD - LEAST_PERIOD, self.doubt.notified()).await;
        }
    }

    async fn ask_address(&self) -> sqlx::Result<ServerReport> {
        let mut connection = self.options.connect().await?;
        make_readable(&mut connection, PING_TIMEOUT).await?;
        let report = ask(&mut connection).await?;
        connection.close().await?;
        Ok(report)
    }

    /// Begins a new generation if the server is another one than before, or has stopped taking writes.
    fn note(&self, report: &ServerReport, begun: Instant, sockets: &[OpenSocket]) {
        let refused = self.require_role(report).err();
        let mut known = self.known();
        let is_refused = refused.is_some();
        let has_stopped = is_refused && !known.is_refused;
        known.is_refused = is_refused;
        known.is_full = false;
        if !is_refused {
            known.confirmed_at = known.confirmed_at.max(Some(begun));
        }
        let before = match is_refused {
            true => known.started_at,
            false => known.started_at.replace(report.started_at),
        };
        let is_other = before.is_some_and(|before| before != report.started_at);
        let is_replaced = is_other && !is_refused;
        if !has_stopped && !is_replaced {
            return;
        }
        known.changed_at = Some(Instant::now());
        self.generation.send_modify(|generation| *generation += 1);
        // A server that only stopped taking writes still answers what it was asked.
        if is_other {
            known.peers.shut_down(sockets);
        }
        drop(known);
        match refused {
            Some(reason) => tracing::warn!(%reason, "the database is unavailable"),
            None => tracing::warn!(
                "the database's address leads to another server, or to one that was restarted"
            ),
        }
    }

    fn require_role(&self, report: &ServerReport) -> sqlx::Result<()> {
        match self.role {
            Role::Replica => Ok(()),
            Role::Primary if report.in_recovery => Err(unusable("the server is a standby")),
            Role::Primary if report.read_only => {
                Err(unusable("the server only accepts read-only transactions"))
            }
            Role::Primary => Ok(()),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server says of itself, soon or not at all.
pub async fn ask(connection: &mut PgConnection) -> sqlx::Result<ServerReport> {
    let question = query_as!(
        ServerReport,
        "SELECT pg_is_in_recovery() AS \"in_recovery!\",
             current_setting('transaction_read_only') = 'on' AS \"read_only!\",
             pg_postmaster_start_time() AS \"started_at!\", clock_timestamp() AS \"now!\",
             to_regclass('pg_dist_partition') IS NOT NULL AS \"is_spread!\""
    )
    .fetch_one(connection);
    timeout(PING_TIMEOUT, question).await.map_err(|_| sqlx::Error::PoolTimedOut)?
}

/// Refuses what was read in a transaction that could not have written: its server may have been
/// demoted, so that what it shows may be outdated. A server in recovery has no other transactions.
pub fn require_writable(is_writable: bool) -> Result<()> {
    match is_writable {
        true => Ok(()),
        false => Err(Error::DatabaseUnavailable),
    }
}

fn is_full(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.as_deref() == Some("53300")
}

fn unusable(reason: &'static str) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::ConnectionAborted, reason))
}

#[cfg(test)]
mod tests;
