//! News of changes: what a node keeps in memory is dropped on every node as soon as a change of
//! it commits.
//!
//! A change bumps a generation number, here at once and on the other nodes through PostgreSQL's
//! `NOTIFY`. Whoever caches remembers the generation from before it read, and reads again when
//! the number has moved on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use sqlx::postgres::PgListener;
use sqlx::{PgPool, Postgres, Transaction, query};

use crate::error::Result;

const CHANNEL: &str = "assent_changes";
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// The generation of what visitors are served.
#[derive(Clone, Debug)]
pub struct Changes {
    generation: Arc<AtomicU64>,
    /// Whether this node hears of the others' changes.
    listening: Gauge,
}

impl Changes {
    pub fn new(listening: Gauge) -> Self {
        Self { generation: Arc::default(), listening }
    }

    /// The present generation; ask before reading what is to be cached.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn bump(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Commits a change of what visitors are served, and tells every node.
    pub async fn commit(&self, mut transaction: Transaction<'_, Postgres>) -> Result<()> {
        query!("SELECT pg_notify($1, '')", CHANNEL).execute(&mut *transaction).await?;
        transaction.commit().await?;
        self.bump();
        Ok(())
    }

    /// Listens to the other nodes until the pool is closed.
    pub async fn listen(self, pool: PgPool) {
        loop {
            self.listening.set(0);
            // What was missed until now is unknown.
            self.bump();
            match self.listen_once(&pool).await {
                Ok(()) => {}
                Err(_) if pool.is_closed() => return,
                Err(error) => tracing::warn!(%error, "not listening for changes, trying again"),
            }
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }

    /// Returns when the connection was lost.
    async fn listen_once(&self, pool: &PgPool) -> std::result::Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        self.listening.set(1);
        self.bump();
        while listener.try_recv().await?.is_some() {
            self.bump();
        }
        Ok(())
    }
}
