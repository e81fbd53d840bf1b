//! What shows that a pixel is used. Anybody can send it, so it is no evidence of whose a host is: it only
//! keeps a pixel from ending for want of use (`unused.rs`), and for as long as it goes on.

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::look::Look;
use super::sighting::Sighting;
use super::store;
use crate::error::Result;
use crate::infra::Infra;
use crate::types::ids::PixelId;

/// Seconds after which the use of a pixel is noted again.
const NOTED_EVERY: i64 = 86_400;
/// Of a confirmed pixel, which does not end: nothing has to be noted.
const NEVER: i64 = i64::MAX;

/// What a node knows of the use of a pixel that it has in memory.
#[derive(Debug)]
pub struct KnownUse {
    /// When its use is to be noted again, in seconds of the epoch.
    due_at: AtomicI64,
}

impl KnownUse {
    pub fn new(is_confirmed: bool) -> Self {
        Self { due_at: AtomicI64::new(if is_confirmed { NEVER } else { i64::MIN }) }
    }

    /// Notes, in the background and once a day, that the pixel's tag was served. What could not be noted
    /// is noted a day later.
    pub fn note_served(&self, infra: &Infra, pixel_id: &PixelId) {
        let due_at = self.due_at.load(Ordering::Relaxed);
        if due_at == NEVER {
            return;
        }
        let now = infra.clock.now();
        let next = now.timestamp() + NOTED_EVERY;
        if now.timestamp() < due_at
            || self
                .due_at
                .compare_exchange(due_at, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let (pool, pixel_id) = (infra.pool.clone(), pixel_id.clone());
        tokio::spawn(async move {
            let noted = async {
                let mut connection = pool.acquire().await?;
                store::usage::update_used(&mut connection, &pixel_id, now).await
            };
            if let Err(error) = noted.await {
                tracing::warn!(?error, "the use of a pixel could not be noted");
            }
        });
    }
}

/// Notes what a look at the pixel's site shows: a tag that runs confirms the pixel, its name alone is a
/// sign of use.
pub async fn note_look(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    look: &Look,
    now: DateTime<Utc>,
) -> Result<()> {
    match (look.is_live, look.sighting) {
        (true, _) => store::usage::update_confirmed(connection, pixel_id, now).await,
        (false, Sighting::Present) => store::usage::update_used(connection, pixel_id, now).await,
        (false, _) => Ok(()),
    }
}
