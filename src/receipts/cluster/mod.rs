//! Work on tables that are distributed over several machines.

pub(super) mod shard_queues;
pub(super) mod shards;
