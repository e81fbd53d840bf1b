//! The shard of a pixel, on a cluster. A table is divided into shards by a hash of `pixel_id`, and every
//! shard is on one machine. Pixels of one shard can be read with one statement and committed by one
//! machine, and a slow shard does not delay the others.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::store::shards::{list_hashes, list_starts};
use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::postgres::dedicated_connection::LiveConnection;

/// Shards are split rarely, and by hand. Until a split is detected, reads of both halves at once are refused,
/// and writes to both use two-phase commit.
const TRUSTED: Duration = Duration::from_secs(1);
/// Number of pixels with a cached hash.
const REMEMBERED: u64 = 20_000;

/// A shard, identified by its lowest hash.
pub type ShardId = i32;

pub struct Shards {
    known: Mutex<Option<KnownStarts>>,
    hashes: Cache<String, i32>,
}

#[derive(Clone)]
struct KnownStarts {
    /// The lowest hash of each shard, in order; empty if nothing is distributed yet.
    starts: Arc<[ShardId]>,
    read_at: Instant,
}

impl Shards {
    pub fn new() -> Self {
        let hashes = Cache::new(Bounds::entries(REMEMBERED, None));
        Self { known: Mutex::default(), hashes }
    }

    pub async fn of(&self, live: &mut LiveConnection, pixel_ids: &[&str]) -> Result<Vec<ShardId>> {
        let starts = self.starts(live).await?;
        if starts.is_empty() {
            return Ok(vec![ShardId::MIN; pixel_ids.len()]);
        }
        let reading =
            |unknown: Vec<_>| async move { list_hashes(&mut live.connection, &unknown).await };
        let hashes = self.hashes.get_all_or_read(pixel_ids, reading).await?;
        Ok(pixel_ids.iter().map(|&pixel_id| shard_of(&starts, hashes[pixel_id])).collect())
    }

    async fn starts(&self, live: &mut LiveConnection) -> Result<Arc<[ShardId]>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.read_at.elapsed() < TRUSTED) {
            return Ok(known.starts);
        }
        let starts = Arc::<[ShardId]>::from(list_starts(&mut live.connection).await?);
        let known = KnownStarts { starts: starts.clone(), read_at: Instant::now() };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok(starts)
    }
}

/// The last shard whose lowest hash is not above this hash.
fn shard_of(starts: &[ShardId], hash: i32) -> ShardId {
    let after = starts.partition_point(|&start| start <= hash);
    after.checked_sub(1).map_or(ShardId::MIN, |at| starts[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_lies_in_the_shard_that_begins_before_it() {
        let starts @ [first, second, third, fourth] = [i32::MIN, -1_073_741_824, 0, 1_073_741_824];
        let hashes = [i32::MIN, -1_073_741_825, -1_073_741_824, -1, 0, i32::MAX];
        let shards = hashes.map(|hash| shard_of(&starts, hash));
        assert_eq!(shards, [first, first, second, second, third, fourth]);
    }
}
