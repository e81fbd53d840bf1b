//! In which part of the tables a pixel lies, where they are spread over several machines.
//!
//! A table is cut into parts by a hash of `pixel_id`, and every part lies on one machine. What concerns
//! pixels of one part can be asked in one statement and committed by one machine, and a part that is slow
//! holds up nobody who works for another one.

use std::time::{Duration, Instant};

use super::store::shards::{list_hashes, list_starts};
use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::postgres::kept_connection::LiveConnection;

/// Parts are divided rarely, and by hand. Until it is known that one was, what is asked of both halves at
/// once is refused, and what is written to both goes by two-phase commit.
const TRUSTED: Duration = Duration::from_secs(1);
/// Pixels whose hashes are remembered.
const REMEMBERED: u64 = 20_000;

/// A part, by the least hash of what lies in it.
pub type Part = i32;

/// What one task knows of the parts.
pub struct Shards {
    /// The least hash of each part, in order; none where nothing is spread yet.
    starts: Vec<Part>,
    read_at: Option<Instant>,
    hashes: Cache<String, i32>,
}

impl Shards {
    pub fn new() -> Self {
        let hashes = Cache::new(Bounds::entries(REMEMBERED, None));
        Self { starts: Vec::new(), read_at: None, hashes }
    }

    /// The part of each pixel.
    pub async fn of(&mut self, live: &mut LiveConnection, pixel_ids: &[&str]) -> Result<Vec<Part>> {
        if self.read_at.is_none_or(|at| at.elapsed() >= TRUSTED) {
            self.starts = list_starts(&mut live.connection).await?;
            self.read_at = Some(Instant::now());
        }
        if self.starts.is_empty() {
            return Ok(vec![Part::MIN; pixel_ids.len()]);
        }
        let reading =
            |unknown: Vec<_>| async move { list_hashes(&mut live.connection, &unknown).await };
        let hashes = self.hashes.get_all_or_read(pixel_ids, reading).await?;
        Ok(pixel_ids.iter().map(|&pixel_id| part_of(&self.starts, hashes[pixel_id])).collect())
    }
}

/// The last part that begins at the hash or before it.
fn part_of(starts: &[Part], hash: i32) -> Part {
    let after = starts.partition_point(|&start| start <= hash);
    after.checked_sub(1).map_or(Part::MIN, |at| starts[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_lies_in_the_part_that_begins_before_it() {
        let starts @ [first, second, third, fourth] = [i32::MIN, -1_073_741_824, 0, 1_073_741_824];
        let hashes = [i32::MIN, -1_073_741_825, -1_073_741_824, -1, 0, i32::MAX];
        let parts = hashes.map(|hash| part_of(&starts, hash));
        assert_eq!(parts, [first, first, second, second, third, fourth]);
    }
}
