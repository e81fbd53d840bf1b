//! SQL for recording and checking on a cluster: the statements of `recording` and `latest`, each for pixels
//! of one shard. A statement for one shard is forwarded to its machine unchanged, and its commit is visible
//! to all once the machine has replied. A statement for several shards would be split: it could not report which
//! rows it skipped, and every machine would commit it at a different time, so an acknowledged withdrawal could
//! be missing from the next check. `pixel_id = ANY ($1)` selects the shard; the condition beside it selects
//! the pixel.

mod insertion;
pub mod recording;
pub mod shards;
