//! SQL for receipts.

pub mod builds;
pub mod cluster;
pub mod counting;
pub mod counts;
pub mod days;
pub mod ends;
pub mod erasure;
pub mod history;
mod insertion;
pub mod latest;
pub mod leaves;
pub mod reading;
pub mod recording;
mod rows;
pub mod shards;
