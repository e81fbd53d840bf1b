//! Which version of a pixel's policy somebody wants to read.

use chrono::{DateTime, Utc};

use super::policy::{Policy, is_hash};
use super::sites::SiteCache;
use super::store;
pub use super::store::PublishedAt;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::{AccountId, PixelId};
use crate::types::text::present;

/// A version of a pixel's policy.
pub struct Published {
    pub pixel_id: PixelId,
    pub policy: Policy,
    /// Whether it is the version that visitors are asked to accept now.
    pub is_current: bool,
}

/// Where an account has published texts of these hashes, also for pixels that are gone.
pub async fn list_of(
    infra: &Infra,
    account_id: &AccountId,
    hashes: &[String],
) -> Result<Vec<PublishedAt>> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let mut connection = infra.pool.acquire().await?;
    store::list_published(&mut connection, account_id, hashes).await
}

/// The version that a hash names; without one the version in force. The pixel is named by its id or
/// an alias.
pub async fn find(
    infra: &Infra,
    sites: &SiteCache,
    pixel: &str,
    hash: Option<&str>,
) -> Result<Published> {
    find_at(infra, sites, pixel, hash, None).await
}

/// As [`find`]; of a text that was published several times, the version that was there at a time.
pub async fn find_at(
    infra: &Infra,
    sites: &SiteCache,
    pixel: &str,
    hash: Option<&str>,
    at: Option<DateTime<Utc>>,
) -> Result<Published> {
    let site = sites.find_text(pixel).await?;
    let current = site.as_ref().and_then(|site| site.policy_in_force());
    // A deleted pixel's policies are still found by its canonical id, for its receipts name them.
    let pixel_id = match &site {
        Some(site) => site.pixel.pixel_id.clone(),
        None => PixelId::parse(pixel).ok_or(Error::PolicyNotFound)?,
    };
    let policy = match present(hash) {
        None => current.cloned(),
        Some(hash) => find_named(infra, &pixel_id, hash, at).await?,
    };
    let policy = policy.ok_or(Error::PolicyNotFound)?;
    let is_current = current.is_some_and(|current| current.hash == policy.hash);
    Ok(Published { pixel_id, policy, is_current })
}

async fn find_named(
    infra: &Infra,
    pixel_id: &PixelId,
    hash: &str,
    at: Option<DateTime<Utc>>,
) -> Result<Option<Policy>> {
    if !is_hash(hash) {
        return Ok(None);
    }
    let mut connection = infra.pool.acquire().await?;
    store::find_policy_by_hash(&mut connection, pixel_id, hash, at).await
}
