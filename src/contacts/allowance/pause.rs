//! Whether an account's resolution is paused, for pages that check it on every load. The data is cached
//! like sites (`infra::cache`). The decision is computed on every call, so that the end of a trial or
//! a month takes effect at once.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgPool;

use super::coverage::{UsageSnapshot, month_of};
use crate::contacts::store::usage as store;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::cache::{Bounds, FreshCache};
use crate::infra::changes::Topic;
use crate::types::ids::AccountId;

/// The maximum age of an entry whose invalidation was lost.
const LIFE: Duration = Duration::from_secs(4);
const MAX_ENTRIES: u64 = 10_000;

#[derive(Clone)]
pub struct Pauses {
    pool: PgPool,
    snapshots: FreshCache<AccountId, Option<UsageSnapshot>, 1>,
}

impl Pauses {
    pub fn new(infra: &Infra) -> Self {
        let bounds = Bounds::entries(MAX_ENTRIES, Some(LIFE));
        let (changes, metrics) = (infra.changes.clone(), infra.metrics.pauses.clone());
        let snapshots = FreshCache::new(changes, metrics, bounds, |account_id: &AccountId, _| {
            [Topic::Account(account_id.as_str())]
        });
        Self { pool: infra.pool.clone(), snapshots }
    }

    /// Whether resolution is paused; true for a deleted account.
    pub async fn is_paused(&self, now: DateTime<Utc>, account_id: &AccountId) -> Result<bool> {
        let snapshot = self.snapshots.find(account_id, || self.read(now, account_id)).await?;
        Ok(snapshot.is_none_or(|snapshot| snapshot.paused_because(now).is_some()))
    }

    async fn read(
        &self,
        now: DateTime<Utc>,
        account_id: &AccountId,
    ) -> Result<Option<UsageSnapshot>> {
        let mut connection = self.pool.acquire().await?;
        store::find_usage_snapshot(&mut connection, account_id, month_of(now)).await
    }
}
