//! A connection reserved for one task. A pool tests a connection before and after its use; a task
//! that runs many statements saves both round trips. The connection is outside the pool, so that it is
//! available while all pooled connections are busy.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::{ConnectOptions, PgConnection, raw_sql};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Database;
use super::server_watch::{ServerReport, ServerWatch};
use super::settings::set_up;
use super::timeouts::{PING_TIMEOUT, TRUSTED};
use crate::error::{Error, Result};

/// Timeout of work on a kept connection. After a timeout the connection is closed.
pub const TIMEOUT: Duration = Duration::from_secs(4);
/// Interval of checking that the server still accepts writes, and of reading its clock.
const VERIFIED_FOR: Duration = Duration::from_secs(5);

pub struct DedicatedConnection {
    server: Arc<ServerWatch>,
    plans: Plans,
    live: Option<LiveConnection>,
}

#[derive(Clone, Copy, PartialEq)]
enum Plans {
    /// One plan for all values, because planning would take a third of the time of running the statement.
    Generic,
    /// On a cluster, a new plan for each execution, because the pixel determines the machine.
    ByPixel,
}

/// An open connection, and the latest report of its server.
pub struct LiveConnection {
    pub connection: PgConnection,
    pub clock: DatabaseClock,
    /// Whether tables may be distributed (docs/scaling.md). Fast statements then name pixels of one shard only.
    pub is_distributed: bool,
    generation: u64,
    used_at: Instant,
}

/// An estimate of the database's clock, for limits that the database itself enforces, such as "not
/// after this moment". All other times come from the program's clock.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseClock {
    said: DateTime<Utc>,
    heard_at: Instant,
}

impl DatabaseClock {
    fn of(report: &ServerReport) -> Self {
        Self { said: report.now, heard_at: Instant::now() }
    }

    /// The time of the database's clock at a moment. May be too early by the network latency, but never too late.
    pub fn at(self, moment: Instant) -> DateTime<Utc> {
        match moment.checked_duration_since(self.heard_at) {
            Some(after) => self.said + after,
            None => self.said - (self.heard_at - moment),
        }
    }
}

impl LiveConnection {
    async fn open(server: &ServerWatch, plans: Plans) -> Result<Self> {
        let opening = async {
            let (generation, begun) = (server.generation(), Instant::now());
            let mut connection = server.options().connect().await?;
            set_up(&mut connection, TIMEOUT).await?;
            let report = server.admit(&mut connection).await?;
            server.mark_confirmed(begun);
            if plans == Plans::Generic || !report.is_distributed {
                let generic = "SET plan_cache_mode = force_generic_plan";
                raw_sql(generic).execute(&mut connection).await?;
            }
            let (clock, is_distributed) = (DatabaseClock::of(&report), report.is_distributed);
            Ok::<_, Error>(Self {
                connection,
                clock,
                is_distributed,
                generation,
                used_at: Instant::now(),
            })
        };
        timeout(PING_TIMEOUT, opening).await.unwrap_or_else(|_| {
            tracing::warn!("the database has not opened a connection in time");
            Err(Error::DatabaseUnavailable)
        })
    }

    fn is_trusted(&self) -> bool {
        self.used_at.elapsed() < TRUSTED && self.clock.heard_at.elapsed() < VERIFIED_FOR
    }

    /// Verifies the server again; `false` if its tables have become distributed, or are no longer distributed.
    async fn refresh(&mut self, server: &ServerWatch) -> Result<bool> {
        let report = server.admit(&mut self.connection).await?;
        self.clock = DatabaseClock::of(&report);
        Ok(report.is_distributed == self.is_distributed)
    }
}

impl DedicatedConnection {
    /// A connection outside the pool of `database`. On a cluster it is for the coordinator's own tables.
    pub fn new(database: &Database) -> Self {
        Self { server: Arc::clone(&database.server), plans: Plans::Generic, live: None }
    }

    /// Like [`DedicatedConnection::new`], but also for distributed tables.
    pub fn for_shards(database: &Database) -> Self {
        Self { plans: Plans::ByPixel, ..Self::new(database) }
    }

    /// Runs work with a timeout, as long as the address leads to the same server. After an error the
    /// connection is closed, so that PostgreSQL rolls back an interrupted transaction. A statement
    /// outside a transaction may still have been executed.
    pub async fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut LiveConnection) -> Result<T>,
    ) -> Result<T> {
        let server = Arc::clone(&self.server);
        let working = async {
            let live = self.get().await?;
            let generation = live.generation;
            tokio::select! {
                // Polled first, so that a late response of a former server is never used.
                biased;
                () = server.has_left(generation) => Err(Error::DatabaseUnavailable),
                done = work(live) => done,
            }
        };
        let done = timeout(TIMEOUT, working).await;
        let done = done.unwrap_or_else(|_| {
            tracing::warn!("the database has not answered in time, the connection is given up");
            Err(Error::DatabaseUnavailable)
        });
        if done.is_err() {
            self.give_up();
        }
        done
    }

    pub async fn get(&mut self) -> Result<&mut LiveConnection> {
        let kept = self.live.take();
        let kept = kept.filter(|live| live.generation == self.server.generation());
        let mut live = match kept {
            Some(live) if live.is_trusted() => live,
            Some(live) => self.checked(live).await?,
            None => self.open().await?,
        };
        self.server.require_confirmed().await?;
        live.used_at = Instant::now();
        Ok(self.live.insert(live))
    }

    /// Opens a connection. Tries again if the first attempt showed that the address leads to another server.
    async fn open(&self) -> Result<LiveConnection> {
        let generation = self.server.generation();
        let opened = LiveConnection::open(&self.server, self.plans).await;
        if self.server.generation() == generation {
            return opened;
        }
        LiveConnection::open(&self.server, self.plans).await
    }

    async fn checked(&self, mut live: LiveConnection) -> Result<LiveConnection> {
        match live.refresh(&self.server).await {
            Ok(true) => Ok(live),
            Ok(false) | Err(_) => self.open().await,
        }
    }

    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Whether tables may be distributed, according to the connection.
    pub async fn is_distributed(&mut self) -> Result<bool> {
        self.run(async |live| Ok(live.is_distributed)).await
    }

    pub async fn probe(&mut self) -> Result<()> {
        let live = self.live.take();
        let live = live.filter(|live| live.generation == self.server.generation());
        let live = match live {
            Some(live) => self.checked(live).await?,
            None => self.open().await?,
        };
        self.live = Some(live);
        Ok(())
    }

    pub async fn answer_probes(&mut self, probes: Vec<oneshot::Sender<Result<()>>>) {
        let found = self.probe().await;
        for reply in probes {
            let _ = reply.send(found.as_ref().map_err(Error::for_another).copied());
        }
    }

    pub fn close(&mut self) {
        self.live = None;
    }

    /// Closes the connection after a failure, and requests a check of the address.
    fn give_up(&mut self) {
        self.live = None;
        self.server.doubt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_databases_clock_is_known_for_moments_before_and_after_it_was_read() {
        let heard_at = Instant::now() + Duration::from_secs(60);
        let said = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let clock = DatabaseClock { said, heard_at };
        assert_eq!(clock.at(heard_at), said);
        assert_eq!(clock.at(heard_at + Duration::from_secs(3)), said + Duration::from_secs(3));
        assert_eq!(clock.at(heard_at - Duration::from_secs(3)), said - Duration::from_secs(3));
    }
}
