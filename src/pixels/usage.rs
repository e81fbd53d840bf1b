//! Signs that a pixel is used. Anybody can forge them, so they are no evidence of who owns a host;
//! they only delay the deletion of an unused pixel (`unused.rs`).

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use super::install_check::observation::Observation;
use super::install_check::page_check::PageCheck;
use super::store;
use crate::clock::Clock;
use crate::error::Result;
use crate::types::ids::PixelId;

const RECORDED_EVERY: i64 = 86_400;
/// For a confirmed pixel, which is never deleted for lack of use.
const NEVER: i64 = i64::MAX;

#[derive(Debug)]
pub struct KnownUse {
    /// The time from which use is recorded again, in seconds since 1970.
    due_at: AtomicI64,
}

impl KnownUse {
    pub fn new(is_confirmed: bool) -> Self {
        Self { due_at: AtomicI64::new(if is_confirmed { NEVER } else { i64::MIN }) }
    }

    /// Records in the background, once a day, that the tag was served. A failure is retried a day later.
    pub fn record_served(&self, pool: &PgPool, clock: &Clock, pixel_id: &PixelId) {
        let due_at = self.due_at.load(Ordering::Relaxed);
        if due_at == NEVER {
            return;
        }
        let now = clock.now();
        let next = now.timestamp() + RECORDED_EVERY;
        if now.timestamp() < due_at
            || self
                .due_at
                .compare_exchange(due_at, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let (pool, pixel_id) = (pool.clone(), pixel_id.clone());
        tokio::spawn(async move {
            let recording = async {
                let mut connection = pool.acquire().await?;
                store::usage::update_used(&mut connection, &pixel_id, now).await
            };
            if let Err(error) = recording.await {
                tracing::warn!(?error, "the use of a pixel could not be recorded");
            }
        });
    }
}

pub async fn record_check(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    check: &PageCheck,
    now: DateTime<Utc>,
) -> Result<()> {
    match (check.is_live, check.observation) {
        (true, _) => store::usage::update_confirmed(connection, pixel_id, now).await,
        (false, Observation::Present) => store::usage::update_used(connection, pixel_id, now).await,
        (false, _) => Ok(()),
    }
}
