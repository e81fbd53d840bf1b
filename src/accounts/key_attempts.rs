//! API keys that fail, counted per client address.
//!
//! An address that has sent too many is refused before its next key is looked up, until its bucket
//! has something in it again. Keys that proved good lately are looked up all the same: a neighbour's
//! broken program must not stop an integration that works.

use std::time::Duration;

use chrono::{DateTime, Utc};
use moka::future::Cache;
use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use super::confirmation::seconds;
use super::credentials::secret_hash;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::http::problem;
use crate::http::rate_limit::{BadKeys, Client, ClientNet};
use crate::http::refusals::Refuses;

const MAX_REMEMBERED: u64 = 50_000;
/// A barred address is free again after seconds; this only bounds the memory.
const BARRED_LIFE: Duration = Duration::from_secs(600);
/// A key that was not used for so long is no longer known to be good.
const PROVEN_LIFE: Duration = Duration::from_secs(6 * 3600);

/// What this node remembers of keys that failed and keys that did not. Clones share it.
#[derive(Clone)]
pub struct KeyMemory {
    clock: Clock,
    barred_until: Cache<ClientNet, DateTime<Utc>>,
    /// By hash.
    proven: Cache<Vec<u8>, ()>,
}

impl KeyMemory {
    pub fn new(clock: Clock) -> Self {
        let barred = Cache::builder().max_capacity(MAX_REMEMBERED).time_to_live(BARRED_LIFE);
        let proven = Cache::builder().max_capacity(MAX_REMEMBERED).time_to_idle(PROVEN_LIFE);
        Self { clock, barred_until: barred.build(), proven: proven.build() }
    }
}

/// The attempts of the client that sends a request.
pub struct KeyAttempts<'r> {
    client: Client<'r>,
    memory: &'r KeyMemory,
}

impl<'r> KeyAttempts<'r> {
    pub fn of(request: &'r Request<'_>) -> Result<Self> {
        let memory = request.rocket().state::<KeyMemory>();
        let memory = memory.ok_or_else(|| Error::internal("no key memory is managed"))?;
        Ok(Self::new(Client::of(request)?, memory))
    }

    pub fn new(client: Client<'r>, memory: &'r KeyMemory) -> Self {
        Self { client, memory }
    }

    /// Looks a key up unless the client is barred, and counts it when it fails.
    pub async fn watch<T>(
        &self,
        key: Option<&str>,
        look_up: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(key) = key.filter(|_| self.client.is_limited()) else { return look_up.await };
        let hash = secret_hash(key);
        if !self.memory.proven.contains_key(&hash) {
            self.check_barred().await?;
        }
        let found = look_up.await;
        match &found {
            Ok(_) => self.memory.proven.insert(hash, ()).await,
            Err(Error::InvalidApiKey { .. } | Error::ApiKeyRevoked { .. }) => {
                self.memory.proven.invalidate(&hash).await;
                self.count_failure().await?;
            }
            Err(_) => {}
        }
        found
    }

    async fn check_barred(&self) -> Result<()> {
        let now = self.memory.clock.now();
        let until = self.memory.barred_until.get(&self.client.net()).await;
        match until.filter(|&until| until > now) {
            Some(until) => Err(Error::TooManyRequests { retry_after: seconds(until - now) }),
            None => Ok(()),
        }
    }

    async fn count_failure(&self) -> Result<()> {
        let Err(error) = self.client.admit::<BadKeys>() else { return Ok(()) };
        let pause = i64::try_from(error.retry_after().unwrap_or(1)).unwrap_or(i64::MAX);
        let until = self.memory.clock.now() + chrono::Duration::seconds(pause);
        self.memory.barred_until.insert(self.client.net(), until).await;
        Err(error)
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for KeyAttempts<'r> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, Self::of(request))
    }
}

impl Refuses for KeyAttempts<'_> {
    fn refusals() -> Vec<Error> {
        vec![Error::TooManyRequests { retry_after: 2 }]
    }
}
