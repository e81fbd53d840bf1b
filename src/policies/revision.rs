use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool};

use super::policy::{Policy, PolicyText};
use super::store;
use crate::error::{Error, Result};
use crate::infra::shutdown::Shutdown;
use crate::proof::format::entry::Kind;
use crate::proof::publications;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

pub struct Revision {
    pub policy: Policy,
    /// `None` when the current policy has the same content.
    new: Option<New>,
}

struct New {
    document: String,
    sha256: [u8; 32],
}

impl Revision {
    pub fn asks_again(&self) -> bool {
        self.is_new() && self.policy.version > 1
    }

    pub fn is_new(&self) -> bool {
        self.new.is_some()
    }
}

/// Compares the text with the policy: the same text keeps its version, another one gets the next.
pub async fn revise(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel_id: &PixelId,
    domain: &SiteHost,
    text: PolicyText,
) -> Result<Revision> {
    let current = store::find_current_policy(connection, pixel_id).await?;
    let version = match current {
        Some(policy) if policy.text.has_same_content(&text) => {
            return Ok(Revision { policy, new: None });
        }
        Some(policy) => policy.version + 1,
        None => 1,
    };
    let document = text.canonical()?;
    let sha256 = Sha256::digest(&document).into();
    let (hash, domain) = (hex::encode(sha256), domain.clone());
    let policy =
        Policy { version, hash, text, domain, published_at: now, shares_subdomains: false };
    Ok(Revision { policy, new: Some(New { document, sha256 }) })
}

/// Maximum total size of all versions of a pixel's policy, because they are kept permanently.
const MOST_BYTES: i64 = 20 << 20;

/// Publishes the text as the pixel's policy. The caller must hold the lock on the pixel's row.
pub async fn publish(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel_id: &PixelId,
    domain: &SiteHost,
    text: PolicyText,
) -> Result<Revision> {
    let revision = revise(connection, now, pixel_id, domain, text).await?;
    if let Some(New { document, sha256 }) = &revision.new {
        let bytes = i64::try_from(document.len()).map_err(Error::internal)?;
        if store::sum_policy_bytes(connection, pixel_id).await? + bytes > MOST_BYTES {
            return Err(Error::PolicyAllowanceReached);
        }
        store::insert_policy(connection, pixel_id, &revision.policy, document).await?;
        publications::queue(connection, Kind::Policy, sha256, now).await?;
    }
    Ok(revision)
}

/// Refuses to publish the newest version again if the pixel's policies would take too many bytes.
pub async fn check_room_for_newest(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<()> {
    let newest = store::list_newest_policies(connection, pixel_id, 1, i64::MAX).await?.pop();
    let bytes = newest.map_or(0, |version| version.document.len());
    let bytes = i64::try_from(bytes).map_err(Error::internal)?;
    if store::sum_policy_bytes(connection, pixel_id).await? + bytes > MOST_BYTES {
        return Err(Error::PolicyAllowanceReached);
    }
    Ok(())
}

/// Publishes the policy again for another domain, which its notice names. Text and hash stay the same, so choices
/// stay valid. `None` if there is no policy, or the newest version names the domain.
pub async fn publish_for_domain(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel_id: &PixelId,
    domain: &SiteHost,
) -> Result<Option<Policy>> {
    let newest = store::list_newest_policies(connection, pixel_id, 1, i64::MAX).await?.pop();
    let Some(newest) = newest.filter(|version| version.domain != *domain) else { return Ok(None) };
    let document = newest.document.clone();
    let (version, domain) = (newest.version + 1, domain.clone());
    let policy =
        Policy::try_from(store::PolicyVersion { version, domain, published_at: now, ..newest })?;
    store::insert_policy(connection, pixel_id, &policy, &document).await?;
    Ok(Some(policy))
}

const AT_ONCE: i64 = 1_000;

/// Queues for the public log the policies that were published by nodes of a version without it.
pub async fn queue_missed(pool: &PgPool, shutdown: &Shutdown) -> Result<()> {
    let mut connection = pool.acquire().await?;
    let mut last = (String::new(), 0);
    loop {
        let after = (last.0.as_str(), last.1);
        let versions = store::list_any_versions(&mut connection, after, AT_ONCE).await?;
        let hashes = versions.iter().map(|version| hex::decode(&version.policy_hash));
        let hashes = hashes.collect::<Result<Vec<_>, _>>().map_err(Error::internal)?;
        publications::queue_earlier(&mut connection, Kind::Policy, &hashes).await?;
        match versions.into_iter().next_back() {
            Some(version) if !shutdown.has_begun() => last = (version.pixel_id, version.version),
            _ => return Ok(()),
        }
    }
}
