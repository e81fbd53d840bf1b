//! The builds of the consent tag that nodes have served: what a tag says of itself is believed only
//! when there is such a build.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::store::builds;
use super::told::{Build, Digest};
use crate::error::Result;
use crate::infra::Infra;
use crate::proof::format::entry::Kind;
use crate::proof::publications;

/// Names that nobody knows do not make the table be read more often than this.
const PAUSE: TimeDelta = TimeDelta::seconds(1);
/// A choice waits for so long at most.
const PATIENCE: Duration = Duration::from_millis(500);

/// All builds that were served by any node, as far as they are known here. Builds are only ever
/// added, so what is known stays true.
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

    /// Tells the other nodes which build this one serves; before it does.
    pub async fn announce(&self) -> Result<()> {
        let mut transaction = self.infra.pool.begin().await?;
        builds::insert_build(&mut transaction, &self.own).await?;
        let (sha256, now) = (&self.own.sha256, self.infra.clock.now());
        publications::note(&mut transaction, Kind::Script, sha256, now).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Notes the builds that a node announced which knew no log.
    pub async fn note_missed(infra: &Infra) -> Result<()> {
        let mut connection = infra.pool.acquire().await?;
        let missed = builds::list_unnoted_builds(&mut connection).await?;
        publications::note_earlier(&mut connection, Kind::Script, &missed).await
    }

    /// The SHA-256 of the build with this name; `None` when no node has served it, or when that
    /// cannot be found out at once.
    pub async fn find(&self, name: &str) -> Option<Digest> {
        if let Some(digest) = self.known(name) {
            return Some(digest);
        }
        // Boxed: nearly all tags are of this node's build.
        match Box::pin(timeout(PATIENCE, self.read_unless_read(name))).await {
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

    /// Reads the table, unless somebody has just done that.
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
