//! Whether a pixel is used: noted once, when its tag is first served, and looked up when somebody
//! else says that the host is theirs.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use super::store;
use crate::error::Result;
use crate::infra::Infra;
use crate::types::ids::PixelId;

/// How long a pixel counts as working after its last receipt, shown popup or successful check.
const WORKING: Duration = Duration::days(30);

pub(super) async fn is_working(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<bool> {
    store::usage::works_since(connection, pixel_id, now - WORKING).await
}

/// What a node knows of the use of a pixel that it has in memory.
#[derive(Debug)]
pub struct KnownUse(AtomicBool);

impl KnownUse {
    pub fn new(in_use: bool) -> Self {
        Self(AtomicBool::new(in_use))
    }

    /// Notes, in the background, that the pixel's tag was served; only the first time costs anything.
    /// What could not be noted is noted when the pixel is next read.
    pub fn note_served(&self, infra: &Infra, pixel_id: &PixelId) {
        if self.0.load(Ordering::Relaxed) || self.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let (pool, pixel_id, now) = (infra.pool.clone(), pixel_id.clone(), infra.clock.now());
        tokio::spawn(async move {
            let noted = async {
                let mut connection = pool.acquire().await?;
                store::usage::update_in_use(&mut connection, &pixel_id, now).await
            };
            if let Err(error) = noted.await {
                tracing::warn!(?error, "the first use of a pixel could not be noted");
            }
        });
    }
}
