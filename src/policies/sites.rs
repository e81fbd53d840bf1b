//! What visitors of a pixel are served, kept in memory for a few seconds at most (`infra::cache`).
//!
//! Ended by news (`infra::changes`) on every node within about 100 ms, or by its age when news is
//! lost.

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
use crate::pixels::store::PublicPixel;
use crate::pixels::usage::KnownUse;
use crate::types::host::PageUrl;
use crate::types::ids::PixelRef;

/// How long a node may serve what has changed, should the news of it not arrive.
const LIFE: Duration = Duration::from_secs(4);
/// Bytes that all entries may take; the least recently used go first. Enough for about two thousand sites that
/// have visitors within the time that an entry lives.
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
    pub known_use: KnownUse,
    /// Differs when what visitors are served differs.
    pub fingerprint: u64,
    /// About what the texts of policy and appearance take in memory.
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
        // A stored appearance that no longer reads is ours to mend, not the visitor's to see.
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

    /// Whether a page is one of the pixel's site.
    pub fn admits(&self, page: &PageUrl, infra: &Infra) -> bool {
        page.is_on(&self.pixel.domain)
            || self.is_demo() && page.host() == infra.base_host().as_str()
    }

    /// As [`Site::admits`], for a bare host.
    pub fn admits_host(&self, host: &str, infra: &Infra) -> bool {
        self.pixel.domain.covers(host) || self.is_demo() && host == infra.base_host()
    }

    /// Pixels of the demo account can also be tried on the service's own preview page, whatever
    /// site they were made for. Nobody else's can.
    fn is_demo(&self) -> bool {
        self.pixel.account_id.as_str() == DEMO_ACCOUNT
    }
}

/// Finds the site of a canonical pixel id or an alias. Unknown names are remembered too, so that
/// asking for them again and again does not reach the database.
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

    /// `None` for a name that no pixel has.
    pub async fn find(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        self.sites.find(name, || self.read(name)).await
    }

    async fn read(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        let mut connection = self.pool.acquire().await?;
        let stored = store::find_site(&mut connection, name).await?;
        Ok(stored.map(Site::new).transpose()?.map(Arc::new))
    }

    /// The site, if the node has it in memory, perhaps as it was a moment ago.
    pub async fn find_known(&self, name: &PixelRef) -> Option<Arc<Site>> {
        self.sites.find_known(name).await.flatten()
    }

    /// As [`SiteCache::find`], for the text of a request.
    pub async fn find_text(&self, name: &str) -> Result<Option<Arc<Site>>> {
        match PixelRef::parse(name) {
            Some(name) => self.find(&name).await,
            None => Ok(None),
        }
    }
}

/// About what an entry takes in memory.
fn bytes(site: &Option<Arc<Site>>) -> u32 {
    let site = site.as_ref().map_or(0, |site| SITE_BYTES + site.text_bytes);
    u32::try_from(ENTRY_BYTES + site).unwrap_or(u32::MAX)
}

/// The name, and of a site the canonical id and the owner as well.
fn topics<'a>(name: &'a PixelRef, site: &'a Option<Arc<Site>>) -> [Topic<'a>; 3] {
    let name = Topic::Pixel(name.as_str());
    let Some(Site { pixel, .. }) = site.as_deref() else { return [name; 3] };
    [name, Topic::Pixel(pixel.pixel_id.as_str()), Topic::Account(pixel.account_id.as_str())]
}
