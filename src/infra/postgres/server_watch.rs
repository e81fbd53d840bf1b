//! Detects which server a database address leads to, and whether it takes writes.
//!
//! After a switchover, connections to the former primary may stay open. It then returns stale data or
//! refuses writes. All connections of a node (pool, kept connections, listener) follow these rules:
//!
//! 1. A connection is used only if its server takes writes ([`ServerWatch::admit`]). A server in recovery
//!    or with read-only transactions counts as an outage. A read replica is exempt from this rule.
//! 2. The address is checked with a new connection every second, and whenever an error suggests a change
//!    ([`ServerWatch::confirm`]). If the address leads to another server, or to one that was restarted or
//!    no longer takes writes, the generation changes: all older connections are closed, including those
//!    that wait for a response of a former server, and their responses are discarded.
//! 3. No connection to another server is admitted before the generation has changed. A node therefore
//!    never writes to the new server while it reads from the old one.
//! 4. A kept connection is used only while the address is confirmed to lead to its server
//!    ([`ServerWatch::require_confirmed`]). A node that cannot reach the address does not continue with a
//!    server that other nodes may have left.
//! 5. The statement of a consent check reports whether its server takes writes
//!    (`receipts::store::latest`), so that a server demoted a moment ago answers no check.

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

const PERIOD: Duration = Duration::from_secs(1);
const LEAST_PERIOD: Duration = Duration::from_millis(100);
const CONFIRMED_FOR: Duration = Duration::from_secs(5);
/// Duration after a change in which pooled connections are checked before use: one may lead to the old server.
const UNCERTAIN: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    Primary,
    /// Reads that tolerate stale data. The server may be in recovery.
    Replica,
}

pub struct ServerReport {
    pub in_recovery: bool,
    pub read_only: bool,
    /// Identifies the server process: it differs for another server and after a restart.
    pub started_at: DateTime<Utc>,
    pub now: DateTime<Utc>,
    /// Whether tables may be distributed (docs/scaling.md), which Citus's table of distributed tables shows.
    pub is_distributed: bool,
}

pub struct ServerWatch {
    options: PgConnectOptions,
    role: Role,
    generation: watch::Sender<u64>,
    known: Mutex<Known>,
    /// Locked while the address is checked; contains the time at which the latest check began.
    confirming: AsyncMutex<Option<Instant>>,
    doubt: Notify,
}

#[derive(Default)]
struct Known {
    started_at: Option<DateTime<Utc>>,
    is_refused: bool,
    is_full: bool,
    is_distributed: bool,
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

    /// The current generation. Connections of an earlier generation must not be used any more.
    pub fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    pub async fn has_left(&self, generation: u64) {
        let mut generations = self.generation.subscribe();
        let _ = generations.wait_for(|now| *now != generation).await;
    }

    /// Requests an early check of the address after an error on a connection.
    pub fn doubt(&self) {
        self.doubt.notify_one();
    }

    pub fn is_outdated(&self, age: Duration) -> bool {
        self.known().changed_at.is_some_and(|changed_at| age >= changed_at.elapsed())
    }

    /// Whether the latest change is so recent that a connection's age does not show which server it leads to.
    pub fn is_uncertain(&self) -> bool {
        self.known().changed_at.is_some_and(|changed_at| changed_at.elapsed() < UNCERTAIN)
    }

    /// Verifies the server of a connection. Fails, and the connection must be closed, when the
    /// server does not answer in time, does not take writes although its role requires them, or is
    /// not the known server of the address.
    pub async fn admit(&self, connection: &mut PgConnection) -> sqlx::Result<ServerReport> {
        let report = ask(connection).await?;
        if let Err(refused) = self.require_role(&report) {
            self.doubt();
            return Err(refused);
        }
        let is_known = {
            let mut known = self.known();
            let is_known = *known.started_at.get_or_insert(report.started_at) == report.started_at;
            if is_known {
                known.is_distributed = report.is_distributed;
            }
            is_known
        };
        if is_known {
            return Ok(report);
        }
        self.confirm().await;
        Err(unusable("the connection leads to another server than before"))
    }

    /// Whether tables may be distributed, according to the last verified connection.
    pub fn is_distributed(&self) -> bool {
        self.known().is_distributed
    }

    /// Checks which server the address leads to, unless another check has begun since this call.
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
            Ok(Ok(report)) => self.record_report(&report, begun, &sockets),
            Ok(Err(error)) if is_full(&error) => self.mark_full(),
            Ok(Err(error)) => tracing::debug!(%error, "the check of the database failed"),
            Err(_) => tracing::debug!("the database's address does not answer"),
        }
    }

    /// Records that the server accepts no more connections. This does not confirm that it is the known server.
    fn mark_full(&self) {
        if !std::mem::replace(&mut self.known().is_full, true) {
            tracing::warn!("the database accepts no more connections (max_connections)");
        }
    }

    /// Whether the latest check failed because the server was full, and the confirmation will soon expire.
    fn needs_room(&self) -> bool {
        let known = self.known();
        let is_recent = |at: Instant| at.elapsed() < CONFIRMED_FOR / 2;
        known.is_full && !known.confirmed_at.is_some_and(is_recent)
    }

    /// Records that a new connection, opened at `begun`, reached the known server.
    pub fn mark_confirmed(&self, begun: Instant) {
        let mut known = self.known();
        known.confirmed_at = known.confirmed_at.max(Some(begun));
    }

    pub async fn require_confirmed(&self) -> Result<()> {
        let is_confirmed = || {
            let confirmed_at = self.known().confirmed_at;
            confirmed_at.is_some_and(|confirmed_at| confirmed_at.elapsed() < CONFIRMED_FOR)
        };
        if !is_confirmed() {
            self.confirm().await;
        }
        if is_confirmed() {
            return Ok(());
        }
        tracing::warn!(
            "the database's address could not be confirmed, its connections are not used"
        );
        Err(Error::DatabaseUnavailable)
    }

    pub async fn run(&self, pool: PgPool) {
        while !pool.is_closed() {
            self.confirm().await;
            if self.needs_room()
                && let Some(idle) = pool.try_acquire()
            {
                // If the address still leads to the pool's server, this frees a connection for the check.
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

    /// Begins a new generation if the server has changed or has stopped taking writes.
    fn record_report(&self, report: &ServerReport, begun: Instant, sockets: &[OpenSocket]) {
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
        // A server that only stopped taking writes still answers the queries in flight.
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

pub async fn ask(connection: &mut PgConnection) -> sqlx::Result<ServerReport> {
    let statement = query_as!(
        ServerReport,
        "SELECT pg_is_in_recovery() AS \"in_recovery!\",
             current_setting('transaction_read_only') = 'on' AS \"read_only!\",
             pg_postmaster_start_time() AS \"started_at!\", clock_timestamp() AS \"now!\",
             to_regclass('pg_dist_partition') IS NOT NULL AS \"is_distributed!\""
    )
    .fetch_one(connection);
    timeout(PING_TIMEOUT, statement).await.map_err(|_| sqlx::Error::PoolTimedOut)?
}

/// Fails for data that were read in a read-only transaction, because a demoted server may return stale data.
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
