//! Whether an account's resolution is paused, for pages that ask on every load.
//!
//! What decides is kept in memory like the directory of sites: dropped as soon as any node
//! commits a change (`platform::changes`), and after [`LIFE`] by itself. The verdict itself is
//! reached anew each time, so the end of a trial or of a month takes effect on the millisecond.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use moka::future::Cache;
use sqlx::PgPool;

use super::allowance::{Coverage, PausedBecause, month_of};
use super::store;
use crate::error::Result;
use crate::ids::AccountId;
use crate::platform::changes::Changes;
use crate::platform::metrics::CacheMetrics;

const LIFE: Duration = Duration::from_secs(4);
const MAX_ENTRIES: u64 = 10_000;

/// An account's plan and use, as last read.
#[derive(Clone, Copy)]
pub struct Standing {
    pub coverage: Coverage,
    /// New contacts of `month`.
    pub used: i64,
    pub month: NaiveDate,
}

impl Standing {
    fn paused_because(self, now: DateTime<Utc>) -> Option<PausedBecause> {
        // In a month that has just begun nothing that matters can have been stored.
        let used = if self.month == month_of(now) { self.used } else { 0 };
        self.coverage.paused_because(now, used)
    }
}

#[derive(Clone)]
struct Entry {
    generation: u64,
    standing: Option<Standing>,
}

/// Tells whose resolution is paused.
#[derive(Clone)]
pub struct Pauses {
    pool: PgPool,
    changes: Changes,
    entries: Cache<AccountId, Entry>,
    metrics: CacheMetrics,
}

impl Pauses {
    pub fn new(pool: PgPool, changes: Changes, metrics: CacheMetrics) -> Self {
        let entries = Cache::builder().max_capacity(MAX_ENTRIES).time_to_live(LIFE).build();
        Self { pool, changes, entries, metrics }
    }

    /// Whether resolution is paused; an account that is gone resolves nobody.
    pub async fn is_paused(&self, now: DateTime<Utc>, account_id: &AccountId) -> Result<bool> {
        let standing = self.standing(now, account_id).await?;
        Ok(standing.is_none_or(|standing| standing.paused_because(now).is_some()))
    }

    async fn standing(
        &self,
        now: DateTime<Utc>,
        account_id: &AccountId,
    ) -> Result<Option<Standing>> {
        let generation = self.changes.generation();
        let entry = self.entries.get(account_id).await;
        let entry = entry.filter(|entry| entry.generation == generation);
        self.metrics.count(entry.is_some());
        if let Some(entry) = entry {
            return Ok(entry.standing);
        }
        let mut connection = self.pool.acquire().await?;
        let standing = store::find_standing(&mut connection, account_id, month_of(now)).await?;
        self.entries.insert(account_id.clone(), Entry { generation, standing }).await;
        Ok(standing)
    }
}
