//! Work on tables that are distributed over several machines.

pub(super) mod lanes;
pub(super) mod shards;
