//! What visitors of a pixel are served, kept in memory for a few seconds at most.
//!
//! Dropped as soon as any node commits a change (`platform::changes`), and after [`LIFE`] by
//! itself should that news not arrive. Unknown names are remembered too, so that asking for them
//! again and again does not reach the database.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use moka::future::Cache;
use moka::policy::EvictionPolicy;
use serde_json::Value;
use sqlx::PgPool;
use tokio::time::timeout;

use super::appearance::Appearance;
use super::policy::Policy;
use super::store;
use crate::accounts::{DEMO_ACCOUNT, Status};
use crate::error::{Error, Result};
use crate::ids::PixelRef;
use crate::pixels::host::PageUrl;
use crate::pixels::store::PublicPixel;
use crate::platform::Platform;
use crate::platform::changes::Changes;
use crate::platform::metrics::CacheMetrics;

/// How long a node may serve what has changed, should the news of it not arrive.
pub const LIFE: Duration = Duration::from_secs(4);
/// How long a reading may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that all entries may take; the least recently used go first. Enough for more sites than
/// the table of scripts holds at its default size.
const MAX_BYTES: u64 = 4 << 20;
/// What an entry takes without a site, and a site without its texts, each a little more than found.
const ENTRY_BYTES: usize = 400;
const SITE_BYTES: usize = 1_200;

/// A pixel with the policy that its visitors are asked to accept.
#[derive(Debug)]
pub struct Site {
    pub pixel: PublicPixel,
    pub policy: Option<Policy>,
    pub appearance: Option<Appearance>,
    /// Differs when what visitors are served differs.
    pub fingerprint: u64,
    /// About what the texts of policy and look take in memory.
    text_bytes: usize,
}

impl Site {
    pub(super) fn new(
        pixel: PublicPixel,
        policy: Option<Policy>,
        look: Option<Value>,
    ) -> Result<Self> {
        let mut hasher = DefaultHasher::new();
        policy.as_ref().map(|policy| (policy.version, &policy.hash)).hash(&mut hasher);
        let look_text = look.as_ref().map(Value::to_string);
        look_text.hash(&mut hasher);
        let policy_text =
            policy.as_ref().and_then(|policy| serde_json::to_string(&policy.text).ok());
        let text_bytes =
            [&look_text, &policy_text].into_iter().flatten().map(|text| 2 * text.len());
        let text_bytes = text_bytes.sum();
        // A stored look that no longer reads is ours to mend, not the visitor's to see.
        let appearance = look.map(serde_json::from_value).transpose().map_err(Error::internal)?;
        Ok(Self { pixel, policy, appearance, fingerprint: hasher.finish(), text_bytes })
    }

    /// The current policy, when the popup is on and the owner is not suspended.
    pub fn policy_in_force(&self) -> Option<&Policy> {
        let is_served = self.pixel.consent_enabled && self.pixel.owner_status != Status::Suspended;
        self.policy.as_ref().filter(|_| is_served)
    }

    /// Whether a page is one of the pixel's site.
    pub fn admits(&self, page: &PageUrl, platform: &Platform) -> bool {
        page.is_on(&self.pixel.domain)
            || self.is_demo() && page.host() == platform.base_host().as_str()
    }

    /// As [`Site::admits`], for a bare host.
    pub fn admits_host(&self, host: &str, platform: &Platform) -> bool {
        self.pixel.domain.covers(host) || self.is_demo() && host == platform.base_host()
    }

    /// Pixels of the demo account can also be tried on the service's own preview page, whatever
    /// site they were made for. Nobody else's can.
    fn is_demo(&self) -> bool {
        self.pixel.account_id.as_str() == DEMO_ACCOUNT
    }
}

#[derive(Clone)]
struct Entry {
    generation: u64,
    site: Option<Arc<Site>>,
}

impl Entry {
    fn bytes(&self) -> u32 {
        let site = self.site.as_ref().map_or(0, |site| SITE_BYTES + site.text_bytes);
        u32::try_from(ENTRY_BYTES + site).unwrap_or(u32::MAX)
    }
}

/// Finds the site of a canonical pixel id or an alias.
#[derive(Clone)]
pub struct Directory {
    pool: PgPool,
    changes: Changes,
    entries: Cache<PixelRef, Entry, RandomState>,
    metrics: CacheMetrics,
}

impl Directory {
    pub fn new(pool: PgPool, changes: Changes, metrics: CacheMetrics) -> Self {
        let entries = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, entry: &Entry| entry.bytes())
            .eviction_policy(EvictionPolicy::lru())
            .time_to_live(LIFE)
            .build_with_hasher(RandomState::default());
        Self { pool, changes, entries, metrics }
    }

    /// `None` for a name that no pixel has.
    pub async fn find(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        let generation = self.changes.generation();
        let entry = self.entries.get(name).await.filter(|entry| entry.generation == generation);
        self.metrics.count(entry.is_some());
        if let Some(entry) = entry {
            return Ok(entry.site);
        }
        // Boxed, as everything is that hot routes seldom do: Rocket moves the future of a route
        // once per request, and this part of it would make up most of its size.
        Box::pin(self.read_once(name, generation)).await
    }

    /// Reads a site for all who miss it at the same time: a busy one's entry ends with hundreds of
    /// requests under way. Who asked after a change does not take what was read before it, but
    /// waits for the next reading, which is late enough for everybody who waits by then.
    async fn read_once(&self, name: &PixelRef, generation: u64) -> Result<Option<Arc<Site>>> {
        loop {
            let known = self.entries.get(name).await;
            if known.is_some_and(|entry| entry.generation < generation) {
                self.entries.invalidate(name).await;
            }
            let reading = self.entries.try_get_with_by_ref(name, self.read(name));
            let entry = reading.await.map_err(|error| error.for_another())?;
            if entry.generation >= generation {
                return Ok(entry.site);
            }
        }
    }

    async fn read(&self, name: &PixelRef) -> Result<Entry> {
        let generation = self.changes.generation();
        let reading = async {
            let mut connection = self.pool.acquire().await?;
            store::find_site(&mut connection, name).await
        };
        // All who want the site wait for this one connection, so it may not take for ever.
        let site = timeout(PATIENCE, reading).await.map_err(|_| Error::DatabaseUnavailable)??;
        Ok(Entry { generation, site: site.map(Arc::new) })
    }

    /// As [`Directory::find`], for the text of a request.
    pub async fn find_text(&self, name: &str) -> Result<Option<Arc<Site>>> {
        match PixelRef::parse(name) {
            Some(name) => self.find(&name).await,
            None => Ok(None),
        }
    }
}
