//! A cache of the sites that visitors are served (`infra::cache`).
//!
//! Every node invalidates an entry within about 100 ms (`infra::changes`), or after its lifetime
//! when the notification is lost.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;

use super::appearance::Appearance;
use super::policy::Policy;
use super::store::{self, StoredSite};
use crate::accounts::account::Status;
use crate::accounts::demo::DEMO_ACCOUNT;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::cache::{Bounds, FreshCache};
use crate::infra::changes::Topic;
use crate::pixels::PublicPixel;
use crate::pixels::usage::KnownUse;
use crate::types::host::PageUrl;
use crate::types::ids::PixelRef;

/// The maximum age of an entry whose invalidation was lost.
const LIFE: Duration = Duration::from_secs(4);
/// The memory of all entries; the least recently used are evicted. Enough for about two thousand
/// sites with visitors within the lifetime of an entry.
const MAX_BYTES: u64 = 4 << 20;
/// The overhead of an entry, and of a site without its texts, each a little more than measured.
const ENTRY_BYTES: usize = 400;
const SITE_BYTES: usize = 1_200;

#[derive(Debug)]
pub struct Site {
    pub pixel: PublicPixel,
    pub policy: Option<Policy>,
    pub appearance: Option<Appearance>,
    pub known_use: KnownUse,
    /// Differs when what visitors are served differs.
    pub fingerprint: u64,
    text_bytes: usize,
}

impl Site {
    fn new(stored: StoredSite) -> Result<Self> {
        let StoredSite { pixel, policy, appearance } = stored;
        let mut hasher = DefaultHasher::new();
        policy.as_ref().map(|policy| (policy.version, &policy.hash)).hash(&mut hasher);
        let appearance_text = appearance.as_ref().map(ToString::to_string);
        appearance_text.hash(&mut hasher);
        let policy_text =
            policy.as_ref().and_then(|policy| serde_json::to_string(&policy.text).ok());
        let text_bytes =
            [&appearance_text, &policy_text].into_iter().flatten().map(|text| 2 * text.len());
        let text_bytes = text_bytes.sum();
        // An unreadable stored appearance is an internal error that visitors must not see.
        let appearance =
            appearance.map(serde_json::from_value).transpose().map_err(Error::internal)?;
        let known_use = KnownUse::new(pixel.is_confirmed);
        let fingerprint = hasher.finish();
        Ok(Self { pixel, policy, appearance, known_use, fingerprint, text_bytes })
    }

    /// The current policy, when the popup is on and the owner is not suspended.
    pub fn policy_in_force(&self) -> Option<&Policy> {
        let is_served = self.pixel.consent_enabled && self.pixel.owner_status != Status::Suspended;
        self.policy.as_ref().filter(|_| is_served)
    }

    pub fn admits(&self, page: &PageUrl, infra: &Infra) -> bool {
        page.is_on(&self.pixel.domain)
            || self.is_demo() && page.host() == infra.base_host().as_str()
    }

    /// As [`Site::admits`], for a bare host.
    pub fn admits_host(&self, host: &str, infra: &Infra) -> bool {
        self.pixel.domain.covers(host) || self.is_demo() && host == infra.base_host()
    }

    /// Pixels of the demo account can also be tried on the service's own preview page.
    fn is_demo(&self) -> bool {
        self.pixel.account_id.as_str() == DEMO_ACCOUNT
    }
}

/// Finds sites by pixel id or alias. Caches unknown names too, so that they do not reach the database.
#[derive(Clone)]
pub struct SiteCache {
    pool: PgPool,
    sites: FreshCache<PixelRef, Option<Arc<Site>>, 3>,
}

impl SiteCache {
    pub fn new(infra: &Infra) -> Self {
        let bounds = Bounds { max_weight: MAX_BYTES, weigh: bytes, life: Some(LIFE) };
        let (changes, metrics) = (infra.changes.clone(), infra.metrics.sites.clone());
        Self { pool: infra.pool.clone(), sites: FreshCache::new(changes, metrics, bounds, topics) }
    }

    /// `None` for an unknown name.
    pub async fn find(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        self.sites.find(name, || self.read(name)).await
    }

    async fn read(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        let mut connection = self.pool.acquire().await?;
        let stored = store::find_site(&mut connection, name).await?;
        Ok(stored.map(Site::new).transpose()?.map(Arc::new))
    }

    /// The cached site, possibly outdated.
    pub async fn find_known(&self, name: &PixelRef) -> Option<Arc<Site>> {
        self.sites.find_known(name).await.flatten()
    }

    pub async fn find_text(&self, name: &str) -> Result<Option<Arc<Site>>> {
        match PixelRef::parse(name) {
            Some(name) => self.find(&name).await,
            None => Ok(None),
        }
    }
}

fn bytes(site: &Option<Arc<Site>>) -> u32 {
    let site = site.as_ref().map_or(0, |site| SITE_BYTES + site.text_bytes);
    u32::try_from(ENTRY_BYTES + site).unwrap_or(u32::MAX)
}

fn topics<'a>(name: &'a PixelRef, site: &'a Option<Arc<Site>>) -> [Topic<'a>; 3] {
    let name = Topic::Pixel(name.as_str());
    let Some(Site { pixel, .. }) = site.as_deref() else { return [name; 3] };
    [name, Topic::Pixel(pixel.pixel_id.as_str()), Topic::Account(pixel.account_id.as_str())]
}
