//! The builds of the consent tag that nodes have served: a tag's claim about its build is accepted only if
//! there is such a build.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgPool;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::consent_receipt::notice_snapshot::{Build, Digest};
use crate::error::Result;
use crate::infra::Infra;
use crate::proof::format::entry::Kind;
use crate::proof::publications;
use crate::receipts::store::builds;

/// Minimum interval between reads of the table for unknown names.
const PAUSE: TimeDelta = TimeDelta::seconds(1);
/// Maximum time for which a choice waits for a read of the table.
const TIMEOUT: Duration = Duration::from_millis(500);

/// A cache of the builds that any node has served. Builds are only added, so entries never become stale.
#[derive(Clone)]
pub struct ScriptBuilds {
    infra: Infra,
    own: Build,
    known: Arc<RwLock<HashMap<String, Digest>>>,
    read_at: Arc<Mutex<Option<DateTime<Utc>>>>,
}

impl ScriptBuilds {
    pub fn new(infra: Infra, own: Build) -> Self {
        let known = HashMap::from([(own.name.to_owned(), own.sha256)]);
        Self { infra, own, known: Arc::new(RwLock::new(known)), read_at: Arc::default() }
    }

    /// Stores the build of this node for the other nodes; called before the node serves it.
    pub async fn announce(&self) -> Result<()> {
        let mut transaction = self.infra.pool.begin().await?;
        builds::insert_build(&mut transaction, &self.own).await?;
        let (sha256, now) = (&self.own.sha256, self.infra.clock.now());
        publications::queue(&mut transaction, Kind::Script, sha256, now).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Queues for the log the builds that were announced by nodes of a version without it.
    pub async fn queue_missed(pool: &PgPool) -> Result<()> {
        let mut connection = pool.acquire().await?;
        let missed = builds::list_unqueued_builds(&mut connection).await?;
        publications::queue_earlier(&mut connection, Kind::Script, &missed).await
    }

    /// The SHA-256 of the build with this name; `None` if no node has served it, or if it cannot be found
    /// quickly.
    pub async fn find(&self, name: &str) -> Option<Digest> {
        if let Some(digest) = self.known(name) {
            return Some(digest);
        }
        // Boxed to keep the future small: nearly all tags are of this node's build.
        match Box::pin(timeout(TIMEOUT, self.read_unless_read(name))).await {
            Ok(Ok(())) => self.known(name),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the builds of the tag could not be read");
                None
            }
            Err(_) => None,
        }
    }

    fn known(&self, name: &str) -> Option<Digest> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// Reads the table, unless another task has just done so.
    async fn read_unless_read(&self, name: &str) -> Result<()> {
        let mut read_at = self.read_at.lock().await;
        let now = self.infra.clock.now();
        let is_fresh = read_at.is_some_and(|read_at| (now - read_at).abs() < PAUSE);
        if is_fresh || self.known(name).is_some() {
            return Ok(());
        }
        *read_at = Some(now);
        let mut connection = self.infra.pool.acquire().await?;
        let found = builds::list_builds(&mut connection).await?;
        self.known.write().unwrap_or_else(PoisonError::into_inner).extend(found);
        Ok(())
    }
}
