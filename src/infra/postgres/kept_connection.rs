//! A connection that one task keeps for itself.
//!
//! A pool asks twice whether a connection still lives, before it is used and after; whoever runs
//! one statement after another does without both round trips. It is made beside the pool, so that
//! visitors are served while everybody else's connections are busy.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, PgConnection, PgPool, query, raw_sql};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{PING_TIMEOUT, TRUSTED, set_up};
use crate::error::{Error, Result};

/// What is done on a kept connection is given up after so long, together with the connection.
pub const PATIENCE: Duration = Duration::from_secs(4);
/// The database's clock is looked at again after so long.
const CLOCK_TRUSTED: Duration = Duration::from_secs(30);

/// A connection, made when it is needed and held until it fails.
pub struct KeptConnection {
    options: PgConnectOptions,
    plans: Plans,
    live: Option<LiveConnection>,
}

/// How statements are planned.
#[derive(Clone, Copy, PartialEq)]
enum Plans {
    /// Once for all values. Here the same few statements run all the time, with as many rows as there
    /// happen to be: to plan them anew for each takes a third as long as to run them.
    Generic,
    /// Where tables are spread, anew each time: the pixel decides where a statement goes.
    ByPixel,
}

/// A connection that answered a moment ago, and what its database said of itself.
pub struct LiveConnection {
    pub connection: PgConnection,
    pub clock: DatabaseClock,
    /// Whether the tables that grow with visitors may lie on several machines (docs/scaling.md). Then a
    /// statement that is to be quick names pixels of one part of them, and with it the machine.
    pub is_spread: bool,
    used_at: Instant,
}

/// The time at the database, as far as it is known here.
///
/// It is for limits that the database has to keep by itself, such as "not after this moment". What
/// happens when in the service is the program's own clock's business.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseClock {
    said: DateTime<Utc>,
    heard_at: Instant,
}

/// What a database says of itself: its time, and whether tables may be spread. The table that it is known
/// by is the one in which Citus keeps which are.
async fn ask(connection: &mut PgConnection) -> Result<(DatabaseClock, bool)> {
    let question = query!(
        "SELECT clock_timestamp() AS \"now!\",
             to_regclass('pg_dist_partition') IS NOT NULL AS \"is_spread!\""
    )
    .fetch_one(connection);
    let said = timeout(PING_TIMEOUT, question).await.map_err(|_| Error::DatabaseUnavailable)??;
    Ok((DatabaseClock { said: said.now, heard_at: Instant::now() }, said.is_spread))
}

impl DatabaseClock {
    /// What the clock will say at a moment, or earlier by the time that its word was under way;
    /// never later.
    pub fn at(self, moment: Instant) -> DateTime<Utc> {
        match moment.checked_duration_since(self.heard_at) {
            Some(after) => self.said + after,
            None => self.said - (self.heard_at - moment),
        }
    }
}

impl LiveConnection {
    async fn open(options: &PgConnectOptions, plans: Plans) -> Result<Self> {
        let opening = async {
            let mut connection = options.connect().await?;
            set_up(&mut connection, PATIENCE).await?;
            let (clock, is_spread) = ask(&mut connection).await?;
            if plans == Plans::Generic || !is_spread {
                let generic = "SET plan_cache_mode = force_generic_plan";
                raw_sql(generic).execute(&mut connection).await?;
            }
            Ok::<_, Error>(Self { connection, clock, is_spread, used_at: Instant::now() })
        };
        timeout(PING_TIMEOUT, opening).await.map_err(|_| Error::DatabaseUnavailable)?
    }

    fn is_trusted(&self) -> bool {
        self.used_at.elapsed() < TRUSTED && self.clock.heard_at.elapsed() < CLOCK_TRUSTED
    }

    /// Asks again; `false` when a connection of another kind is needed by now.
    async fn refresh(&mut self) -> Result<bool> {
        let (clock, is_spread) = ask(&mut self.connection).await?;
        self.clock = clock;
        Ok(is_spread == self.is_spread)
    }
}

impl KeptConnection {
    /// To the database of `pool`, but none of the pool's. Where tables are spread, it is for what stays in
    /// one place.
    pub fn new(pool: &PgPool) -> Self {
        let options = PgConnectOptions::clone(&pool.connect_options());
        Self { options, plans: Plans::Generic, live: None }
    }

    /// As [`KeptConnection::new`], also for what is spread.
    pub fn for_parts(pool: &PgPool) -> Self {
        Self { plans: Plans::ByPixel, ..Self::new(pool) }
    }

    /// The connection; another one when it has died while it was idle.
    pub async fn get(&mut self) -> Result<&mut LiveConnection> {
        let kept = self.live.take();
        let mut live = match kept {
            Some(live) if live.is_trusted() => live,
            Some(live) => self.checked(live).await?,
            None => LiveConnection::open(&self.options, self.plans).await?,
        };
        live.used_at = Instant::now();
        Ok(self.live.insert(live))
    }

    async fn checked(&self, mut live: LiveConnection) -> Result<LiveConnection> {
        match live.refresh().await {
            Ok(true) => Ok(live),
            Ok(false) | Err(_) => LiveConnection::open(&self.options, self.plans).await,
        }
    }

    /// The connection, if there is one, as it was left.
    pub fn live(&mut self) -> Option<&mut LiveConnection> {
        self.live.as_mut()
    }

    /// As [`KeptConnection::is_spread`], without asking; `false` where there is no connection.
    pub fn was_spread(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.is_spread)
    }

    /// Whether tables may be spread, as the connection knows it.
    pub async fn is_spread(&mut self) -> Result<bool> {
        let known = with_patience(async { Ok(self.get().await?.is_spread) }).await;
        if known.is_err() {
            self.give_up();
        }
        known
    }

    /// Whether the database answers on this connection, or at least on another one.
    pub async fn probe(&mut self) -> Result<()> {
        let live = self.live.take();
        let live = match live {
            Some(live) => self.checked(live).await?,
            None => LiveConnection::open(&self.options, self.plans).await?,
        };
        self.live = Some(live);
        Ok(())
    }

    /// Probes once for all who ask.
    pub async fn answer_probes(&mut self, probes: Vec<oneshot::Sender<Result<()>>>) {
        let found = self.probe().await;
        for reply in probes {
            let _ = reply.send(found.as_ref().map_err(Error::for_another).copied());
        }
    }

    /// Closes the connection after a failure, so that nothing is ever sent on it again.
    pub fn give_up(&mut self) {
        self.live = None;
    }
}

/// Does work on a kept connection for as long as there is patience.
///
/// A transaction that is cut off here is never used again, and PostgreSQL undoes it when the connection
/// ends: so the caller gives the connection up when this is an error. A statement that commits by itself may
/// still have happened.
pub async fn with_patience<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => {
            tracing::warn!("the database has not answered in time, the connection is given up");
            Err(Error::DatabaseUnavailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_databases_clock_is_told_for_moments_before_and_after_it_was_heard() {
        let heard_at = Instant::now() + Duration::from_secs(60);
        let said = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let clock = DatabaseClock { said, heard_at };
        assert_eq!(clock.at(heard_at), said);
        assert_eq!(clock.at(heard_at + Duration::from_secs(3)), said + Duration::from_secs(3));
        assert_eq!(clock.at(heard_at - Duration::from_secs(3)), said - Duration::from_secs(3));
    }
}
