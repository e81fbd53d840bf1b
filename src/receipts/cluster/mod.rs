//! Work on tables that are distributed over several machines.

pub(super) mod alias_cache;
pub(super) mod shard_queues;
pub(super) mod shards;
pub(super) mod store;
