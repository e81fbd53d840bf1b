//! News of changes: what a node keeps in memory is dropped on every node as soon as a change of
//! it commits, and nothing else is.
//!
//! News names the pixels and accounts that it is about. It takes effect here at once, and on the
//! other nodes through PostgreSQL's `NOTIFY`. Whoever caches remembers the [`Moment`] from before
//! it read, and reads again when there has been news since. A transaction that changes nothing
//! that is served tells nobody: every commit with a `NOTIFY` waits for the one before it.

mod news;
mod timeline;
mod topic;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use sqlx::postgres::PgListener;
use sqlx::{PgPool, Postgres, Transaction, query};

pub use news::News;
pub use timeline::{Moment, Slot};
pub use topic::Topic;

use super::postgres::Database;
use crate::error::Result;
use timeline::Timeline;

const CHANNEL: &str = "assent_changes";
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// What has changed of what visitors are served, and when.
#[derive(Clone, Debug)]
pub struct Changes {
    timeline: Arc<Timeline>,
    /// Whether this node hears of the others' changes.
    listening: Gauge,
}

impl Changes {
    pub fn new(listening: Gauge) -> Self {
        Self { timeline: Arc::default(), listening }
    }

    /// The present moment; ask before reading what is to be cached.
    pub fn now(&self) -> Moment {
        self.timeline.now()
    }

    /// Where news of the topic is noted, to be kept beside what was read.
    pub fn slot(&self, topic: Topic<'_>) -> Slot {
        self.timeline.slot(topic)
    }

    /// Whether what was read at `moment` still holds: there has been no news of it since.
    pub fn is_current(&self, moment: Moment, slots: impl IntoIterator<Item = Slot>) -> bool {
        self.timeline.is_current(moment, slots)
    }

    /// Commits a transaction, and tells every node what it changes of what visitors are served.
    pub async fn commit(
        &self,
        mut transaction: Transaction<'_, Postgres>,
        news: &News,
    ) -> Result<()> {
        if !news.is_empty() {
            query!(
                "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
                CHANNEL,
                &news.payloads(),
            )
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        self.note(news);
        Ok(())
    }

    /// Drops what this node keeps of what has changed.
    pub(super) fn note(&self, news: &News) {
        self.timeline.note(news);
    }

    /// Listens for changes made by other nodes until the pool is closed. While the connection is down,
    /// nothing that was cached counts as current.
    pub async fn listen(self, database: Database) {
        loop {
            self.timeline.lose_touch();
            self.listening.set(0);
            let generation = database.server.generation();
            let heard = tokio::select! {
                heard = self.listen_once(&database.pool) => heard,
                () = database.server.has_left(generation) => Ok(()),
            };
            // The address leads to another server, so it reconnects without a pause.
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

    /// Returns when the connection was lost.
    async fn listen_once(&self, pool: &PgPool) -> std::result::Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        self.listening.set(1);
        self.timeline.regain_touch();
        while let Some(heard) = listener.try_recv().await? {
            match News::parse(heard.payload()) {
                Some(news) => self.note(&news),
                None => self.timeline.note_everything(),
            }
        }
        Ok(())
    }
}
