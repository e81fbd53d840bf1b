//! SQL for recording and checking on a cluster: the statements of `recording` and `latest`, each for pixels
//! of one shard. A statement for one shard is forwarded to its machine unchanged, and its commit is visible
//! to all once the machine has replied. A statement for several shards would be split, could not report what
//! it left out, and would be committed on every machine at a different time: an acknowledged withdrawal could
//! be missing from the next check. `pixel_id = ANY ($1)` selects the shard; the condition beside it selects
//! the pixel.

mod insertion;
pub mod recording;
pub mod shards;
