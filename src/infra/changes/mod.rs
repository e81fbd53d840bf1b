//! Cache invalidation: every node drops a cached value as soon as a change to it is committed. A notification
//! names changed pixels and accounts, and reaches other nodes through PostgreSQL's `NOTIFY`. A cache stores
//! the [`Version`] from before its read, and reads again after a later notification. Transactions without such
//! changes send no notification, because PostgreSQL serialises commits with a `NOTIFY`.

mod invalidation;
mod topic;
mod versions;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use sqlx::postgres::PgListener;
use sqlx::{PgPool, Postgres, Transaction, query};

pub use invalidation::Invalidation;
pub use topic::Topic;
pub use versions::{Slot, Version};

use super::postgres::Database;
use crate::error::Result;
use versions::Versions;

const CHANNEL: &str = "assent_changes";
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Changes {
    versions: Arc<Versions>,
    listening: Gauge,
}

impl Changes {
    pub fn new(listening: Gauge) -> Self {
        Self { versions: Arc::default(), listening }
    }

    /// The current version. Call this before reading a value that is to be cached.
    pub fn version(&self) -> Version {
        self.versions.current()
    }

    /// The slot that records changes of the topic; it is stored with the cached value.
    pub fn slot(&self, topic: Topic<'_>) -> Slot {
        self.versions.slot(topic)
    }

    /// Whether a value read at `version` is still current: none of its topics has changed since.
    pub fn is_current(&self, version: Version, slots: impl IntoIterator<Item = Slot>) -> bool {
        self.versions.is_current(version, slots)
    }

    /// Commits a transaction, and notifies all nodes of the pixels and accounts that it changed.
    pub async fn commit(
        &self,
        mut transaction: Transaction<'_, Postgres>,
        invalidation: &Invalidation,
    ) -> Result<()> {
        if !invalidation.is_empty() {
            query!(
                "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
                CHANNEL,
                &invalidation.payloads(),
            )
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        self.invalidate(invalidation);
        Ok(())
    }

    pub(super) fn invalidate(&self, invalidation: &Invalidation) {
        self.versions.invalidate(invalidation);
    }

    /// Listens for changes by other nodes until the pool is closed. While the connection is down, no cached
    /// value counts as current.
    pub async fn listen(self, database: Database) {
        loop {
            self.versions.mark_disconnected();
            self.listening.set(0);
            let generation = database.server.generation();
            let heard = tokio::select! {
                heard = self.listen_once(&database.pool) => heard,
                () = database.server.has_left(generation) => Ok(()),
            };
            // The address leads to another server now, so the listener reconnects without a pause.
            if database.server.generation() != generation && !database.pool.is_closed() {
                continue;
            }
            match heard {
                Ok(()) => {}
                Err(_) if database.pool.is_closed() => return,
                Err(error) => tracing::warn!(%error, "not listening for changes, trying again"),
            }
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }

    async fn listen_once(&self, pool: &PgPool) -> std::result::Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        self.listening.set(1);
        self.versions.mark_reconnected();
        while let Some(heard) = listener.try_recv().await? {
            match Invalidation::parse(heard.payload()) {
                Some(invalidation) => self.invalidate(&invalidation),
                None => self.versions.invalidate_all(),
            }
        }
        Ok(())
    }
}
