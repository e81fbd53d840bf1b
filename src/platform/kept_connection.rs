//! A connection that one task keeps for itself.
//!
//! A pool asks twice whether a connection still lives, before it is used and after; whoever runs
//! one statement after another does without both round trips.

use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Connection, PgConnection, PgPool, Postgres};

use super::postgres::TRUSTED;
use crate::error::{Error, Result};

/// For so long a connection that answers is looked for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection of the pool, taken when it is needed and held until it fails.
pub struct KeptConnection {
    pool: PgPool,
    connection: Option<PoolConnection<Postgres>>,
    used_at: Instant,
}

impl KeptConnection {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, connection: None, used_at: Instant::now() }
    }

    /// The connection; another one when it has died while it was idle.
    pub async fn get(&mut self) -> Result<&mut PgConnection> {
        let alive = match self.connection.take() {
            Some(kept) if self.used_at.elapsed() < TRUSTED => Some(kept),
            Some(mut kept) => kept.ping().await.is_ok().then_some(kept),
            None => None,
        };
        let connection = match alive {
            Some(connection) => connection,
            None => tokio::time::timeout(PATIENCE, self.acquire())
                .await
                .map_err(|_| Error::DatabaseUnavailable)??,
        };
        self.used_at = Instant::now();
        Ok(self.connection.insert(connection))
    }

    /// A connection that answers. The pool trusts what was used a moment ago, but whoever has just
    /// lost a connection had better not take the next dead one.
    async fn acquire(&self) -> Result<PoolConnection<Postgres>> {
        loop {
            let mut connection = self.pool.acquire().await?;
            if connection.ping().await.is_ok() {
                return Ok(connection);
            }
            // Given back it would be handed out again.
            drop(connection.detach());
        }
    }

    /// Gives the connection back after a failure; the pool finds out whether it can be used again.
    pub fn give_up(&mut self) {
        self.connection = None;
    }
}
