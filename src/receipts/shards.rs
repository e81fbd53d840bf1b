//! In which part of the tables a pixel lies, where they are spread over several machines.
//!
//! A table is cut into parts by a hash of `pixel_id`, and every part lies on one machine. What concerns
//! pixels of one part can be asked in one statement and committed by one machine, and a part that is slow
//! holds up nobody who works for another one.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::store::shards::{list_hashes, list_starts};
use super::store::spread::latest::list_named;
use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::postgres::kept_connection::KeptConnection;
use crate::types::ids::PixelId;

/// Parts are divided rarely, and by hand. Until it is known that one was, what is asked of both halves at
/// once is refused, and what is written to both goes by two-phase commit.
const TRUSTED: Duration = Duration::from_secs(1);
/// Pixels whose hashes are remembered, and names whose pixels are.
const REMEMBERED: u64 = 20_000;
/// For so long a name is believed to be that of the same pixel. Who works for its part looks again.
const BELIEVED: Duration = Duration::from_secs(60);

/// A part, by the least hash of what lies in it.
pub type Part = i32;

/// What one task knows of the parts.
pub struct Shards {
    /// The least hash of each part, in order; none where nothing is spread yet.
    starts: Vec<Part>,
    read_at: Option<Instant>,
    hashes: Cache<String, i32>,
    /// By ids and aliases.
    pixels: Cache<String, PixelId>,
}

impl Shards {
    pub fn new() -> Self {
        let hashes = Cache::new(Bounds::entries(REMEMBERED, None));
        let pixels = Cache::new(Bounds::entries(REMEMBERED, Some(BELIEVED)));
        Self { starts: Vec::new(), read_at: None, hashes, pixels }
    }

    /// The part of each pixel.
    pub async fn of(
        &mut self,
        connection: &mut KeptConnection,
        pixel_ids: &[&str],
    ) -> Result<Vec<Part>> {
        if self.read_at.is_none_or(|at| at.elapsed() >= TRUSTED) {
            self.starts = list_starts(&mut connection.get().await?.connection).await?;
            self.read_at = Some(Instant::now());
        }
        if self.starts.is_empty() {
            return Ok(vec![Part::MIN; pixel_ids.len()]);
        }
        let (mut hashes, unknown) = recalled(&self.hashes, pixel_ids).await;
        if !unknown.is_empty() {
            let found = list_hashes(&mut connection.get().await?.connection, &unknown).await?;
            learn(&self.hashes, &mut hashes, found).await;
        }
        Ok(pixel_ids.iter().map(|&pixel_id| part_of(&self.starts, hashes[pixel_id])).collect())
    }

    /// The pixel of each id or alias, as it was a while ago, and the part of that pixel.
    pub async fn of_names(
        &mut self,
        connection: &mut KeptConnection,
        names: &[&str],
    ) -> Result<Vec<(PixelId, Part)>> {
        let (mut pixels, unknown) = recalled(&self.pixels, names).await;
        if !unknown.is_empty() {
            let named = list_named(&mut connection.get().await?.connection, &unknown).await?;
            let found = named.into_iter().map(|(name, pixel)| (name, pixel.pixel_id));
            learn(&self.pixels, &mut pixels, found).await;
        }
        let pixels = names.iter().map(|&name| pixels[name].clone()).collect::<Vec<_>>();
        let pixel_ids = pixels.iter().map(PixelId::as_str).collect::<Vec<_>>();
        let parts = self.of(connection, &pixel_ids).await?;
        Ok(pixels.into_iter().zip(parts).collect())
    }
}

/// What is remembered, and of which keys nothing is.
async fn recalled<'a, V: Clone + Send + Sync + 'static>(
    memory: &Cache<String, V>,
    keys: &[&'a str],
) -> (HashMap<String, V>, Vec<&'a str>) {
    let (mut known, mut unknown) = (HashMap::new(), Vec::new());
    for &key in keys.iter().collect::<BTreeSet<_>>() {
        let owned = key.to_owned();
        match memory.get(&owned).await {
            Some(value) => _ = known.insert(owned, value),
            None => unknown.push(key),
        }
    }
    (known, unknown)
}

/// Remembers what was found, and adds it to what is known.
async fn learn<V: Clone + Send + Sync + 'static>(
    memory: &Cache<String, V>,
    known: &mut HashMap<String, V>,
    found: impl IntoIterator<Item = (String, V)>,
) {
    for (key, value) in found {
        memory.insert(key.clone(), value.clone()).await;
        known.insert(key, value);
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
