use chrono::{DateTime, Utc};
use sqlx::PgPool;

use super::policy::{Policy, is_hash};
use super::sharing::Sharing;
use super::sites::SiteCache;
use super::store;
pub use super::store::PublishedAt;
use crate::error::{Error, Result};
use crate::types::ids::{AccountId, PixelId};
use crate::types::text::present;

pub struct Published {
    pub pixel_id: PixelId,
    pub policy: Policy,
    pub is_current: bool,
}

/// Lists the versions with these hashes, including those of deleted pixels.
pub async fn list_of(
    pool: &PgPool,
    account_id: &AccountId,
    hashes: &[String],
) -> Result<Vec<PublishedAt>> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let mut connection = pool.acquire().await?;
    store::list_published(&mut connection, account_id, hashes).await
}

/// The hashes of all versions of some pixels. The caller has checked the access to them.
pub async fn hashes_of(pool: &PgPool, pixel_ids: &[String]) -> Result<Vec<String>> {
    if pixel_ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut connection = pool.acquire().await?;
    store::list_hashes_of_pixels(&mut connection, pixel_ids).await
}

/// The version with a hash; without a hash, the version in force. The pixel is named by its id, its test id or an alias.
pub async fn find(
    pool: &PgPool,
    sites: &SiteCache,
    pixel: &str,
    hash: Option<&str>,
) -> Result<Published> {
    find_at(pool, sites, pixel, hash, None).await
}

/// Like [`find`]; of a text that was published several times, the version in force at a time.
pub async fn find_at(
    pool: &PgPool,
    sites: &SiteCache,
    pixel: &str,
    hash: Option<&str>,
    at: Option<DateTime<Utc>>,
) -> Result<Published> {
    let site = sites.find_named(pixel).await?.map(|named| named.site);
    let current = site.as_ref().and_then(|site| site.policy_in_force());
    // A deleted pixel's policies are still found by its canonical id, because receipts name them.
    let pixel_id = match &site {
        Some(site) => site.pixel.pixel_id.clone(),
        None => PixelId::parse(pixel).ok_or(Error::PolicyNotFound)?,
    };
    let policy = match present(hash) {
        None => current.cloned(),
        Some(hash) => find_named(pool, &pixel_id, hash, at).await?,
    };
    let mut policy = policy.ok_or(Error::PolicyNotFound)?;
    policy.shares_subdomains = site.as_ref().is_some_and(|site| site.sharing == Sharing::On);
    let is_current = current.is_some_and(|current| current.hash == policy.hash);
    Ok(Published { pixel_id, policy, is_current })
}

async fn find_named(
    pool: &PgPool,
    pixel_id: &PixelId,
    hash: &str,
    at: Option<DateTime<Utc>>,
) -> Result<Option<Policy>> {
    if !is_hash(hash) {
        return Ok(None);
    }
    let mut connection = pool.acquire().await?;
    store::find_policy_by_hash(&mut connection, pixel_id, hash, at).await
}
