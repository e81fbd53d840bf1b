use sha2::{Digest, Sha256};

use super::notice::plain_text;
use super::policy::Policy;
use crate::infra::Infra;
use crate::infra::cache::{Bounds, Cache};
use crate::proof::format::entry::Kind;
use crate::proof::publications;
use crate::types::ids::PixelId;
use crate::types::locales::Locale;

/// Each entry takes a few hundred bytes.
const MAX_REMEMBERED: u64 = 10_000;

type Key = (PixelId, i32, &'static str, bool);

/// Hashes of notices in plain text. A version never changes, so its notices are rendered and published once.
#[derive(Clone)]
pub struct NoticeDigests {
    infra: Infra,
    known: Cache<Key, [u8; 32]>,
}

impl NoticeDigests {
    pub fn new(infra: Infra) -> Self {
        Self { infra, known: Cache::new(Bounds::entries(MAX_REMEMBERED, None)) }
    }

    /// Returns the SHA-256 of the notice in plain text. It is published, unless the database was
    /// unavailable; the next caller publishes it then.
    pub async fn find(
        &self,
        pixel_id: &PixelId,
        policy: &Policy,
        locale: &'static Locale,
    ) -> [u8; 32] {
        let (version, is_shared) = (policy.version, policy.shares_subdomains);
        let key = (pixel_id.clone(), version, locale.lang.as_str(), is_shared);
        match self.known.get(&key).await {
            Some(digest) => digest,
            // Boxed to keep the future small: nearly all notices are cached.
            None => Box::pin(self.publish(key, policy, locale)).await,
        }
    }

    async fn publish(&self, key: Key, policy: &Policy, locale: &Locale) -> [u8; 32] {
        let digest = Sha256::digest(plain_text(policy, locale)).into();
        if publications::try_queue(&self.infra.pool, &self.infra.clock, Kind::Notice, &digest).await
        {
            self.known.insert(key, digest).await;
        }
        digest
    }
}
