//! The time of the last use of each key, to the hour. Each node queues at most one use per key and hour,
//! which a background task stores; other requests only read memory. A lost use costs an hour of accuracy.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc};

use crate::accounts::store::key_uses::update_keys_used;
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::supervise::supervise;

const EVERY: Duration = Duration::hours(1);
const MAX_REMEMBERED: u64 = 50_000;
const QUEUE: usize = 1_000;

#[derive(Clone)]
pub struct KeyUses {
    clock: Clock,
    recorded: Cache<Vec<u8>, DateTime<Utc>>,
    queue: mpsc::Sender<Vec<u8>>,
}

impl KeyUses {
    /// Starts the writer, which ends when the last clone is dropped. Must be called inside a Tokio runtime.
    pub fn start(clock: Clock, pool: PgPool) -> Self {
        let (queue, uses) = mpsc::channel(QUEUE);
        let (uses, written_at) = (Arc::new(Mutex::new(uses)), clock.clone());
        supervise(move || write(written_at.clone(), pool.clone(), uses.clone()));
        Self { clock, recorded: Cache::new(Bounds::entries(MAX_REMEMBERED, None)), queue }
    }

    pub async fn record(&self, key_hash: Vec<u8>) {
        let now = self.clock.now();
        if self.recorded.get(&key_hash).await.is_some_and(|last| now - last < EVERY) {
            return;
        }
        self.recorded.insert(key_hash.clone(), now).await;
        let _ = self.queue.try_send(key_hash);
    }
}

async fn write(clock: Clock, pool: PgPool, uses: Arc<Mutex<mpsc::Receiver<Vec<u8>>>>) {
    let mut uses = uses.lock().await;
    let mut batch = Vec::new();
    while uses.recv_many(&mut batch, QUEUE).await > 0 {
        if let Err(error) = write_batch(&pool, &batch, clock.now()).await {
            tracing::warn!(?error, "the last uses of keys could not be stored");
        }
        batch.clear();
    }
}

async fn write_batch(pool: &PgPool, key_hashes: &[Vec<u8>], now: DateTime<Utc>) -> Result<()> {
    let mut connection = pool.acquire().await?;
    update_keys_used(&mut connection, key_hashes, now).await
}
