//! Failed API keys, counted per client address. An address with too many failures is refused before
//! its next key is looked up, until its bucket refills. Keys that were recently valid are still
//! looked up, so that a broken program behind the same address does not stop a working integration.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgPool;

use super::key_uses::KeyUses;
use crate::accounts::limits::retry_after::seconds;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::cache::{Bounds, Cache};
use crate::infra::limits::client_net::Net;
use crate::infra::limits::per_client::{Client, Limit};
use crate::infra::secret_hash::secret_hash;

const MAX_REMEMBERED: u64 = 50_000;
/// Only limits memory: an address is no longer barred after a few seconds.
const BARRED_LIFE: Duration = Duration::from_secs(600);
/// A key that was not used for this long is no longer known to be valid.
const PROVEN_LIFE: Duration = Duration::from_secs(6 * 3600);

/// The recently valid keys and the barred addresses on this node. Clones share the data.
#[derive(Clone)]
pub struct KeyMemory {
    clock: Clock,
    barred_until: Cache<Net, DateTime<Utc>>,
    proven: Cache<Vec<u8>, ()>,
    uses: KeyUses,
}

impl KeyMemory {
    pub fn start(clock: Clock, pool: PgPool) -> Self {
        let uses = KeyUses::start(clock.clone(), pool);
        let barred_until = Cache::new(Bounds::entries(MAX_REMEMBERED, Some(BARRED_LIFE)));
        let proven = Cache::new(Bounds::entries(MAX_REMEMBERED, Some(PROVEN_LIFE)));
        Self { clock, barred_until, proven, uses }
    }

    /// Whether a key was recently valid. It may have been revoked since then.
    pub fn is_proven(&self, key: &str) -> bool {
        self.proven.contains(&secret_hash(key))
    }
}

pub struct KeyAttempts<'r> {
    client: Client<'r>,
    memory: &'r KeyMemory,
}

impl<'r> KeyAttempts<'r> {
    pub fn new(client: Client<'r>, memory: &'r KeyMemory) -> Self {
        Self { client, memory }
    }

    /// Looks a key up unless the client is barred. Counts a failed key, and records the use of a valid one.
    pub async fn watch<T>(
        &self,
        key: Option<&str>,
        look_up: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(key) = key else { return look_up.await };
        let hash = secret_hash(key);
        let is_limited = self.client.is_limited();
        if is_limited && !self.memory.proven.contains(&hash) {
            self.check_barred().await?;
        }
        let found = look_up.await;
        match &found {
            Ok(_) => {
                self.memory.proven.insert(hash.clone(), ()).await;
                self.memory.uses.record(hash).await;
            }
            Err(_) if !is_limited => {}
            Err(
                Error::InvalidApiKey { .. } | Error::ApiKeyRevoked { .. } | Error::ApiKeyExpired,
            ) => {
                self.memory.proven.remove(&hash).await;
                self.count_failure().await?;
            }
            Err(_) => {}
        }
        found
    }

    async fn check_barred(&self) -> Result<()> {
        let now = self.memory.clock.now();
        for net in self.client.net().nets() {
            let until = self.memory.barred_until.get(&net).await;
            if let Some(until) = until.filter(|&until| until > now) {
                return Err(Error::TooManyRequests { retry_after: seconds(until - now) });
            }
        }
        Ok(())
    }

    async fn count_failure(&self) -> Result<()> {
        let Err(exceeded) = self.client.admit(Limit::BadKeys) else { return Ok(()) };
        let net = exceeded.net;
        let error = Error::from(exceeded);
        let pause = i64::try_from(error.retry_after().unwrap_or(1)).unwrap_or(i64::MAX);
        let until = self.memory.clock.now() + chrono::Duration::seconds(pause);
        self.memory.barred_until.insert(net, until).await;
        Err(error)
    }

    pub fn refusals() -> Vec<Error> {
        vec![Error::TooManyRequests { retry_after: 2 }]
    }
}
