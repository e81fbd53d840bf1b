//! A cache of the sites that visitors are served (`infra::cache`). Every node invalidates an entry
//! within about 100 ms (`infra::changes`), or after its lifetime when the notification is lost.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgPool;

use super::appearance::Appearance;
use super::policy::Policy;
use super::sharing::Sharing;
use super::store::{self, StoredSite};
use crate::accounts::account::Status;
use crate::accounts::demo::DEMO_ACCOUNT;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::cache::{Bounds, FreshCache};
use crate::infra::changes::Topic;
use crate::infra::{Infra, host_of};
use crate::pixels::usage::KnownUse;
use crate::pixels::{PublicPixel, test_hosts};
use crate::types::host::{PageUrl, SiteHost, without_www};
use crate::types::ids::{PixelId, PixelRef};
use crate::types::local_host::is_local;

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
    pub sharing: Sharing,
    /// The hosts whose subdomains share a choice, separated by commas: the pixel's, and its former one while it
    /// moves.
    pub shared_hosts: String,
    /// A hash of the data that determine the scripts that visitors are served.
    pub fingerprint: u64,
    text_bytes: usize,
}

impl Site {
    fn new(stored: StoredSite, now: DateTime<Utc>) -> Result<Self> {
        let StoredSite { pixel, mut policy, appearance } = stored;
        let sharing = Sharing::of(&pixel, now);
        if let Some(policy) = &mut policy {
            policy.shares_subdomains = sharing == Sharing::On;
        }
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
        sharing.hash(&mut hasher);
        let shared_hosts = shared_hosts(&pixel, now);
        shared_hosts.hash(&mut hasher);
        let fingerprint = hasher.finish();
        Ok(Self {
            pixel,
            policy,
            appearance,
            known_use,
            sharing,
            shared_hosts,
            fingerprint,
            text_bytes,
        })
    }

    /// The current policy, when the popup is on and the owner is not suspended.
    pub fn policy_in_force(&self) -> Option<&Policy> {
        let is_served = self.pixel.consent_enabled && self.pixel.owner_status != Status::Suspended;
        self.policy.as_ref().filter(|_| is_served)
    }

    pub fn admits(&self, page: &PageUrl, clock: &Clock, base_url: &str) -> bool {
        self.admits_host(page.host(), clock, base_url)
    }

    pub fn admits_host(&self, host: &str, clock: &Clock, base_url: &str) -> bool {
        self.pixel.domain.covers(host)
            || self.is_moving_from(host, clock)
            || self.is_demo() && host == host_of(base_url)
    }

    fn is_moving_from(&self, host: &str, clock: &Clock) -> bool {
        let former = self.pixel.former.as_ref();
        former.is_some_and(|former| clock.now() < former.ends_at && former.host.covers(host))
    }

    /// Pixels of the demo account can also be tried on the service's own preview page.
    fn is_demo(&self) -> bool {
        self.pixel.account_id.as_str() == DEMO_ACCOUNT
    }
}

fn shared_hosts(pixel: &PublicPixel, now: DateTime<Utc>) -> String {
    let former = pixel.former.as_ref().filter(|former| now < former.ends_at);
    let former = former.map(|former| &former.host).filter(|host| host.is_registrable());
    let hosts = std::iter::once(&pixel.domain).chain(former);
    hosts.map(SiteHost::as_str).collect::<Vec<_>>().join(",")
}

/// A site that was found by a name in a visitor's page: its pixel's id, an alias or the test id.
pub struct NamedSite {
    pub site: Arc<Site>,
    /// The hosts, besides local ones, that the test id admits; `None` if the name is not the test id.
    test_hosts: Option<Arc<[SiteHost]>>,
}

impl NamedSite {
    pub fn is_test(&self) -> bool {
        self.test_hosts.is_some()
    }

    pub fn pixel_id(&self) -> PixelId {
        let pixel_id = &self.site.pixel.pixel_id;
        if self.is_test() { pixel_id.test_id() } else { pixel_id.clone() }
    }

    pub fn admits(&self, page: &PageUrl, clock: &Clock, base_url: &str) -> bool {
        match &self.test_hosts {
            Some(hosts) => admits_test(hosts, page.host()),
            None => self.site.admits(page, clock, base_url),
        }
    }

    pub fn admits_host(&self, host: &str, clock: &Clock, base_url: &str) -> bool {
        match &self.test_hosts {
            Some(hosts) => admits_test(hosts, host),
            None => self.site.admits_host(host, clock, base_url),
        }
    }
}

fn admits_test(hosts: &[SiteHost], host: &str) -> bool {
    let bare = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    is_local(host) || hosts.iter().any(|allowed| allowed.as_str() == without_www(&bare))
}

/// The maximum number of pixels whose test hosts are cached.
const MOST_TESTED: u64 = 1_000;

/// Finds sites by pixel id or alias. Caches unknown names too, so that they do not reach the database.
#[derive(Clone)]
pub struct SiteCache {
    pool: PgPool,
    clock: Clock,
    sites: FreshCache<PixelRef, Option<Arc<Site>>, 3>,
    test_hosts: FreshCache<PixelId, Arc<[SiteHost]>, 1>,
}

impl SiteCache {
    pub fn new(infra: &Infra) -> Self {
        let bounds = Bounds { max_weight: MAX_BYTES, weigh: bytes, life: Some(LIFE) };
        let (changes, metrics) = (infra.changes.clone(), infra.metrics.sites.clone());
        let hosts = Bounds::entries(MOST_TESTED, Some(LIFE));
        Self {
            pool: infra.pool.clone(),
            clock: infra.clock.clone(),
            test_hosts: FreshCache::new(changes.clone(), metrics.clone(), hosts, topic_of_pixel),
            sites: FreshCache::new(changes, metrics, bounds, topics),
        }
    }

    /// The site of a pixel, by its id, an alias or its test id. [`Self::find`] does not accept test ids.
    pub async fn find_named(&self, name: &str) -> Result<Option<NamedSite>> {
        let Some(name) = PixelRef::parse(name) else { return Ok(None) };
        if let Some(site) = self.find_tested(&name).await? {
            let hosts = self.test_hosts_of(&site.pixel.pixel_id).await?;
            return Ok(Some(NamedSite { site, test_hosts: Some(hosts) }));
        }
        Ok(self.find(&name).await?.map(|site| NamedSite { site, test_hosts: None }))
    }

    /// The site whose pixel has the test id; `None` for every other name.
    pub async fn find_tested(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        let Some(tested) = name.tested() else { return Ok(None) };
        let site = self.find(&tested).await?;
        // A test id contains the pixel's own id, never an alias.
        Ok(site.filter(|site| site.pixel.pixel_id.as_str() == tested.as_str()))
    }

    async fn test_hosts_of(&self, pixel_id: &PixelId) -> Result<Arc<[SiteHost]>> {
        let read = || async {
            let mut connection = self.pool.acquire().await?;
            Ok(test_hosts::list_usable(&mut connection, pixel_id).await?.into())
        };
        self.test_hosts.find(pixel_id, read).await
    }

    /// `None` for an unknown name.
    pub async fn find(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        self.sites.find(name, || self.read(name)).await
    }

    async fn read(&self, name: &PixelRef) -> Result<Option<Arc<Site>>> {
        let mut connection = self.pool.acquire().await?;
        let stored = store::find_site(&mut connection, name).await?;
        let site = stored.map(|stored| Site::new(stored, self.clock.now())).transpose()?;
        Ok(site.map(Arc::new))
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

fn topic_of_pixel<'a>(pixel_id: &'a PixelId, _: &'a Arc<[SiteHost]>) -> [Topic<'a>; 1] {
    [Topic::Pixel(pixel_id.as_str())]
}

fn topics<'a>(name: &'a PixelRef, site: &'a Option<Arc<Site>>) -> [Topic<'a>; 3] {
    let name = Topic::Pixel(name.as_str());
    let Some(Site { pixel, .. }) = site.as_deref() else { return [name; 3] };
    [name, Topic::Pixel(pixel.pixel_id.as_str()), Topic::Account(pixel.account_id.as_str())]
}
