use std::time::{Duration, Instant};

use sqlx::{PgPool, query};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::timeouts::PING_TIMEOUT;
use crate::clock::Clock;
use crate::error::{Error, Result};

const PERIOD: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct WriteProbe {
    last: Mutex<Option<Probed>>,
}

struct Probed {
    at: Instant,
    has_succeeded: bool,
}

impl WriteProbe {
    /// Whether the database takes writes, according to a test write at most a second ago.
    pub async fn succeeds(&self, pool: &PgPool, clock: &Clock) -> bool {
        let mut last = self.last.lock().await;
        if let Some(probed) = last.as_ref().filter(|probed| probed.at.elapsed() < PERIOD) {
            return probed.has_succeeded;
        }
        let at = Instant::now();
        let written = timeout(PING_TIMEOUT, write(pool, clock)).await;
        let has_succeeded = matches!(written, Ok(Ok(())));
        *last = Some(Probed { at, has_succeeded });
        has_succeeded
    }
}

/// Writes with a single autocommitted statement, so that a timeout leaves no open transaction.
async fn write(pool: &PgPool, clock: &Clock) -> Result<()> {
    let done = query!(
        "INSERT INTO write_probe (written_at) VALUES ($1)
         ON CONFLICT (only_row) DO UPDATE SET written_at = EXCLUDED.written_at",
        clock.now(),
    )
    .execute(pool)
    .await?;
    match done.rows_affected() {
        1 => Ok(()),
        _ => Err(Error::DatabaseUnavailable),
    }
}
